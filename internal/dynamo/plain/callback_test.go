package plain

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// newCallbackFixture returns a fixture with a filter for callbacks in front of its routes.
func newCallbackFixture(t testing.TB, mode jsonp.Mode, set func(*jsonp.Config)) *fixture {
	t.Helper()
	cfg := jsonp.Defaults(mode)
	if set != nil {
		set(&cfg)
	}
	filter, err := jsonp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	f.h.Configure(Config{JSONP: filter})
	return f
}

const (
	callType      = "application/javascript; charset=utf-8"
	twoTables     = `{"TableNames":["a","b"]}`
	noTable       = `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}`
	separated2028 = "{\"a\":\"\u2028\"}\n"
)

// call is the expected outcome of a request.
type call struct {
	status    int
	body      string
	typ       string // Content-Type
	cacheInfo string // Cache-Status
}

func (f *fixture) expectCall(method, url string, want call, fields ...string) http.Header {
	f.t.Helper()
	r := f.do(method, url, "", fields...)
	got := call{r.status, r.body, strings.Join(r.head["Content-Type"], "|"), strings.Join(r.head["Cache-Status"], "|")}
	if got != want {
		f.t.Errorf("%s %s\n got %+v\nwant %+v", method, url, got, want)
	}
	return r.head
}

func TestCalls(t *testing.T) {
	f := newCallbackFixture(t, jsonp.Dotted, func(c *jsonp.Config) { c.Aliases = []string{"jsonp"} })
	f.setAnswer(200, twoTables)
	plain := call{200, twoTables, "application/json", "kasoku; hit"}
	wrapped := call{200, `/**/app.cb[1](` + twoTables + `);`, callType, "kasoku; hit; jsonp=wrapped"}
	left := func(why string) call {
		return call{200, twoTables, "application/json", "kasoku; hit; jsonp=" + why}
	}
	h := f.expectCall("GET", "/ListTables?Limit=2&callback=app.cb[1]", wrapped)
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("x-amz-crc32") != "" {
		t.Errorf("got the fields %v", h)
	}
	f.expectRequests(`ListTables {"Limit":2}`)
	f.expectCall("HEAD", "/ListTables?callback=app.cb%5B1%5D", wrapped)
	f.expectCall("GET", "/ListTables?jsonp=app.cb[1]&callback=app.cb[1]", wrapped)
	f.expectCall("GET", "/DescribeTable/t?callback=app.cb[1]", wrapped)
	f.expectCall("GET", "/ListTables", plain)
	f.expectCall("GET", "/ListTables?callback=", plain)
	f.expectCall("GET", "/ListTables?Callback=f", plain)
	f.expectCall("POST", "/ListTables?callback=f", plain)
	f.expectCall("POST", "/GetItemJSON?callback=f", call{200, `{"TableNames":["a","b"],"Item":{}}`, "application/json", "kasoku; hit"})
	if h := f.expectCall("GET", "/ListTables?callback=f", left("credentials"), "Cookie", "a=b"); h.Get("Cache-Control") != "private" {
		t.Errorf("got the fields %v", h)
	}
	f.expectCall("GET", "/ListTables?callback=f", left("credentials"), "authorization", "AWS4-HMAC-SHA256 x")
	f.setAnswer(200, separated2028)
	f.expectCall("GET", "/ListTables?callback=f", call{200, `/**/f({"a":"\u2028"});`, callType, "kasoku; hit; jsonp=wrapped"})
	f.setAnswer(200, "")
	f.expectCall("GET", "/ListTables?callback=f", call{200, "", "application/json", "kasoku; hit; jsonp=empty"})
}

// TestCallbackWithoutFilter checks that without a filter the callback is an ignored argument.
func TestCallbackWithoutFilter(t *testing.T) {
	f := newFixture(t)
	f.setAnswer(200, twoTables)
	f.expectCall("GET", "/ListTables?callback=f(", call{200, twoTables, "application/json", "kasoku; hit"})
}

func TestRefusesCallbacks(t *testing.T) {
	f := newCallbackFixture(t, jsonp.Strict, func(c *jsonp.Config) { c.ScriptOnly = true })
	f.setAnswer(200, twoTables)
	name := call{400, errorBody("ValidationException", "The callback's name is not allowed"), "application/json", "kasoku; detail=local; jsonp=bad-name"}
	f.expectCall("GET", "/ListTables?callback=a.b", name)
	f.expectCall("GET", "/ListTables?callback=a&callback=b", name)
	f.expectCall("GET", "/ListTables?callback=alert(1)", name, "Cookie", "a=b")
	script := call{403, errorBody("AccessDeniedException", "The answer was not requested as a script"), "application/json", "kasoku; detail=local; jsonp=not-script"}
	f.expectCall("GET", "/ListTables?callback=a", script, "Sec-Fetch-Dest", "document")
	f.expectRequests()
	f.expectCall("GET", "/ListTables?callback=a", call{200, `/**/a(` + twoTables + `);`, callType, "kasoku; hit; jsonp=wrapped"}, "Sec-Fetch-Dest", "script")

	f = newCallbackFixture(t, jsonp.Dotted, func(c *jsonp.Config) { c.Invalid = jsonp.Pass })
	f.setAnswer(200, twoTables)
	f.expectCall("GET", "/ListTables?callback=alert(1)", call{200, twoTables, "application/json", "kasoku; hit; jsonp=bad-name-passed"})
}

func TestErrorsInCalls(t *testing.T) {
	failed := func(f *fixture, status int, body, why string) {
		t.Helper()
		f.setAnswer(400, noTable)
		typ := callType
		if why == "status" {
			typ = "application/json"
		}
		h := f.expectCall("GET", "/DescribeTable/t?callback=f", call{status, body, typ, "kasoku; hit; jsonp=" + why})
		if got := h.Get("X-Status"); (got == "400") != (why == "enveloped") {
			t.Errorf("got X-Status %q", got)
		}
	}
	failed(newCallbackFixture(t, jsonp.Dotted, nil), 400, noTable, "status")
	failed(newCallbackFixture(t, jsonp.Dotted, func(c *jsonp.Config) { c.Errors = jsonp.Envelope }), 200, `/**/f({"status":400,"data":`+noTable+`});`, "enveloped")
	failed(newCallbackFixture(t, jsonp.Dotted, func(c *jsonp.Config) { c.Errors = jsonp.AsIs }), 400, `/**/f(`+noTable+`);`, "wrapped")

	f := newCallbackFixture(t, jsonp.Dotted, func(c *jsonp.Config) { c.Errors = jsonp.Envelope })
	f.svc.rejectAll = true
	f.expectCall("GET", "/DescribeTable/t?callback=f", call{200, `/**/f({"status":400,"data":` + errorBody("InvalidSignatureException", "no") + `});`, callType, ""})
}

// TestLegacyCalls checks that legacy mode wraps any type, but only with a callback.
func TestLegacyCalls(t *testing.T) {
	f := newCallbackFixture(t, jsonp.Legacy, func(c *jsonp.Config) { c.Types, c.Public = []string{"application/json"}, true })
	f.setAnswer(200, twoTables+"\n")
	f.expectCall("GET", "/ListTables?callback=1f", call{200, "1f(" + twoTables + "\n);", "application/json", "kasoku; hit; jsonp=wrapped"}, "Cookie", "a=b")
	f.expectCall("GET", "/ListTables?callback=a.b", call{200, twoTables + "\n", "application/json", "kasoku; hit; jsonp=bad-name-passed"})
}

// TestCallsOfFormattedReplies checks that replies formatted for bbpd's header fields are wrapped.
func TestCallsOfFormattedReplies(t *testing.T) {
	f := newCallbackFixture(t, jsonp.Dotted, nil)
	f.setAnswer(200, twoTables)
	got := f.do("GET", "/ListTables?callback=f", "", "X-Bbpd-Indent", "1")
	if got.body != "/**/f({\n\t\"TableNames\": [\n\t\t\"a\",\n\t\t\"b\"\n\t]\n});" {
		t.Errorf("got %s", got.body)
	}
	got = f.do("GET", "/ListTables?callback=f", "", "X-Bbpd-Verbose", "1")
	if !strings.HasPrefix(got.body, `/**/f({"Name":"ListTables",`) || !strings.HasSuffix(got.body, `}});`) {
		t.Errorf("got %s", got.body)
	}
	got = f.do("GET", "/Status?callback=f", "")
	if !strings.HasPrefix(got.body, `/**/f({"Status":"ready",`) || got.head.Get("Content-Type") != callType {
		t.Errorf("got %s %v", got.body, got.head)
	}
}

// TestCallsAfterReload checks that tasks with a scanner of the previous filter use the new one.
func TestCallsAfterReload(t *testing.T) {
	f := newCallbackFixture(t, jsonp.Legacy, func(c *jsonp.Config) { c.Types = []string{"application/json"} })
	f.setAnswer(200, separated2028)
	f.expectCall("GET", "/ListTables?callback=f", call{200, "f(" + separated2028 + ");", "application/json", "kasoku; hit; jsonp=wrapped"})
	g := newCallbackFixture(t, jsonp.Dotted, nil)
	f.h.Configure(*g.h.cfg.Load())
	f.expectCall("GET", "/ListTables?callback=f", call{200, `/**/f({"a":"\u2028"});`, callType, "kasoku; hit; jsonp=wrapped"})
}

// TestCallAllocatesNothing checks that wrapping an answer in a call doesn't allocate.
func TestCallAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	f := newCallbackFixture(t, jsonp.Dotted, nil)
	r := http1.Request{Method: []byte("GET"), Path: []byte("/ListTables"), RawQuery: []byte("Limit=1&callback=app.f"), Minor: 1, Fields: http1.FieldsOf("Host", "a")}
	x := edge.Detached(t.Context(), r, nil, time.Now())
	w := new(task)
	body, status := []byte(twoTables), []byte("Cache-Status: kasoku; hit\r\n")
	wrap := func() {
		x.Reply.Reset()
		w.begin(f.h, x, f.h.routes.whole["/ListTables"], nil)
		if !w.admitCallback() {
			t.Error("the callback was refused")
		}
		x.Reply.Status = http.StatusOK
		x.Reply.Build(append(x.Reply.Buf, body...))
		x.Reply.Lines(status)
		w.formatReply()
	}
	wrap()
	if n := testing.AllocsPerRun(200, wrap); n > 0 || string(x.Reply.Body) != `/**/app.f(`+twoTables+`);` {
		t.Errorf("got %v allocations for %s, want none", n, x.Reply.Body)
	}
}
