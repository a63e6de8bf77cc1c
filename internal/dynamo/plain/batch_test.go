package plain

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

func key(i int) string         { return fmt.Sprintf(`{"k":{"S":"%04d"}}`, i) }
func item(i int) string        { return fmt.Sprintf(`{"k":{"S":"%04d"},"n":{"NS":["2","1"]}}`, i) }
func plainItemOf(i int) string { return fmt.Sprintf(`{"k":"%04d","n":[1,2]}`, i) }
func write(i int) string       { return `{"PutRequest":{"Item":` + item(i) + `}}` }

func listOf(from, to int, f func(int) string) string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, f(i))
	}
	return strings.Join(list, ",")
}

// unitsIn counts the keys or writes of a request for the service.
func unitsIn(body string) (n int) {
	items, _ := wire.Lookup([]byte(body), "RequestItems")
	for it := wire.Object(items); it.Next(); {
		list := it.Value()
		if wire.Kind(list) == '{' {
			list, _ = wire.Lookup(list, "Keys")
		}
		for each := wire.Array(list); each.Next(); {
			n++
		}
	}
	return n
}

// found returns the answer to a BatchGetItem with an item for each key.
func found(body string) string {
	items, _ := wire.Lookup([]byte(body), "RequestItems")
	var tables []string
	for it := wire.Object(items); it.Next(); {
		var list []string
		keys, _ := wire.Lookup(it.Value(), "Keys")
		for each := wire.Array(keys); each.Next(); {
			list = append(list, strings.TrimSuffix(string(each.Value()), "}")+`,"n":{"NS":["2","1"]}}`)
		}
		tables = append(tables, string(it.QuotedName())+`:[`+strings.Join(list, ",")+`]`)
	}
	return `{"Responses":{` + strings.Join(tables, ",") + `},"UnprocessedKeys":{}}`
}

// TestBatchGetSplits checks that a batch of any size returns all items, in the request's order.
func TestBatchGetSplits(t *testing.T) {
	f := newFixture(t)
	f.svc.reply = func(_, body string) (int, string) { return 200, found(body) }
	for _, n := range []int{1, 99, 100, 101, 200, 240, 950} {
		for path, f2 := range map[string]func(int) string{"/BatchGetItem": item, "/BatchGetItemJSON": plainItemOf} {
			got := f.do("POST", path, `{"RequestItems":{"t":{"Keys":[`+listOf(0, n, key)+`]}}}`)
			want := `{"Responses":{"t":[` + listOf(0, n, f2) + `]},"UnprocessedKeys":{}}`
			if got.status != 200 || got.body != want {
				t.Errorf("%s of %d keys: got %d %.300s", path, n, got.status, got.body)
			}
			if got.decision != telemetry.Hit || len(got.head.Values("Cache-Status")) != 1 {
				t.Errorf("%s of %d keys: got %s %v", path, n, got.decision, got.head)
			}
			asked := f.svc.take()
			if len(asked) != (n+99)/100 {
				t.Errorf("a batch of %d keys led to %d requests", n, len(asked))
			}
			for _, a := range asked {
				if unitsIn(strings.TrimPrefix(a, "BatchGetItem ")) > 100 {
					t.Errorf("the service received %.200s", a)
				}
			}
		}
	}
}

// TestBatchGetKeepsOptions checks that each segment has the options of its tables and of the
// request.
func TestBatchGetKeepsOptions(t *testing.T) {
	f := newFixture(t)
	f.svc.reply = func(_, body string) (int, string) { return 200, found(body) }
	f.do("POST", "/BatchGetItemJSON", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{`+
		`"a":{"ConsistentRead":true,"Keys":[`+listOf(0, 60, key)+`],"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}},`+
		`"b":{"Keys":[`+listOf(0, 60, key)+`],"AttributesToGet":["n"]}}}`)
	asked := f.svc.take()
	slices.Sort(asked)
	a := `"a":{"ConsistentRead":true,"Keys":[` + listOf(0, 60, key) + `],"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}}`
	b := func(from, to int) string {
		return `"b":{"Keys":[` + listOf(from, to, key) + `],"AttributesToGet":["n"]}`
	}
	want := []string{
		`BatchGetItem {"RequestItems":{` + a + `,` + b(0, 40) + `},"ReturnConsumedCapacity":"TOTAL"}`,
		`BatchGetItem {"RequestItems":{` + b(40, 60) + `},"ReturnConsumedCapacity":"TOTAL"}`,
	}
	if !slices.Equal(asked, want) {
		t.Errorf("the service received\n%s", strings.Join(asked, "\n"))
	}
}

func TestBatchWriteSplits(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(200, `{"UnprocessedItems":{}}`)
	for _, n := range []int{1, 25, 26, 240} {
		for path, sent := range map[string]func(int) string{"/BatchWriteItem": write, "/BatchWriteItemJSON": func(i int) string {
			return `{"PutRequest":{"Item":` + plainItemOf(i) + `}}`
		}} {
			f.expect("POST", path, `{"RequestItems":{"t":[`+listOf(0, n, sent)+`]}}`, 200, `{"UnprocessedItems":{}}`)
			var written []string
			for _, a := range f.svc.take() {
				body := strings.TrimPrefix(a, "BatchWriteItem ")
				if unitsIn(body) > 25 {
					t.Errorf("the service received %.200s", a)
				}
				items, _ := wire.Lookup([]byte(body), "RequestItems")
				list, _ := wire.Lookup(items, "t")
				for it := wire.Array(list); it.Next(); {
					written = append(written, string(it.Value()))
				}
			}
			slices.Sort(written)
			want := strings.ReplaceAll(listOf(0, n, write), `"2","1"`, `"1","2"`)
			if path == "/BatchWriteItem" {
				want = listOf(0, n, write)
			}
			if strings.Join(written, ",") != want {
				t.Errorf("%s of %d writes: the service received %.300s", path, n, written)
			}
		}
	}
}

// TestMalformedBatch checks that a malformed batch is forwarded unsplit, for the service to reject.
func TestMalformedBatch(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(400, errorBody("ValidationException", "x"))
	expectForwarded := func(path, op string, bodies ...string) {
		t.Helper()
		for _, body := range bodies {
			f.expect("POST", path, body, 400, errorBody("ValidationException", "x"))
			f.expectRequests(op + " " + body)
		}
	}
	expectForwarded("/BatchGetItemJSON", "BatchGetItem", `{}`, `[]`, `{"RequestItems":{}}`, `{"RequestItems":null}`, `{"RequestItems":[]}`, `{"RequestItems":{"t":null}}`,
		`{"RequestItems":{"t":{}}}`, `{"RequestItems":{"t":{"Keys":{}}}}`, `{"RequestItems":{"t":{"Keys":[]}}}`, `{"RequestItems":{"t":{"Keys":[1]}}}`,
		`{"RequestItems":{"t":{"Keys":[{}],"Keys":[{}]}}}`, `{"RequestItems":{"t":{"Keys":[{}]},"t":{"Keys":[{}]}}}`,
		`{"RequestItems":{"t":{"Keys":[{}]}},"RequestItems":{"t":{"Keys":[{}]}}}`, `{"RequestItems":{"\ud800":{"Keys":[{}]}}}`)
	expectForwarded("/BatchWriteItemJSON", "BatchWriteItem", `{"RequestItems":{"t":null}}`, `{"RequestItems":{"t":{}}}`, `{"RequestItems":{"t":[]}}`, `{"RequestItems":{"t":[null]}}`,
		`{"RequestItems":{"t":[{"PutRequest":{}}]}}`, `{"RequestItems":{"t":[{"PutRequest":{"Item":5}}]}}`, `{"RequestItems":{"t":[{"PutRequest":null}]}}`)
}

// TestBatchGetRetries checks that unprocessed entries are retried until all are processed.
func TestBatchGetRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		round := 0
		f.svc.reply = func(_, body string) (int, string) {
			round++
			if round > 3 {
				return 200, found(body)
			}
			return 200, `{"Responses":{"t":[` + item(round) + `]},"UnprocessedKeys":{"t":{"Keys":[` + listOf(round+1, 5, key) + `],"ConsistentRead":true}}}`
		}
		start := time.Now()
		f.expect("POST", "/BatchGetItemJSON", `{"ReturnConsumedCapacity":"NONE","RequestItems":{"t":{"Keys":[`+listOf(1, 5, key)+`],"ConsistentRead":true}}}`, 200,
			`{"Responses":{"t":[`+listOf(1, 5, plainItemOf)+`]},"UnprocessedKeys":{}}`)
		if waited := time.Since(start); waited == 0 || waited > minBackoff+2*minBackoff+4*minBackoff {
			t.Errorf("the batch took %v", waited)
		}
		asked := f.svc.take()
		if want := `BatchGetItem {"RequestItems":{"t":{"Keys":[` + listOf(2, 5, key) + `],"ConsistentRead":true}},"ReturnConsumedCapacity":"NONE"}`; asked[1] != want {
			t.Errorf("the service received %s\nwant %s", asked[1], want)
		}
	})
}

// TestBatchUnprocessed checks that entries that can't be processed in time are returned in the form
// in which they were sent, so that the client can send them again.
func TestBatchUnprocessed(t *testing.T) {
	throttled := errorBody("ProvisionedThroughputExceededException", "slow down")
	try := func(path, body, want string, reply func(op, body string) (int, string)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.svc.reply = reply
			start := time.Now()
			got := f.do("POST", path, body)
			if got.status != 200 || got.body != want {
				t.Errorf("%s\n got %d %.900s\nwant %.900s", path, got.status, got.body, want)
			}
			if took := time.Since(start); took > 30*time.Second-replyReserve || took < 25*time.Second {
				t.Errorf("the batch took %v of the request's 30s", took)
			}
		})
	}
	sent := func(i int) string { return `{"PutRequest":{"Item":` + plainItemOf(i) + `}}` }
	// Two of three writes of the only segment always remain unprocessed.
	try("/BatchWriteItemJSON", `{"RequestItems":{"t":[`+listOf(0, 3, sent)+`]}}`, `{"UnprocessedItems":{"t":[`+listOf(1, 3, sent)+`]}}`,
		func(_, body string) (int, string) {
			return 200, `{"UnprocessedItems":{"t":[` + listOf(1, 3, write) + `]}}`
		})
	try("/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 3, write)+`]}}`, `{"UnprocessedItems":{"t":[`+listOf(1, 3, write)+`]}}`,
		func(_, body string) (int, string) {
			return 200, `{"UnprocessedItems":{"t":[` + listOf(1, 3, write) + `]}}`
		})
	// The second segment is always throttled.
	try("/BatchWriteItemJSON", `{"RequestItems":{"t":[`+listOf(0, 60, sent)+`]}}`, `{"UnprocessedItems":{"t":[`+listOf(25, 50, sent)+`]}}`,
		func(_, body string) (int, string) {
			if strings.Contains(body, `"0025"`) {
				return 400, throttled
			}
			return 200, `{"UnprocessedItems":{}}`
		})
	try("/BatchGetItemJSON", `{"RequestItems":{"t":{"Keys":[`+listOf(0, 150, key)+`],"ProjectionExpression":"k"}}}`,
		`{"Responses":{"t":[`+listOf(0, 100, plainItemOf)+`]},"UnprocessedKeys":{"t":{"Keys":[`+listOf(100, 150, key)+`],"ProjectionExpression":"k"}}}`,
		func(_, body string) (int, string) {
			if strings.Contains(body, `"0100"`) {
				return 503, errorBody("ServiceUnavailable", "later")
			}
			return 200, found(body)
		})
	// A table requested by ARN may be returned by name.
	try("/BatchGetItem", `{"RequestItems":{"arn:aws:dynamodb:us-east-1:1:table/t":{"Keys":[`+key(1)+`]}}}`,
		`{"Responses":{"arn:aws:dynamodb:us-east-1:1:table/t":[],"t":[{"k":{"S":"1"}}]},"UnprocessedKeys":{"t":{"Keys":[`+key(2)+`]}}}`,
		func(_, body string) (int, string) {
			if strings.Contains(body, "arn:") {
				return 200, `{"Responses":{"t":[{"k":{"S":"1"}}]},"UnprocessedKeys":{"t":{"Keys":[` + key(2) + `]}}}`
			}
			return 400, throttled
		})
}

// TestBatchErrors checks that permanent failures are reported with their entries, and that the
// other entries are processed.
func TestBatchErrors(t *testing.T) {
	f := newFixture(t)
	invalid := errorBody("ValidationException", "One or more parameter values were invalid")
	f.svc.reply = func(_, body string) (int, string) {
		switch {
		case strings.Contains(body, `"0030"`):
			return 400, invalid
		case strings.Contains(body, `"0055"`):
			return 500, errorBody("InternalServerError", "Internal server error")
		case strings.Contains(body, `"0110"`):
			return 413, ``
		}
		return 200, `{"UnprocessedItems":{}}`
	}
	sent := func(i int) string { return `{"PutRequest":{"Item":` + plainItemOf(i) + `}}` }
	f.expect("POST", "/BatchWriteItemJSON", `{"RequestItems":{"a":[`+listOf(0, 45, sent)+`],"b":[`+listOf(45, 120, sent)+`]}}`, 200,
		`{"UnprocessedItems":{},"Errors":[`+
			`{"Status":400,"Error":`+invalid+`,"RequestItems":{"a":[`+listOf(25, 45, sent)+`],"b":[`+listOf(45, 50, sent)+`]}},`+
			`{"Status":500,"Error":`+errorBody("InternalServerError", "Internal server error")+`,"RequestItems":{"b":[`+listOf(50, 75, sent)+`]}},`+
			`{"Status":413,"Error":{},"RequestItems":{"b":[`+listOf(100, 120, sent)+`]}}]}`)
	// If no entry was processed, the failure is returned unchanged.
	f.setAnswer(400, invalid)
	f.expect("POST", "/BatchWriteItemJSON", `{"RequestItems":{"a":[`+listOf(0, 60, sent)+`]}}`, 400, invalid)
	f.expect("POST", "/BatchGetItem", `{"RequestItems":{"a":{"Keys":[`+listOf(0, 101, key)+`]}}}`, 400, invalid)
}

// A read that fails now is tried again; a write is not, because it may have been done.
func TestBatchUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		failed := errorBody("InternalServerError", "Internal server error")
		n := 0
		f.svc.reply = func(op, body string) (int, string) {
			if n++; n < 3 {
				return 500, failed
			}
			return 200, found(body)
		}
		f.expect("POST", "/BatchGetItem", `{"RequestItems":{"t":{"Keys":[`+key(1)+`]}}}`, 200, `{"Responses":{"t":[`+item(1)+`]},"UnprocessedKeys":{}}`)
		f.setAnswer(500, failed)
		f.svc.take()
		f.expect("POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+write(1)+`]}}`, 500, failed)
		if asked := f.svc.take(); len(asked) != 1 {
			t.Errorf("the write was sent %d times, want once", len(asked))
		}
	})
}

// TestBatchThrottledThroughout checks that a batch of which every request is throttled returns
// DynamoDB's throttling error.
func TestBatchThrottledThroughout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		throttled := errorBody("ThrottlingException", "Rate of requests exceeds the allowed throughput.")
		f.setAnswer(400, throttled)
		f.expect("POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 60, write)+`]}}`, 400, throttled)
		if n := len(f.svc.take()); n < 30 || n > 200 {
			t.Errorf("the service received %d requests", n)
		}
	})
}

// TestBatchClientDisconnects checks that no new segment is sent after the client has disconnected.
func TestBatchClientDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int32
		f.svc.concurrent = true
		f.svc.reply = func(op, body string) (int, string) {
			if n.Add(1) == 20 {
				cancel()
			}
			return 200, `{"UnprocessedItems":{"t":[` + write(1) + `]}}`
		}
		start := time.Now()
		got := f.doWithContext(ctx, "POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 2500, write)+`]}}`)
		if n := n.Load(); n > 20+maxConcurrent || time.Since(start) > 2*maxBackoff {
			t.Errorf("the service received %d requests in %v", n, time.Since(start))
		}
		left := unitsIn(strings.Replace(got.body, "UnprocessedItems", "RequestItems", 1))
		if got.status != 200 || left < 2500-25*(20+maxConcurrent) {
			t.Errorf("got %d with %d unprocessed writes", got.status, left)
		}
	})
}

// TestBatchOfDisconnectedClient has a client that disconnected before the first segment.
func TestBatchOfDisconnectedClient(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := f.doWithContext(ctx, "POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 60, write)+`]}}`)
	if got.status != http.StatusServiceUnavailable || got.body != errorBody("ServiceUnavailable", "No time was left to begin") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	f.expectRequests()
}

// TestBatchConcurrency checks the number of concurrent segments.
func TestBatchConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.svc.concurrent = true
		var inFlight, maxInFlight atomic.Int32
		f.svc.reply = func(string, string) (int, string) {
			maxInFlight.Store(max(maxInFlight.Load(), inFlight.Add(1)))
			time.Sleep(time.Millisecond)
			inFlight.Add(-1)
			return 200, `{"UnprocessedItems":{}}`
		}
		start := time.Now()
		f.do("POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 25*3*maxConcurrent, write)+`]}}`)
		if maxInFlight.Load() != maxConcurrent || time.Since(start) != 3*time.Millisecond {
			t.Errorf("got %d concurrent segments, %v in total", maxInFlight.Load(), time.Since(start))
		}
	})
}

// TestBatchReplyLimit checks that the total size of a batch's replies is limited. Keys beyond the
// limit are returned as unprocessed, as DynamoDB does.
func TestBatchReplyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.svc.reply = func(_, body string) (int, string) {
			return 200, `{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[` + key(1) + `]}}}`
		}
		x := edge.Detached(t.Context(), http1.Request{}, nil, time.Now())
		b := batch{t: &task{h: f.h, x: x, r: f.h.routes.whole["/BatchGetItem"], call: f.svc.ask}}
		b.budget = b.t.retryBudget()
		run := func(gathered int64, want int) {
			t.Helper()
			b.gathered.Store(gathered)
			s := segment{}
			b.runSegment(&s)
			asked := f.svc.take()
			answers := int64(len(asked) * len(`{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[`+key(1)+`]}}}`))
			if len(asked) != want || !s.pending || !s.retryable || b.gathered.Load() != gathered+answers {
				t.Errorf("with %d bytes before: the service received %d requests, %d bytes after, %+v", gathered, len(asked), b.gathered.Load(), s)
			}
		}
		run(maxGathered+1, 0)
		run(maxGathered, 1)
		run(maxGathered-100, 2)
	})
}

func TestBatchMerges(t *testing.T) {
	f := newFixture(t)
	f.svc.reply = func(_, body string) (int, string) {
		if strings.Contains(body, `"0000"`) {
			return 200, `{"UnprocessedItems":{},"ItemCollectionMetrics":{"a":[{"ItemCollectionKey":{"k":{"S":"1"}}}]},"ConsumedCapacity":[` +
				`{"TableName":"a","CapacityUnits":25.0,"Table":{"CapacityUnits":20.0},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":5.0}}}]}`
		}
		return 200, `{"UnprocessedItems":{},"ItemCollectionMetrics":{"a":[{"ItemCollectionKey":{"k":{"S":"2"}}}],"b":[]},"ConsumedCapacity":[` +
			`{"TableName":"b","CapacityUnits":1.5},` +
			`{"TableName":"a","CapacityUnits":3.5,"Table":{"CapacityUnits":1.0},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":0.5},"h":{"CapacityUnits":2.0}}}]}`
	}
	f.expect("POST", "/BatchWriteItem", `{"RequestItems":{"a":[`+listOf(0, 30, write)+`],"b":[`+write(31)+`]}}`, 200,
		`{"UnprocessedItems":{},"ItemCollectionMetrics":{"a":[{"ItemCollectionKey":{"k":{"S":"1"}}},{"ItemCollectionKey":{"k":{"S":"2"}}}],"b":[]},"ConsumedCapacity":[`+
			`{"TableName":"a","CapacityUnits":28.5,"Table":{"CapacityUnits":21.0},"GlobalSecondaryIndexes":{"g":{"CapacityUnits":5.5},"h":{"CapacityUnits":2.0}}},`+
			`{"TableName":"b","CapacityUnits":1.5}]}`)
}

// TestBatchInvalidAnswer checks that an answer that DynamoDB does not send is reported as an error
// of the origin.
func TestBatchInvalidAnswer(t *testing.T) {
	f := newFixture(t)
	want := errorBody("InternalServerError", "The origin's answer has a form that DynamoDB's does not have")
	f.setAnswer(200, `{"Responses":{"t":[{"a":1}]},"UnprocessedKeys":{}}`)
	for _, n := range []int{1, 101} {
		f.expect("POST", "/BatchGetItemJSON", `{"RequestItems":{"t":{"Keys":[`+listOf(0, n, key)+`]}}}`, 500, want)
	}
}

// TestBatchPanics checks that a panic in a segment is raised in the exchange's goroutine.
func TestBatchPanics(t *testing.T) {
	f := newFixture(t)
	f.svc.concurrent = true
	f.svc.reply = func(string, string) (int, string) { panic("a fault") }
	defer func() {
		if p := recover(); p != "a fault" {
			t.Errorf("recovered %v", p)
		}
	}()
	f.do("POST", "/BatchWriteItem", `{"RequestItems":{"t":[`+listOf(0, 60, write)+`]}}`)
	t.Error("no panic")
}

// TestBatchDecision combines the decisions of segments.
func TestBatchDecision(t *testing.T) {
	f := func(want telemetry.Decision, of ...telemetry.Decision) {
		t.Helper()
		b := batch{}
		for _, d := range of {
			b.segments = append(b.segments, segment{decision: d})
		}
		if got := b.decision(); got != want {
			t.Errorf("the decisions %v were combined to %s", of, got)
		}
	}
	f(telemetry.Hit, telemetry.Hit, telemetry.Hit)
	f(telemetry.Partial, telemetry.Hit, telemetry.Miss)
	f(telemetry.Miss, telemetry.None, telemetry.Miss)
	f(telemetry.Write, telemetry.Write, telemetry.None)
}
