package accel

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// parrot is an origin with one fixed reply to everything except the service's requests about
// tables. It is used by one test at a time.
type parrot struct {
	classify   func(int, http1.Fields, []byte) origin.Class
	status     int
	reply      string
	onDescribe func() // called when the service describes a table
}

func (p *parrot) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	status, reply := p.status, p.reply
	switch string(r.Header.Get("X-Amz-Target")) {
	case targetPrefix + "DescribeTable":
		status, reply = 200, describeT
		if p.onDescribe != nil {
			p.onDescribe()
		}
	case targetPrefix + "DescribeTimeToLive":
		status, reply = 200, `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"e"}}`
	}
	if status == 0 {
		return nil, &origin.Fault{Kind: origin.Reset, Reached: true, Err: errors.New("connection reset")}
	}
	h := http1.FieldsOf("Content-Type", jsonType)
	return &origin.Response{Status: status, Header: h, Body: []byte(reply), Class: p.classify(status, h, []byte(reply))}, nil
}

func (p *parrot) State() origin.State { return origin.State{} }
func (p *parrot) Close()              {}

// withParrot returns a service in front of a parrot.
func withParrot(t testing.TB, change ...func(*Config)) (*Service, *parrot) {
	t.Helper()
	p := &parrot{status: http.StatusOK, reply: `{}`}
	cfg := Config{
		Name: "orders", Region: "us-east-1", Origin: origin.Config{URL: "http://origin.test"}, Open: true,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		ItemTTL:     time.Hour, QueryTTL: time.Hour, NegativeTTL: time.Hour,
		Connect: func(oc origin.Config) (Origin, error) { p.classify = oc.Classify; return p, nil },
	}
	countKeys(&cfg)
	for _, f := range change {
		f(&cfg)
	}
	cfg.Open = cfg.Keys == nil
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 12, Settle: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, p
}

// seedRequests are the requests of the scripts.
func seedRequests(f *testing.F, add func(op, body string)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if op, body, ok := strings.Cut(line, " "); ok && strings.HasPrefix(body, "{") {
				add(op, body)
			}
		}
	}
}

// FuzzServe sends arbitrary requests to a service whose origin returns arbitrary responses.
// The service must not panic, a repeated request must receive the same reply, cached or not,
// and the reply's checksum and length must be correct.
func FuzzServe(f *testing.F) {
	replies := []string{`{}`, ``, `[]`, `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"e":{"N":"5"}}}`, `{"Count":0,"Items":[],"ScannedCount":0}`,
		`{"Attributes":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"}}}`, `{"Responses":{"t":[{"p":{"S":"a"},"s":{"N":"1"}}]},"UnprocessedKeys":{}}`,
		`{"Item":{"p":{"S":"a"}},"Item":7}`, `{"Count":1,"ConsumedCapacity":{"CapacityUnits":1e400}}`}
	i := 0
	seedRequests(f, func(op, body string) {
		f.Add(op, body, replies[i%len(replies)], uint16(200), i%2 == 0)
		i++
	})
	f.Add("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`, `{"__type":"x#ThrottlingException"}`, uint16(400), false)
	f.Add("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`, `<`, uint16(0), true)
	f.Fuzz(func(t *testing.T, op, body, reply string, status uint16, expire bool) {
		if status != 0 && (status < 200 || status > 599) {
			return
		}
		s, p := withParrot(t, func(c *Config) {
			if expire {
				c.ExpireItems = []string{"*"}
			}
		})
		p.status, p.reply = int(status), reply
		var first *edge.Exchange
		for range 2 {
			x := edge.Detached(t.Context(), request(op), []byte(body), time.Now())
			s.Serve(x)
			checkReply(t, s, x)
			if first == nil {
				first = x
				continue
			}
			hit := x.Record.Decision == telemetry.Hit || x.Record.Decision == telemetry.HitNegative
			if hit && (first.Reply.Status != x.Reply.Status || !sameJSON(string(first.Reply.Body), string(x.Reply.Body))) {
				t.Fatalf("first answer: %d %s, second (%s): %d %s", first.Reply.Status, first.Reply.Body, x.Record.Decision, x.Reply.Status, x.Reply.Body)
			}
			if hit && status != http.StatusOK {
				t.Fatalf("an answer of status %d was cached: %s", status, x.Reply.Body)
			}
		}
	})
}

func checkReply(t *testing.T, s *Service, x *edge.Exchange) {
	t.Helper()
	if n := s.metrics.faults.Value(); n != 0 {
		t.Fatalf("%d faults", n)
	}
	if x.Reply.Status == 0 {
		t.Fatal("the request was not answered")
	}
	if crc := headerIn(string(x.Reply.Head()), "x-amz-crc32"); crc != "" && crc != fmt.Sprint(crc32.ChecksumIEEE(x.Reply.Body)) {
		t.Fatalf("wrong checksum %s of %q", crc, x.Reply.Body)
	}
	if d := x.Record.Decision; (d == telemetry.Hit || d == telemetry.Local) && x.Reply.Status < 404 && !wire.Valid(x.Reply.Body, wire.MaxDepth) {
		t.Fatalf("%s: the answer %q isn't JSON", d, x.Reply.Body)
	}
}
