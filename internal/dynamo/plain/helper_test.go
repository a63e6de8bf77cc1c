package plain

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// fakeService answers with a function, and records its requests.
type fakeService struct {
	t         testing.TB
	mu        sync.Mutex
	asked     []string // for example "GetItem {...}"
	forwarded int      // exchanges that were forwarded unchanged
	rejectAll bool     // authentication fails
	// reply answers an operation. Its calls are not concurrent unless concurrent is set.
	reply      func(op, body string) (status int, answer string)
	concurrent bool
}

func (f *fakeService) Serve(x *edge.Exchange) {
	f.forwarded++
	x.Reply.Status = http.StatusTeapot
	x.Reply.Body = []byte("the service's own")
}

func (f *fakeService) Admit(x *edge.Exchange) func(*edge.Exchange) {
	x.Record.Service = "fake"
	if f.rejectAll {
		x.Reply.Status = http.StatusBadRequest
		x.Reply.Field("Content-Type", protocolType)
		x.Reply.Build(wire.AppendError(x.Reply.Buf, "InvalidSignatureException", "no"))
		return nil
	}
	return f.ask
}

// ask executes an operation. It accepts only DynamoDB's own protocol.
func (f *fakeService) ask(x *edge.Exchange) {
	r := &x.Request
	if string(r.Method) != "POST" || string(r.Path) != "/" || len(r.RawQuery) > 0 || string(r.Get("Content-Type")) != protocolType || r.Get("Content-Encoding") != nil {
		f.t.Errorf("the service received %s %s?%s with %q", r.Method, r.Path, r.RawQuery, r.Fields)
	}
	_, op, ok := strings.Cut(string(r.Get("X-Amz-Target")), ".")
	if !ok {
		op = "?" + string(r.Get("X-Amz-Target"))
	}
	f.mu.Lock()
	f.asked = append(f.asked, op+" "+string(x.Body))
	if f.concurrent {
		f.mu.Unlock()
	}
	status, answer := f.reply(op, string(x.Body))
	if !f.concurrent {
		f.mu.Unlock()
	}
	x.Reply.Status = status
	x.Reply.Build(append(x.Reply.Buf, answer...))
	x.Reply.Field("Content-Type", protocolType)
	x.Reply.Field("x-amz-crc32", "4711")
	x.Reply.Field("Cache-Status", "kasoku; hit")
	x.Record.Decision = telemetry.Hit
	x.Record.Table, _ = wire.Lookup(x.Body, "TableName") // refers to the body's memory, as in the real service
}

// take returns the requests since the last call.
func (f *fakeService) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

type fixture struct {
	t   testing.TB
	svc *fakeService
	h   *Handler
}

// newFixture returns a fixture whose service answers everything with {}.
func newFixture(t testing.TB) *fixture {
	f := &fixture{t: t, svc: &fakeService{t: t}}
	f.setAnswer(http.StatusOK, `{}`)
	f.h = New("fake", f.svc, Config{})
	return f
}

func (f *fixture) setAnswer(status int, answer string) {
	f.svc.reply = func(string, string) (int, string) { return status, answer }
}

// result is the reply that a client receives.
type result struct {
	status   int
	body     string
	head     http.Header
	decision telemetry.Decision
}

// do sends a request; fields are names and values in turn.
func (f *fixture) do(method, url, body string, fields ...string) result {
	f.t.Helper()
	return f.doWithContext(context.Background(), method, url, body, fields...)
}

func (f *fixture) doWithContext(ctx context.Context, method, url, body string, fields ...string) result {
	f.t.Helper()
	path, query, _ := strings.Cut(url, "?")
	r := http1.Request{Method: []byte(method), Target: []byte(url), Path: []byte(path), RawQuery: []byte(query), Host: []byte("127.0.0.1:12333"), Minor: 1}
	r.Fields = http1.FieldsOf(fields...)
	x := edge.Detached(ctx, r, []byte(body), time.Now())
	f.h.Serve(x)
	if string(x.Request.Path) != path || string(x.Request.Method) != method || string(x.Body) != body {
		f.t.Errorf("the request %s %s was changed to %s %s %.500s", method, url, x.Request.Method, x.Request.Path, x.Body)
	}
	return result{x.Reply.Status, string(x.Reply.Body), headOf(f.t, x), x.Record.Decision}
}

func headOf(t testing.TB, x *edge.Exchange) http.Header {
	t.Helper()
	h := http.Header{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(x.Reply.Head()), "\r\n"), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h.Add(name, value)
		} else if line != "" {
			t.Errorf("got the invalid header line %q", line)
		}
	}
	return h
}

// expect sends a request and checks status and body. The body is compared as JSON if it is JSON.
func (f *fixture) expect(method, url, body string, status int, want string, fields ...string) result {
	f.t.Helper()
	got := f.do(method, url, body, fields...)
	if got.status != status || !sameJSON(got.body, want) {
		f.t.Errorf("%s %s %.500s\n got %d %s\nwant %d %s", method, url, body, got.status, got.body, status, want)
	}
	return got
}

// expectRequests checks the requests to the service since the last check.
func (f *fixture) expectRequests(want ...string) {
	f.t.Helper()
	got := f.svc.take()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		f.t.Errorf("the service received\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// sameJSON compares JSON texts, with numbers as text.
func sameJSON(a, b string) bool {
	norm := func(s string) string {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil || d.More() {
			return s
		}
		text, _ := json.Marshal(v)
		return string(text)
	}
	return norm(a) == norm(b)
}

func errorBody(typ, message string) string { return string(wire.AppendError(nil, typ, message)) }
