package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// set returns a Set for rules.
func set(t *testing.T, rules string) *Set {
	t.Helper()
	p, err := Parse([]byte(`{"seed":1,"rules":[` + rules + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return New(p)
}

// item returns a request for one item.
func item(operation, table, key string) *Request {
	return &Request{Operation: operation, Access: wire.Write, Items: []Item{{table, []byte(key)}}, ARN: func(t string) string { return "arn:" + t }}
}

// pattern returns the decisions about n equal requests: x for an injected fault.
func pattern(s *Set, r *Request, n int) string {
	var b strings.Builder
	for range n {
		if d := s.Decide(r); d.Fails() {
			b.WriteByte('x')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func TestWhen(t *testing.T) {
	f := func(when, want string) {
		t.Helper()
		s := set(t, `{"reset":true`+when+`}`)
		if got := pattern(s, item("PutItem", "t", `{}`), len(want)); got != want {
			t.Errorf("%s: got %s; want %s", when, got, want)
		}
		if r := s.Rules()[0]; r.Matched != uint64(len(want)) || r.Injected != uint64(strings.Count(want, "x")) {
			t.Errorf("%s: counts %d and %d", when, r.Matched, r.Injected)
		}
	}
	f(``, "xxxx")
	f(`,"count":2`, "xx..")
	f(`,"after":2`, "..xx")
	f(`,"every":3`, "..x..x..")
	f(`,"after":1,"every":2,"count":2`, "..x.x...")
	f(`,"probability":0.5`, "x.xx..xx.xxxxxxx")
	f(`,"probability":0.5,"count":2`, "x.x.............")
}

func TestWhich(t *testing.T) {
	f := func(rule string, r *Request, want bool) {
		t.Helper()
		s := set(t, `{"reset":true`+rule+`}`)
		if got := s.Decide(r); got.Reset != want {
			t.Errorf("%s for %s %v: got %v", rule, r.Operation, r.Items, got.Reset)
		}
	}
	put := item("PutItem", "orders-eu", `{"id":{"N":"1.0"},"b":{"S":"x"}}`)
	f(`,"operations":"PutItem"`, put, true)
	f(`,"operations":["Get*","Put*"]`, put, true)
	f(`,"operations":"Get*"`, put, false)
	f(`,"tables":"orders*"`, put, true)
	f(`,"tables":"orders"`, put, false)
	f(`,"tables":"*"`, &Request{Operation: "ListTables"}, false)
	f(`,"operations":"ListTables"`, &Request{Operation: "ListTables"}, true)
	f(`,"key":{"id":{"N":"1"}}`, put, true)
	f(`,"key":{"id":{"N":"1"},"b":{"S":"x"}}`, put, true)
	f(`,"key":{"id":{"S":"1"}}`, put, false)
	f(`,"key":{"c":{"S":"x"}}`, put, false)
	f(`,"key":{"id":{"N":"1"}}`, &Request{Operation: "Scan", Items: []Item{{Table: "orders-eu"}}}, false)
	batch := &Request{Operation: "BatchGetItem", Items: []Item{{"a", []byte(`{"k":{"S":"1"}}`)}, {"b", []byte(`{"k":{"S":"2"}}`)}}}
	f(`,"tables":"b","key":{"k":{"S":"2"}}`, batch, true)
	f(`,"tables":"a","key":{"k":{"S":"2"}}`, batch, false)
}

// TestRules checks the order of rules: delays add up until a rule ends the request.
func TestRules(t *testing.T) {
	s := set(t, `{"delay":"1s"},{"operations":"GetItem","reset":true},{"delay":"2s","hold":"3s","error":"InternalServerError","executed":true},{"delay":"4s"}`)
	d := s.Decide(item("PutItem", "t", `{}`))
	if d.Delay != 3*time.Second || d.Hold != 3*time.Second || d.Reset || !d.Executed || d.Error == nil || d.Error.Type != "InternalServerError" {
		t.Errorf("got %+v", d)
	}
	if d := s.Decide(item("GetItem", "t", `{}`)); d.Delay != time.Second || !d.Reset || d.Executed {
		t.Errorf("got %+v", d)
	}
	s = set(t, `{"delay":{"min":"1s","max":"2s"}}`)
	for range 20 {
		if d := s.Decide(item("GetItem", "t", `{}`)); d.Delay < time.Second || d.Delay > 2*time.Second {
			t.Errorf("got a delay of %s", d.Delay)
		}
	}
}

// TestSeed checks that a rule draws the same numbers whatever other rules there are, and that
// another seed gives others.
func TestSeed(t *testing.T) {
	const half = `{"operations":"PutItem","probability":0.5,"reset":true}`
	r := item("PutItem", "t", `{}`)
	want := pattern(set(t, half), r, 64)
	both := set(t, half+`,{"operations":"GetItem","probability":0.5,"reset":true}`)
	for i := range 64 {
		both.Decide(item("GetItem", "t", `{}`))
		if got := pattern(both, r, 1); got != want[i:i+1] {
			t.Fatalf("request %d: got %s", i, got)
		}
	}
	if other := New(Plan{Seed: 2, Rules: both.Plan().Rules}); pattern(other, r, 64) == want {
		t.Error("another seed gives the same faults")
	}
}

// TestWith checks that a further rule leaves the counts and decisions of the others as they are.
func TestWith(t *testing.T) {
	r := item("PutItem", "t", `{}`)
	const half = `{"probability":0.5,"reset":true}`
	want := pattern(set(t, half), r, 32)
	s := set(t, half)
	got := pattern(s, r, 16)
	next, err := s.With(Rule{Operations: Patterns{"GetItem"}, Reset: true})
	if err != nil {
		t.Fatal(err)
	}
	if got += pattern(next, r, 16); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if all := next.Rules(); len(all) != 2 || all[0].Matched != 32 || all[1].Name != "2" {
		t.Errorf("got %+v", all)
	}
	if _, err := next.With(Rule{Name: "1", Reset: true}); err == nil || err.Error() != `rules[2]: there are two rules called "1"` {
		t.Errorf("a second rule of one name: got error %v", err)
	}
}

func TestErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		r := item("PutItem", "t", `{}`)
		r.Items = append(r.Items, Item{Table: "u"})
		d := set(t, `{"error":`+text+`}`).Decide(r)
		if got := fmt.Sprintf("%d %s", d.Error.Status(), d.Error.Append(nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const space = `{"__type":"com.amazonaws.dynamodb.v20120810#`
	f(`"ThrottlingException"`, `400 {"__type":"com.amazon.coral.availability#ThrottlingException","message":"Rate of requests exceeds the allowed throughput.",`+
		`"throttlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:t"}]}`)
	f(`"ProvisionedThroughputExceededException"`, `400 `+space+`ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded. `+
		`Consider increasing your provisioning level with the UpdateTable API.","ThrottlingReasons":[{"reason":"TableWriteProvisionedThroughputExceeded","resource":"arn:t"}]}`)
	f(`{"type":"RequestLimitExceeded","message":"m","throttling_reasons":[{"reason":"IndexReadAccountLimitExceeded","resource":"i"},{"reason":"TableReadAccountLimitExceeded"}]}`,
		`400 `+space+`RequestLimitExceeded","message":"m","ThrottlingReasons":[{"reason":"IndexReadAccountLimitExceeded","resource":"i"},{"reason":"TableReadAccountLimitExceeded","resource":"arn:t"}]}`)
	f(`"InternalServerError"`, `500 `+space+`InternalServerError","message":"Internal server error"}`)
	f(`"ServiceUnavailable"`, `503 `+space+`ServiceUnavailable","message":"The request has failed due to a temporary failure of the server."}`)
	f(`"TransactionConflictException"`, `400 `+space+`TransactionConflictException","message":"Transaction is ongoing for the item"}`)
	f(`"TransactionInProgressException"`, `400 `+space+`TransactionInProgressException","Message":"The transaction with the given request token is already in progress."}`)
	f(`"ItemCollectionSizeLimitExceededException"`, `400 `+space+`ItemCollectionSizeLimitExceededException","message":"Collection size exceeded."}`)
	f(`"LimitExceededException"`, `400 `+space+`LimitExceededException","message":"Subscriber limit exceeded: Only 500 tables can be created, updated, or deleted simultaneously"}`)
	f(`"TransactionCanceledException"`, `400 `+space+`TransactionCanceledException","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict, None]",`+
		`"CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"},{"Code":"None"}]}`)
	f(`{"type":"TransactionCanceledException","cancellation_reasons":["None","ConditionalCheckFailed"]}`, `400 `+space+`TransactionCanceledException",`+
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]",`+
		`"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"}]}`)
}

func TestLeave(t *testing.T) {
	f := func(share string, n, want int) {
		t.Helper()
		d := set(t, `{"unprocessed":`+share+`}`).Decide(&Request{Operation: "BatchWriteItem"})
		left := 0
		for _, l := range d.Leave(n) {
			if l {
				left++
			}
		}
		if left != want {
			t.Errorf("a share of %s of %d: got %d left", share, n, left)
		}
	}
	f("0.5", 4, 2)
	f("0.5", 5, 3)
	f("0.01", 25, 1)
	f("0.99", 2, 1)
	f("0.5", 1, 0)
	f("1", 3, 3)
	d := set(t, `{"unprocessed":0.5}`).Decide(&Request{Operation: "PutItem"})
	if left := d.Leave(3); slices.Contains(left, true) {
		t.Errorf("a PutItem is left unprocessed: %v", left)
	}
}
