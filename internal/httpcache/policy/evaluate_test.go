package policy

import (
	"fmt"
	"strings"
	"testing"
)

// show returns an outcome as text: the status, and the first and last byte of each span.
func (out Outcome) show() string {
	var b strings.Builder
	fmt.Fprint(&b, out.Status)
	for _, s := range out.Spans {
		fmt.Fprintf(&b, " %d-%d", s.Start, s.Start+s.Length-1)
	}
	return b.String()
}

func TestIfNoneMatch(t *testing.T) {
	o := Defaults()
	f := func(want bool, tag string, lines ...string) {
		t.Helper()
		var pairs []string
		for _, l := range lines {
			pairs = append(pairs, "If-None-Match", l)
		}
		r := response(200, "ETag", tag, "Last-Modified", at(-1000))
		if got := NotModified(request("GET", pairs...), r, then, &o); got != want {
			t.Errorf("ETag %s, If-None-Match %q: not modified %t, want %t", tag, lines, got, want)
		}
	}
	// Weak comparison (RFC 9110, section 8.8.3.2).
	f(true, `"a"`, `"a"`)
	f(true, `"a"`, `W/"a"`)
	f(true, `W/"a"`, `"a"`)
	f(true, `W/"a"`, `W/"a"`)
	f(false, `"a"`, `"b"`)
	f(false, `"a"`, `"A"`)
	f(false, `"a"`, `w/"a"`)
	// Lists, in one line and several.
	f(true, `"a"`, `"b", "a"`)
	f(true, `"a"`, `"b","a","c"`)
	f(true, `"a"`, `,, "b" ,"a"`)
	f(true, `"a"`, `"b"`, `"a"`)
	f(false, `"a"`, `"b", "c"`)
	f(true, `"a,b"`, `"x", "a,b"`)
	f(false, `"a"`, `"x,"a"`)
	f(true, `"a\"`, `"b\", "a\"`)
	// "*" means any, alone.
	f(true, `"a"`, "*")
	f(true, "", "*")
	f(false, `"a"`, `"b", *`)
	// Invalid entity tags are compared bytewise.
	f(true, "a", "a")
	f(true, "a", `"b", a`)
	f(false, "a", `"a"`)
	f(false, `"a"`, "a")
	f(false, `"a"`, `"a`)
	f(true, `"a b"`, `"a b"`)
	f(false, "", `"a"`)
	f(false, "", "")
	f(false, `"a"`, "")
}

func TestIfModifiedSince(t *testing.T) {
	o := Defaults()
	f := func(want bool, since string, pairs ...string) {
		t.Helper()
		if got := NotModified(request("GET", "If-Modified-Since", since), response(200, pairs...), then, &o); got != want {
			t.Errorf("since %s, %q: not modified %t, want %t", since, pairs, got, want)
		}
	}
	f(true, at(-1000), "Last-Modified", at(-1000))
	f(true, at(-999), "Last-Modified", at(-1000))
	f(false, at(-1001), "Last-Modified", at(-1000))
	f(true, "Sunday, 06-Nov-94 08:49:37 GMT", "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
	f(true, "Sun Nov  6 08:49:37 1994", "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
	// Without Last-Modified, Date; without that, the time of reception.
	f(true, at(-20), "Date", at(-20))
	f(false, at(-21), "Date", at(-20))
	f(true, at(-20), "Date", at(-20), "Last-Modified", "nonsense")
	f(true, at(0))
	f(false, at(-1))
	f(false, "nonsense", "Last-Modified", at(-1000))
	f(false, "0", "Last-Modified", at(-1000))
	f(false, "", "Last-Modified", at(-1000))
	o.DatelessIfModified = true
	f(true, at(-1), "Date", at(0))
	f(false, at(-1001), "Last-Modified", at(-1000))
	f(false, "nonsense")
}

// TestConditionsTogether checks that If-None-Match has precedence (RFC 9110, section 13.2.2).
func TestConditionsTogether(t *testing.T) {
	o := Defaults()
	r := response(200, "ETag", `"a"`, "Last-Modified", at(-1000))
	f := func(want bool, pairs ...string) {
		t.Helper()
		if got := NotModified(request("GET", pairs...), r, then, &o); got != want {
			t.Errorf("%q: not modified %t, want %t", pairs, got, want)
		}
	}
	f(true, "If-None-Match", `"a"`, "If-Modified-Since", at(-2000))
	f(false, "If-None-Match", `"b"`, "If-Modified-Since", at(0))
	f(false)
	f(false, "If-Modified-Since", at(0), "If-Modified-Since", at(0))
}

func TestEvaluate(t *testing.T) {
	o := Defaults()
	r := response(200, "ETag", `"a"`, "Last-Modified", at(-1000))
	f := func(want, method string, pairs ...string) {
		t.Helper()
		if got := Evaluate(nil, request(method, pairs...), r, 100, then, &o).show(); got != want {
			t.Errorf("%s %q: got %s, want %s", method, pairs, got, want)
		}
	}
	f("200", "GET")
	f("200", "HEAD")
	f("304", "HEAD", "If-None-Match", `"a"`)
	f("206 0-1", "GET", "Range", "bytes=0-1")
	f("200", "HEAD", "Range", "bytes=0-1")
	f("304", "GET", "Range", "bytes=0-1", "If-None-Match", `"a"`)
	f("206 0-1", "GET", "Range", "bytes=0-1", "If-None-Match", `"b"`)
	f("416", "GET", "Range", "bytes=100-")
	f("206 0-1 5-9", "GET", "Range", "bytes=5-9,0-1")
	// If-Range (RFC 9110, section 13.1.5).
	f("206 0-1", "GET", "Range", "bytes=0-1", "If-Range", `"a"`)
	f("200", "GET", "Range", "bytes=0-1", "If-Range", `W/"a"`)
	f("200", "GET", "Range", "bytes=0-1", "If-Range", `"b"`)
	f("206 0-1", "GET", "Range", "bytes=0-1", "If-Range", at(-1000))
	f("200", "GET", "Range", "bytes=0-1", "If-Range", at(-999))
	f("200", "GET", "Range", "bytes=0-1", "If-Range", "nonsense")
	f("200", "GET", "Range", "bytes=0-1", "If-Range", "")
	f("200", "GET", "Range", "bytes=0-1", "If-Range", `"a"`, "If-Range", `"a"`)
	f("200", "GET", "Range", "bytes=100-", "If-Range", `"b"`)
}

func TestEvaluateWeakDate(t *testing.T) {
	o := Defaults()
	r := response(200, "ETag", `W/"a"`, "Last-Modified", at(0))
	for _, v := range []string{at(0), `W/"a"`, `"a"`} {
		if got := Evaluate(nil, request("GET", "Range", "bytes=0-1", "If-Range", v), r, 100, then, &o).Status; got != 200 {
			t.Errorf("If-Range: %s on a weak validator: %d", v, got)
		}
	}
}

func TestEvaluateOtherStatuses(t *testing.T) {
	o := Defaults()
	q := request("GET", "If-None-Match", "*", "Range", "bytes=0-1")
	for _, status := range []int{203, 204, 301, 404, 410, 500, 599} {
		if got := Evaluate(nil, q, response(status), 100, then, &o).show(); got != fmt.Sprint(status) {
			t.Errorf("a stored %d is answered as %s", status, got)
		}
	}
	for _, length := range []int64{-1, 0} {
		if got := Evaluate(nil, request("GET", "Range", "bytes=0-1"), response(200), length, then, &o).show(); got != "200" {
			t.Errorf("length %d: got %s, want 200", length, got)
		}
	}
	part := response(206, "Content-Range", "bytes 20-29/100", "ETag", `"a"`)
	if got := Evaluate(nil, request("GET", "Range", "bytes=21-25"), part, part.Part.Total, then, &o).show(); got != "206 21-25" {
		t.Errorf("a range of a stored part: got %s, want 206 21-25", got)
	}
	if got := Evaluate(nil, request("GET", "Range", "bytes=21-25", "If-None-Match", `"a"`), part, 100, then, &o).show(); got != "304" {
		t.Errorf("a range of a stored part with a matching ETag: got %s, want 304", got)
	}
}

func TestRanges(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		spans, ok := appendSpans(nil, []byte(value), 100, 4)
		got := "ignored"
		if ok {
			got = strings.TrimSpace(strings.TrimPrefix(Outcome{Spans: spans}.show(), "0"))
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
	f("bytes=0-0", "0-0")
	f("bytes=0-99", "0-99")
	f("bytes=0-100", "0-99")
	f("bytes=0-99999999999999999999999999999", "0-99")
	f("bytes=5-", "5-99")
	f("bytes=99-", "99-99")
	f("bytes=-1", "99-99")
	f("bytes=-100", "0-99")
	f("bytes=-101", "0-99")
	f("BYTES=0-0", "0-0")
	f("bytes=, 0-0 ,", "0-0")
	// None within the body: 416.
	f("bytes=100-", "")
	f("bytes=99999999999999999999999999999-", "")
	f("bytes=-0", "")
	f("bytes=100-200, -0", "")
	// Several: in order, joined where they overlap or touch.
	f("bytes=10-19, 0-4", "0-4 10-19")
	f("bytes=0-4, 5-9", "0-9")
	f("bytes=0-9, 3-5", "0-9")
	f("bytes=0-4, 4-9, 20-", "0-9 20-99")
	f("bytes=0-0, 200-300", "0-0")
	f("bytes=0-0,2-2,4-4,6-6", "0-0 2-2 4-4 6-6")
	// Too many ranges, and invalid ones.
	f("bytes=0-0,2-2,4-4,6-6,8-8", "ignored")
	f("bytes=0-0,0-0,0-0,0-0,0-0", "ignored")
	f("", "ignored")
	f("bytes", "ignored")
	f("bytes=", "ignored")
	f("bytes=,", "ignored")
	f("items=0-1", "ignored")
	f("bytes =0-1", "ignored")
	f("bytes= 0-1", "0-1")
	f("bytes=1-0", "ignored")
	f("bytes=-", "ignored")
	f("bytes=a-b", "ignored")
	f("bytes=0-1x", "ignored")
	f("bytes=0 - 1", "ignored")
	f("bytes=--1", "ignored")
	f("bytes=0-1-2", "ignored")
	f("bytes=0-1, x", "ignored")
	f("bytes=+0-1", "ignored")
	f("bytes=5", "ignored")
}

func TestSpansAreAppended(t *testing.T) {
	o := Defaults()
	before := []Span{{7, 7}}
	out := Evaluate(before, request("GET", "Range", "bytes=0-1,5-6"), response(200), 100, then, &o)
	if out.show() != "206 0-1 5-6" || before[0] != (Span{7, 7}) {
		t.Errorf("got %s, and the old spans are %v", out.show(), before)
	}
}
