package policy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"pgregory.net/rapid"
)

// draws draws messages that are mostly valid, with times within the same few seconds.
type draws struct{ *rapid.T }

func (d draws) of(label string, options ...string) string {
	return rapid.SampledFrom(options).Draw(d.T, label)
}

func (d draws) chance(label string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(d.T, label) < percent
}

func (d draws) seconds(label string) int64 { return rapid.Int64Range(-12, 12).Draw(d.T, label) }

// number draws an argument, usually a small one.
func (d draws) number() string {
	if d.chance("odd number", 15) {
		return d.of("number", "", "-1", "+1", "1.5", "x", "007", `"5"`, `"\5"`, `"5`, "'5'", "5 ", " 5", "2147483648", "99999999999999999999", "5;x", `""`, "@")
	}
	return d.of("number", "0", "1", "2", "5", "9", "10", "11", "100")
}

// directives draws the value of one line of Cache-Control.
func (d draws) directives(names []string) string {
	var all []string
	for range rapid.IntRange(0, 4).Draw(d.T, "directives") {
		switch name := rapid.SampledFrom(names).Draw(d.T, "directive"); {
		case strings.HasSuffix(name, "="):
			all = append(all, name+d.number())
		case d.chance("qualified", 15):
			all = append(all, name+d.of("argument", `="a, B"`, "=a", `=""`, "=", "=1", `="@"`, `="a`, "=@", " =a", "= a"))
		default:
			all = append(all, name)
		}
	}
	line := strings.Join(all, d.of("separator", ", ", ",", " ,\t,"))
	return d.damaged(line)
}

// damaged sometimes inserts a significant byte, or removes a byte.
func (d draws) damaged(s string) string {
	if len(s) == 0 || !d.chance("damage", 12) {
		return s
	}
	at := rapid.IntRange(0, len(s)-1).Draw(d.T, "at")
	return s[:at] + d.of("byte", "", `"`, `\`, ",", " ", "=", "@", "\xe4", ";", "A") + s[at+1-rapid.IntRange(0, 1).Draw(d.T, "replaced"):]
}

func (d draws) date(label string, from int64) string {
	if d.chance("odd date", 10) {
		return d.damaged(d.of(label, "0", "", "-1", "nonsense", "Sunday, 22-Nov-26 07:00:05 GMT", "Sun Nov 22 07:00:05 2026",
			"Sun, 22 Nov 2026 07:00:05 UTC", "Sun, 22 Nov 26 07:00:05 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Tuesday, 22-Nov-77 07:00:05 GMT"))
	}
	return string(AppendDate(nil, from+d.seconds(label)))
}

var (
	responseDirectives = []string{"max-age=", "max-age=", "s-maxage=", "stale-while-revalidate=", "stale-if-error=", "no-store", "no-cache", "private",
		"public", "must-revalidate", "proxy-revalidate", "must-understand", "immutable", "no-transform", "Max-Age=", "foo", `bar="no-store, max-age=5"`}
	requestDirectives = []string{"max-age=", "min-fresh=", "max-stale=", "max-stale", "stale-if-error=", "no-cache", "no-store", "only-if-cached", "foo"}
	statuses          = []int{200, 200, 200, 203, 204, 299, 301, 302, 304, 403, 404, 410, 416, 500, 503, 599, 999}
)

// response draws the fields of a response.
func (d draws) response() http1.Fields {
	var h http1.Fields
	add := func(percent int, name string, value func() string) {
		for d.chance(name, percent) {
			h = append(h, fieldsOf(d.of("case", name, strings.ToLower(name), strings.ToUpper(name)), value())...)
			percent /= 5
		}
	}
	add(80, "Cache-Control", func() string { return d.directives(responseDirectives) })
	add(15, "CDN-Cache-Control", func() string { return d.directives(responseDirectives) })
	add(25, "Expires", func() string { return d.date("expires", in2026) })
	add(50, "Date", func() string { return d.date("date", in2026) })
	add(30, "Last-Modified", func() string { return d.date("modified", in2026-d.either("long ago", 0, 100)) })
	add(20, "Age", func() string { return d.number() + d.of("more", "", "", ", 9", ",") })
	add(40, "ETag", func() string { return d.of("tag", `"a"`, `W/"a"`, `"b"`, "a", "", `"a b"`) })
	add(15, "Vary", func() string { return d.of("vary", "Foo", "*", "foo, *", ", *", "", "Foo,,Bar") })
	add(5, "Set-Cookie", func() string { return "a=b" })
	add(10, "Content-Range", func() string { return d.damaged("bytes 2-5/10") })
	return h
}

// either draws one of two numbers.
func (d draws) either(label string, a, b int64) int64 {
	return rapid.SampledFrom([]int64{a, b}).Draw(d.T, label)
}

// request draws a method and the fields of a request.
func (d draws) request() (string, http1.Fields) {
	var h http1.Fields
	add := func(percent int, name string, value func() string) {
		for d.chance(name, percent) {
			h = append(h, fieldsOf(d.of("case", name, strings.ToLower(name)), value())...)
			percent /= 5
		}
	}
	add(40, "Cache-Control", func() string { return d.directives(requestDirectives) })
	add(10, "Pragma", func() string { return d.of("pragma", "no-cache", "foo", "foo, No-Cache", "") })
	add(10, "Authorization", func() string { return "Basic x" })
	add(10, "Cookie", func() string { return "a=b" })
	add(4, "If-Match", func() string { return `"a"` })
	add(4, "If-Unmodified-Since", func() string { return "x" })
	add(30, "If-None-Match", func() string {
		return d.damaged(d.of("tags", `"a"`, `W/"a"`, `"b"`, `"b", "a"`, "*", "a", `"b",,W/"a" ,`, ""))
	})
	add(30, "If-Modified-Since", func() string { return d.date("since", in2026) })
	add(10, "Range", func() string { return "bytes=2-3" })
	return d.of("method", "GET", "GET", "GET", "GET", "HEAD", "POST", "FOO"), h
}

// TestAsTheRFCsRead draws exchanges and clocks, and compares the package's decisions with
// the ones of rfcCache, which follows the RFCs literally.
func TestAsTheRFCsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		method, ask := d.request()
		answer := d.response()
		status := rapid.SampledFrom(statuses).Draw(t, "status")
		mark := rapid.SampledFrom([]Mark{Unmarked, Unmarked, Unmarked, Outdated, Invalid}).Draw(t, "mark")
		received := then + rapid.SampledFrom([]Moment{0, 1, 500_000, 900_000, 999_999}).Draw(t, "within the second")
		sent := received - rapid.SampledFrom([]Moment{-perSecond, 0, 1, 300_000, 950_000, perSecond, 2_500_000, 3 * perSecond}).Draw(t, "on the way")
		now := received + perSecond*rapid.SampledFrom([]Moment{-1, 0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 15, 20, 100, 3600, 3610}).Draw(t, "later") +
			rapid.SampledFrom([]Moment{-1, 0, 0, 1, 700_000}).Draw(t, "and a bit")
		o := Defaults()
		o.DefaultTTL = d.either("default", 0, 5)
		o.StaleWhileRevalidate = d.either("while", 0, 5)
		o.StaleIfError = d.either("if error", 0, 5)

		var q Request
		ParseRequest(&q, []byte(method), ask, &o)
		r := ParseResponse(status, answer, sent, received, &o)
		where := method + " " + lines(ask) + "\n" + itoa(int64(status)) + " " + lines(answer) + "\n"
		second := newRFCCache(o, method, messageOf(ask), status, messageOf(answer), int64(sent), int64(received), mark)

		lifetime, explicit := second.freshness()
		if r.Lifetime != lifetime || r.Explicit() != explicit {
			t.Fatalf(where+"lifetime %d, explicit %t, want %d, %t", r.Lifetime, r.Explicit(), lifetime, explicit)
		}
		if got, want := r.Age(now), second.age(int64(now))/micros; got != want {
			t.Fatalf(where+"age %d, want %d", got, want)
		}
		if got, want := strings.Join(r.Hidden, " "), strings.Join(second.hidden(), " "); len(got) != len(want) {
			t.Fatalf(where+"fields %q are kept from hits, want %q", got, want)
		}
		if got, why := Storable(&q, &r, &o); got != second.mayStore() {
			t.Fatalf(where+"storable: %t (%s), want %t", got, why, !got)
		}
		if got, want := Decide(&q, &r, mark, now, &o), second.answerFrom(int64(now)); got.Action != want {
			t.Fatalf(where+"decided %+v (%s), want %d", got, got.Reason, want)
		}
		for _, f := range []Failure{Disconnected, Failed} {
			if got, want := AfterFailure(&q, &r, mark, f, now, &o), second.afterFailure(f, int64(now)); got.Action != want {
				t.Fatalf(where+"after failure %d: %+v (%s), want %d", f, got, got.Reason, want)
			}
		}
		if got, want := NotModified(&q, &r, now, &o), second.notModified(int64(now)); got != want {
			t.Fatalf(where+"not modified: %t, want %t", got, want)
		}
	})
}

// TestDictionariesAsTheGrammarReads compares the parser of dictionaries with their grammar
// as a regular expression.
func TestDictionariesAsTheGrammarReads(t *testing.T) {
	pieces := []string{"max-age", "no-store", "private", "no-cache", "=", "=", ",", ", ", ",", " ", "\t", ";", ";x", "1", "60", "-5", "1.5", "?1", "?0",
		`"a"`, `"60"`, `"a, b"`, `"\""`, `"`, "tok", "*", ":YQ==:", ":", "(", ")", "(a b)", "=60", "=60,", "A", "@", "\x7f"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		got := readDictionary([]byte(text), func(string, sfValue) {})
		if want := sfDict.MatchString(text); got != want {
			t.Fatalf("%q: valid %t, want %t by the grammar", text, got, want)
		}
	})
}

// TestRangesAsBytes compares the spans with the bytes that each range marks.
func TestRangesAsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Range(1, 12).Draw(t, "length")
		var specs []string
		marked := make([]bool, length)
		satisfiable := false
		for range rapid.IntRange(1, 5).Draw(t, "ranges") {
			first, last := rapid.Int64Range(0, 14).Draw(t, "first"), rapid.Int64Range(0, 14).Draw(t, "last")
			last = max(first, last)
			var spec http1.Field
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				spec.Value = []byte(itoa(first) + "-" + itoa(last))
			case 1:
				spec.Value = []byte(itoa(first) + "-")
				last = length - 1
			case 2:
				spec.Value = []byte("-" + itoa(first))
				first, last = max(0, length-first), length-1
			}
			specs = append(specs, string(spec.Value))
			for i := first; i <= last && i < length; i++ {
				marked[i], satisfiable = true, true
			}
		}
		o := Defaults()
		q := request("GET", "Range", "bytes="+strings.Join(specs, ","))
		out := Evaluate(nil, q, response(200), length, then, &o)
		if !satisfiable {
			if out.Status != 416 {
				t.Fatalf("%q of %d: got %s, want 416", specs, length, out.show())
			}
			return
		}
		got := make([]bool, length)
		for i, s := range out.Spans {
			if i > 0 && s.Start <= out.Spans[i-1].Start+out.Spans[i-1].Length {
				t.Fatalf("%q: spans touch: %s", specs, out.show())
			}
			for n := range s.Length {
				got[s.Start+n] = true
			}
		}
		for i := range got {
			if out.Status != 206 || got[i] != marked[i] {
				t.Fatalf("%q of %d: %s", specs, length, out.show())
			}
		}
	})
}

func itoa(n int64) string { return string(appendInt(nil, n)) }

func appendInt(dst []byte, n int64) []byte {
	if n >= 10 {
		dst = appendInt(dst, n/10)
	}
	return append(dst, byte('0'+n%10))
}

// TestVaryIgnoresForm checks that only significant changes of a field change its value.
func TestVaryIgnoresForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		o := Defaults()
		members := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "en;q=0.5", `"x, y"`, "gzip", "B"}), 1, 5).Draw(t, "members")
		name := d.of("name", "foo", "accept", "accept-language", "accept-encoding")
		if name == "accept-language" || name == "accept-encoding" {
			members = rapid.Permutation([]string{"en;q=0.5", "de", "gzip"}).Draw(t, "order")
		}
		plain := fieldsOf(name, strings.Join(members, ","))
		var other http1.Fields
		line := ""
		for i, m := range members {
			line += d.of("before", "", " ", ",", "\t") + m + d.of("after", "", " ", " ,")
			if i < len(members)-1 {
				if d.chance("new line", 30) {
					other = append(other, fieldsOf(strings.ToUpper(name), line)...)
					line = ""
				} else {
					line += ","
				}
			}
		}
		other = append(other, fieldsOf("Else", "x", name, line)...)
		a := AppendVaryValues(nil, []string{name}, plain, &o)
		b := AppendVaryValues(nil, []string{name}, other, &o)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q and %q have different values: %q, %q", lines(plain), lines(other), a, b)
		}
		more := append(other[:len(other):len(other)], fieldsOf(name, "else")...)
		if c := AppendVaryValues(nil, []string{name}, more, &o); bytes.Equal(a, c) {
			t.Fatalf("one more member makes no difference: %q", c)
		}
	})
}
