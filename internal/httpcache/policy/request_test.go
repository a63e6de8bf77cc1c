package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// request parses a request with the default options.
func request(method string, pairs ...string) *Request {
	o := Defaults()
	var q Request
	ParseRequest(&q, []byte(method), fieldsOf(pairs...), &o)
	return &q
}

// text describes the request's directives.
func (q *Request) text() string {
	var b strings.Builder
	for _, f := range flags {
		if q.Directives.Has(f.bit) {
			fmt.Fprintf(&b, " %s", f.name)
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"max-age", q.MaxAge}, {"min-fresh", q.MinFresh}, {"max-stale", q.MaxStale}, {"stale-if-error", q.StaleIfError}} {
		switch n.value {
		case none:
		case anyAge:
			fmt.Fprintf(&b, " %s", n.name)
		default:
			fmt.Fprintf(&b, " %s=%d", n.name, n.value)
		}
	}
	for i, name := range []string{"Authorization", "Cookie", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match"} {
		if q.Traits.Has(1 << i) {
			fmt.Fprintf(&b, " %s", name)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestParseRequest(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		if got := request("GET", pairs...).text(); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", pairs, got, want)
		}
	}
	f("")
	f("", "Host", "a", "Accept", "*/*", "X-Thing", "y")
	// Unknown directives have no effect.
	f("", "Cache-Control", "nothing-to-see-here", "Pragma", "foo")
	f("no-store no-cache no-transform only-if-cached", "cache-control", "no-cache, no-store, no-transform, only-if-cached")
	f("max-age=1 min-fresh=2 max-stale=3 stale-if-error=4", "Cache-Control", "max-age=1, min-fresh=2", "CACHE-CONTROL", `max-stale=3,stale-if-error="4"`)
	f("max-stale", "Cache-Control", "max-stale, max-stale=5")
	f("max-stale=5", "Cache-Control", "max-stale=5, max-stale")
	f("max-age=7", "Cache-Control", "max-age=x, min-fresh=, max-stale=-1, stale-if-error, max-age=7")
	f("", "Cache-Control", "public, private, must-revalidate, immutable")
	f("no-cache", "Cache-Control", `no-cache="a"`)
	// Pragma counts only without Cache-Control (RFC 9111, section 5.4).
	f("no-cache", "Pragma", "no-cache")
	f("no-cache", "Pragma", "foo, No-Cache")
	f("", "Pragma", "no-cache", "Cache-Control", "foo")
	f("", "Cache-Control", "", "Pragma", "no-cache")
	f("", "Pragma", "no-cacheable")
	f("Authorization Cookie Range If-Range If-None-Match If-Modified-Since If-Match", "Authorization", "a", "Cookie", "b",
		"Range", "c", "If-Range", "d", "If-None-Match", "e", "If-Modified-Since", "f", "If-Match", "g")
	f("If-Match", "if-unmodified-since", "x")
}

func TestRequestValues(t *testing.T) {
	q := request("GET", "range", "bytes=0-1", "IF-RANGE", `"a"`, "If-Modified-Since", "x")
	if string(q.Range) != "bytes=0-1" || string(q.IfRange) != `"a"` || string(q.IfModifiedSince) != "x" {
		t.Errorf("got Range %q, If-Range %q, If-Modified-Since %q", q.Range, q.IfRange, q.IfModifiedSince)
	}
	q = request("GET", "Range", "bytes=0-1", "Range", "bytes=2-3", "Range", "bytes=4-5")
	if q.Range != nil || !q.Traits.Has(HasRange) {
		t.Errorf("a Range in several lines: %q", q.Range)
	}
}

func TestParseRequestResets(t *testing.T) {
	o := Defaults()
	var q Request
	ParseRequest(&q, []byte("PUT"), fieldsOf("Range", "x", "Cookie", "y", "Cache-Control", "no-store, max-age=5"), &o)
	ParseRequest(&q, []byte("GET"), nil, &o)
	if q.text() != "" || q.Range != nil || q.Method != GET {
		t.Errorf("values of the previous request remain: %+v", q)
	}
}

func TestMethods(t *testing.T) {
	f := func(name string, reading, unsafe bool) {
		t.Helper()
		q := request(name)
		if q.Reading() != reading || q.Unsafe() != unsafe {
			t.Errorf("%s: got reading %t, unsafe %t; want %t, %t", name, q.Reading(), q.Unsafe(), reading, unsafe)
		}
	}
	f("GET", true, false)
	f("HEAD", true, false)
	f("OPTIONS", false, false)
	f("TRACE", false, false)
	f("POST", false, true)
	f("PUT", false, true)
	f("DELETE", false, true)
	f("M-SEARCH", false, true)
	f("get", false, true)
	f("", false, true)
}

// TestOverride checks that fields which override the method are found in every spelling that
// origins accept.
func TestOverride(t *testing.T) {
	for _, name := range []string{"X-HTTP-Method-Override", "x_http_method_override", "X-HTTP-Method", "X_HTTP-Method", "X-Method-Override", "x_method_override"} {
		if request("GET", name, "DELETE").Reading() {
			t.Errorf("a GET with %s is treated as a GET", name)
		}
	}
	if !request("GET", "X+HTTP+Method", "DELETE", "If-Modified-Since", "x").Reading() {
		t.Error("a GET with other fields is not treated as a GET")
	}
}

// usual are the fields of a browser's request, including the ones that the hit path
// examines.
var usual = http1.FieldsOf("Host", "www.example.com", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language", "en-GB,en;q=0.7,de;q=0.3",
	"Accept-Encoding", "gzip, deflate, br, zstd", "Connection", "keep-alive", "Cookie", "session=0123456789abcdef",
	"Cache-Control", "max-age=600", "If-None-Match", `"abc", W/"def"`, "Sec-Fetch-Dest", "document", "Priority", "u=0, i")

// hit calls this package as a hit does.
func hit(q *Request, r *Response, vary []byte, o *Options) Outcome {
	ParseRequest(q, []byte("GET"), usual, o)
	if !Matches(r, vary, usual, o) {
		panic("no match")
	}
	if d := Decide(q, r, Unmarked, r.ResponseTime+5, o); d.Action != Use {
		panic(d.Reason)
	}
	return Evaluate(nil, q, r, 1500, r.ResponseTime+5, o)
}

func usualResponse(o *Options) (*Response, []byte) {
	r := ParseResponse(200, http1.FieldsOf("Date", "Sun, 22 Nov 2026 07:00:00 GMT", "Cache-Control", "public, max-age=3600",
		"ETag", `"xyz"`, "Last-Modified", "Sun, 22 Nov 2026 06:00:00 GMT", "Vary", "Accept-Encoding, Accept-Language"), then, then, o)
	return &r, AppendVaryValues(nil, r.Vary, usual, o)
}

func TestHitAllocs(t *testing.T) {
	o := Defaults()
	r, vary := usualResponse(&o)
	var q Request
	if got := testing.AllocsPerRun(100, func() { hit(&q, r, vary, &o) }); got > 0 && !race.Enabled {
		t.Errorf("a hit allocates %v times", got)
	}
}

func BenchmarkHit(b *testing.B) {
	o := Defaults()
	r, vary := usualResponse(&o)
	var q Request
	b.ReportAllocs()
	for b.Loop() {
		hit(&q, r, vary, &o)
	}
}

func BenchmarkParseRequest(b *testing.B) {
	o := Defaults()
	var q Request
	b.ReportAllocs()
	for b.Loop() {
		ParseRequest(&q, []byte("GET"), usual, &o)
	}
}
