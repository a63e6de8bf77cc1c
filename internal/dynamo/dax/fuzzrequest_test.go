package dax

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// knownLists are the attribute lists that the recorded requests use, numbered from 2 on. There
// are no others.
type knownLists []string

var recordedLists = knownLists{"age name", "a b", "b bf bl bs l m n0 n1 n2 n3 n4 n5 n6 n7 n8 ns nul s s0 ss", "cnt tags", "v"}

func (l knownLists) ID(names [][]byte, _ lists.Owner) (uint64, error) {
	if len(names) == 0 {
		return lists.Empty, nil
	}
	if i := slices.Index(l, string(bytes.Join(names, []byte(" ")))); i >= 0 {
		return uint64(i) + 2, nil
	}
	return 0, lists.ErrFull
}

func (l knownLists) Names(id uint64) ([]string, bool) {
	if id == lists.Empty || id-2 >= uint64(len(l)) {
		return nil, id == lists.Empty
	}
	return strings.Fields(l[id-2]), true
}

// fuzzAnswers are the origin's responses by operation.
var fuzzAnswers = map[string]string{
	"GetItem": alice,
	"PutItem": `{"Attributes":{"pk":{"S":"alice"},"name":{"S":"Bob"},"age":{"N":"9"}},"ConsumedCapacity":{"TableName":"Tab1","CapacityUnits":2},
		"ItemCollectionMetrics":{"ItemCollectionKey":{"pk":{"S":"alice"}},"SizeEstimateRangeGB":[0.5,1.5]}}`,
	"DeleteItem": `{}`,
	"UpdateItem": `{"Attributes":{"cnt":{"N":"5"},"tags":{"SS":["a"]}}}`,
	"Query": `{"Items":[{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"B":"AQ=="}},{"pk":{"S":"a"},"sk":{"N":"2"},"v":{"L":[{"NULL":true},{"M":{"x":{"BOOL":true}}}]}}],
		"Count":2,"ScannedCount":3,"LastEvaluatedKey":{"pk":{"S":"a"},"sk":{"N":"2"}},"ConsumedCapacity":{"TableName":"Tab2","CapacityUnits":0.5,"Table":{"CapacityUnits":0.5}}}`,
	"Scan": `{"Items":[{"pk":{"S":"a"}}],"Count":1,"ScannedCount":1}`,
	"BatchGetItem": `{"Responses":{"Tab1":[{"pk":{"S":"alice"},"name":{"S":"Al"},"age":{"N":"1"}}],"Tab2":[]},
		"UnprocessedKeys":{"Tab2":{"Keys":[{"pk":{"S":"a"},"sk":{"N":"1"}}]}},"ConsumedCapacity":[{"TableName":"Tab1","CapacityUnits":1}]}`,
	"BatchWriteItem":     `{"ItemCollectionMetrics":{"Tab1":[{"ItemCollectionKey":{"pk":{"S":"a"}},"SizeEstimateRangeGB":[0,1]}]}}`,
	"TransactGetItems":   `{"Responses":[{"Item":{"pk":{"S":"alice"},"v":{"N":"1"}}},{}]}`,
	"TransactWriteItems": `{"ConsumedCapacity":[{"TableName":"Tab1","CapacityUnits":2,"WriteCapacityUnits":2}]}`,
}

const canceled = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled",
	"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"pk":{"S":"a"}}}]}`

// FuzzRequest sends arbitrary requests to an origin with arbitrary responses. Requests to
// the origin are JSON, replies to clients are CBOR, and nothing panics.
func FuzzRequest(f *testing.F) {
	recorded, err := os.ReadFile("testdata/requests.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		operation, request, _ := strings.Cut(strings.TrimSpace(line), " ")
		f.Add(unhex(f, request), []byte(fuzzAnswers[operation]), false)
		if strings.HasPrefix(operation, "Transact") {
			f.Add(unhex(f, request), []byte(canceled), true)
		}
	}
	var faults bytes.Buffer
	s := newStage(f, func(c *Config) {
		c.Lists, c.Logger = recordedLists, slog.New(slog.NewTextHandler(&faults, &slog.HandlerOptions{Level: slog.LevelError}))
		c.Limits.RequestBytes = 1 << 20
	})
	greeting := unhex(f, preambles["Go v1"])
	f.Fuzz(func(t *testing.T, request, answer []byte, refused bool) {
		if bytes.Contains(answer, []byte("Unprocessed")) && !bytes.Contains(answer, []byte("UnprocessedKeys")) {
			return // unprocessed writes of a batch are retried after a pause
		}
		status := 200
		if refused {
			status = 400
		}
		s.origin.setAnswer(status, string(answer))
		p := &tape{b: slices.Concat(greeting, request), step: len(greeting) + len(request)}
		c := newConn(s.srv, p)
		s.srv.conns.Track(&c.Conn)
		c.Serve()
		if s.log.take(); faults.Len() > 0 {
			t.Fatal(faults.String())
		}
		for line := range strings.SplitSeq(s.origin.take(), "\n") {
			if _, body, asked := strings.Cut(line, " "); asked && !wire.Valid([]byte(body), wire.MaxDepth) {
				t.Errorf("the origin received invalid JSON: %s", line)
			}
		}
		for rest := p.sent; len(rest) > 0; {
			var scan cbor.Scanner
			scan.Begin(1)
			end, whole, err := scan.Scan(rest)
			if !whole {
				t.Fatalf("the reply %x: %v", p.sent, err)
			}
			rest = rest[end:]
		}
		if n := s.srv.room.used.Load(); n != 0 {
			t.Errorf("%d bytes of the budget were not released", n)
		}
	})
}
