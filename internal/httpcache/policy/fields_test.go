package policy

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// lines shows fields as "name: value" joined by " | ".
func lines(h http1.Fields) string {
	var l []string
	for _, f := range h {
		l = append(l, string(f.Name)+": "+string(f.Value))
	}
	return strings.Join(l, " | ")
}

func TestEndToEnd(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		if got := lines(EndToEnd(nil, fieldsOf(pairs...))); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", pairs, got, want)
		}
	}
	f("A: 1 | B:  | a: 2", "A", "1", "B", "", "a", "2")
	f("c: 3", "Connection", "a, B", "a", "1", "b", "2", "A", "3", "c", "3")
	f("c: 3", "Connection", "a", "CONNECTION", ",b,", "a", "1", "b", "2", "c", "3")
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade", "Trailer",
		"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization"} {
		f("c: 3", strings.ToLower(name), "x", "c", "3")
	}
	// Connection can't remove fields for framing or access.
	f("Content-Length: 5 | Cache-Control: private | Set-Cookie: a | Vary: b",
		"Connection", "content-length, cache-control, set-cookie, vary", "Content-Length", "5", "Cache-Control", "private", "Set-Cookie", "a", "Vary", "b")
	f("close: 1", "Connection", "close", "close", "1")
	f("T: \xe4\xff", "T", "\xe4\xff")
}

func TestHitFields(t *testing.T) {
	o := Defaults()
	o.SetCookie = StoreCookies
	r := response(200, "Cache-Control", `private="x", no-cache="Y"`)
	h := fieldsOf("Age", "5", "Content-Length", "7", "X", "1", "y", "2", "Z", "3", "Set-Cookie", "a=b", "ETag", `"a"`)
	if got := lines(HitFields(nil, h, r, &o)); got != `Z: 3 | Set-Cookie: a=b | ETag: "a"` {
		t.Errorf("got %q", got)
	}
	for _, o.SetCookie = range []CookieRule{StripCookies, RefuseCookies} {
		if got := lines(HitFields(nil, h, r, &o)); got != `Z: 3 | ETag: "a"` {
			t.Errorf("with the rule %d: got %q", o.SetCookie, got)
		}
	}
}

func TestDated(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		if got := lines(Dated(nil, fieldsOf(pairs...), then)); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", pairs, got, want)
		}
	}
	f("A: 1 | Date: Sun, 22 Nov 2026 07:00:00 GMT", "A", "1")
	f("Date: Sun, 06 Nov 1994 08:49:37 GMT | A: 1", "Date", "Sun, 06 Nov 1994 08:49:37 GMT", "A", "1")
	f("A: 1 | Date: Sun, 22 Nov 2026 07:00:00 GMT", "Date", "nonsense", "A", "1")
	f("date: Sun Nov  6 08:49:37 1994 | A: 1", "date", "Sun Nov  6 08:49:37 1994", "A", "1", "Date", at(0))
}

func TestUnconditional(t *testing.T) {
	h := fieldsOf("A", "1", "if-none-match", "x", "If-Modified-Since", "x", "If-Range", "x", "Range", "x", "If-Match", "y", "B", "2")
	if got := lines(Unconditional(nil, h)); got != "A: 1 | If-Match: y | B: 2" {
		t.Errorf("got %q", got)
	}
}

func TestValidation(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		client := fieldsOf("Foo", "1", "If-None-Match", `"own"`, "If-Modified-Since", at(0), "Range", "bytes=0-1", "If-Range", `"own"`)
		if got := lines(Validation(nil, client, response(200, pairs...))); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", pairs, got, want)
		}
	}
	f("Foo: 1")
	f(`Foo: 1 | If-None-Match: W/"a"`, "ETag", `W/"a"`)
	f("Foo: 1 | If-None-Match: opaque", "ETag", "opaque")
	f("Foo: 1 | If-Modified-Since: whenever", "Last-Modified", "whenever")
	f(`Foo: 1 | If-None-Match: "a" | If-Modified-Since: `+at(-5), "Last-Modified", at(-5), "ETag", `"a"`)
}

func TestUpdates(t *testing.T) {
	f := func(want bool, asked bool, update, stored []string) {
		t.Helper()
		if got := Updates(response(304, update...), response(200, stored...), asked); got != want {
			t.Errorf("304 with %q for %q: updates %t, want %t", update, stored, got, want)
		}
	}
	type l = []string
	f(true, true, l{"ETag", `"a"`}, l{"ETag", `"a"`})
	f(true, false, l{"ETag", `"a"`}, l{"ETag", `"a"`})
	f(false, true, l{"ETag", `"b"`}, l{"ETag", `"a"`})
	f(false, true, l{"ETag", `"a"`}, l{"ETag", `W/"a"`})
	f(false, true, l{"ETag", `"a"`}, nil)
	f(false, true, l{"ETag", `"b"`, "Last-Modified", at(-5)}, l{"ETag", `"a"`, "Last-Modified", at(-5)})
	f(true, false, l{"ETag", `W/"a"`}, l{"ETag", `W/"a"`})
	f(true, false, l{"ETag", `W/"a"`}, l{"ETag", `"a"`})
	f(true, false, l{"ETag", "a"}, l{"ETag", "a"})
	f(true, false, l{"Last-Modified", at(-5)}, l{"Last-Modified", at(-5)})
	f(false, true, l{"Last-Modified", at(-5)}, l{"Last-Modified", at(-6)})
	f(false, true, l{"Last-Modified", at(-5)}, l{"ETag", `"a"`})
	f(true, true, nil, l{"ETag", `"a"`})
	f(true, true, l{"Last-Modified", "nonsense"}, l{"ETag", `"a"`})
	f(false, false, nil, l{"ETag", `"a"`})
}

func TestUpdateFields(t *testing.T) {
	f := func(want string, stored, update []string) {
		t.Helper()
		if got := lines(UpdateFields(nil, fieldsOf(stored...), fieldsOf(update...))); got != want {
			t.Errorf("%q by %q\n  got  %q\n  want %q", stored, update, got, want)
		}
	}
	type l = []string
	f("A: 1", l{"A", "1"}, nil)
	f("B: 2 | a: 3", l{"A", "1", "B", "2", "A", "2"}, l{"a", "3"})
	f("A: 1 | C: 3 | C: 4", l{"A", "1"}, l{"C", "3", "C", "4"})
	f("Set-Cookie: b", l{"Set-Cookie", "a"}, l{"Set-Cookie", "b"})
	// Fields that describe the stored body are kept.
	f("Content-Length: 5 | Content-Encoding: gzip | Content-Range: x",
		l{"Content-Length", "5", "Content-Encoding", "gzip", "Content-Range", "x"},
		l{"content-length", "0", "content-encoding", "br", "content-range", "y"})
	f("Content-Type: b | Content-Location: c", l{"Content-Type", "a"}, l{"Content-Type", "b", "Content-Location", "c"})
	f("", nil, l{"Content-Length", "0", "Connection", "x", "Transfer-Encoding", "chunked"})
	// The old age is removed; a new one is the 304's.
	f("Date: x", l{"Age", "50"}, l{"Date", "x"})
	f("Age: 3", l{"Age", "50"}, l{"Age", "3"})
}

func TestFromHead(t *testing.T) {
	f := func(want HeadUpdate, status int, length int64, head, stored []string) {
		t.Helper()
		if got := FromHead(response(status, head...), length, response(200, stored...), 100); got != want {
			t.Errorf("%d %q, length %d, of %q: got %d, want %d", status, head, length, stored, got, want)
		}
	}
	type l = []string
	f(HeadUpdates, 200, -1, nil, l{"ETag", `"a"`})
	f(HeadUpdates, 200, 100, l{"ETag", `"a"`}, l{"ETag", `"a"`})
	f(HeadInvalidates, 200, 99, l{"ETag", `"a"`}, l{"ETag", `"a"`})
	f(HeadInvalidates, 200, 0, nil, nil)
	f(HeadInvalidates, 200, -1, l{"ETag", `"b"`}, l{"ETag", `"a"`})
	f(HeadInvalidates, 200, -1, l{"ETag", `W/"a"`}, l{"ETag", `"a"`})
	f(HeadInvalidates, 200, -1, l{"ETag", `"a"`}, nil)
	f(HeadUpdates, 200, -1, l{"Last-Modified", at(-5)}, l{"Last-Modified", at(-5)})
	f(HeadInvalidates, 200, -1, l{"Last-Modified", at(-4)}, l{"Last-Modified", at(-5)})
	f(HeadIgnored, 410, -1, l{"ETag", `"b"`}, l{"ETag", `"a"`})
	f(HeadIgnored, 304, -1, nil, nil)
	f(HeadIgnored, 500, 0, nil, nil)
	if got := FromHead(response(200), -1, response(404), 100); got != HeadIgnored {
		t.Errorf("for a stored 404: got %d, want HeadIgnored", got)
	}
}
