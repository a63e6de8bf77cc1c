package policy

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// vary returns the normalized value of one field in a request.
func vary(o Options, name string, pairs ...string) string {
	return strings.TrimSuffix(string(AppendVaryValues(nil, []string{name}, fieldsOf(pairs...), &o)), "\n")
}

func TestVaryValues(t *testing.T) {
	o := Defaults()
	f := func(name, want string, lines ...string) {
		t.Helper()
		pairs := []string{"Other", "x"}
		for _, l := range lines {
			pairs = append(pairs, strings.ToUpper(name), l)
		}
		if got := vary(o, name, pairs...); got != want {
			t.Errorf("%s %q\n  got  %q\n  want %q", name, lines, got, want)
		}
	}
	// An absent field differs from an empty one.
	f("foo", "")
	f("foo", "=", "")
	f("foo", "=", "", "")
	// Blanks, commas and lines of a list; order and case count.
	f("foo", "=1,2", "1,2")
	f("foo", "=1,2", " 1, 2 ")
	f("foo", "=1,2", "1", "2")
	f("foo", "=1,2", "", "1,,", " , 2", "")
	f("foo", "=2,1", "2,1")
	f("foo", "=A,b c", "A, b c")
	f("foo", `="1, 2",3`, `"1, 2" , 3`)
	// Fields that are not lists are not normalized.
	f("user-agent", "=a,  b", "a,  b")
	f("cookie", "=a; b, c", "a; b", "c")
	f("authorization", "=Basic x,y", "Basic x,y")
	// Case and order of these are insignificant.
	f("accept-language", "=de,en;q=0.5,fr", "FR, en; q=0.5 ,de")
	f("accept-language", "=de,en", "en", "de,")
	f("accept-encoding", "=br,deflate,gzip,zstd", "gzip, deflate, br, zstd")
	f("accept-encoding", "=gzip", "GZIP")
	f("accept-encoding", "=", "")
	// Members beyond the limit are not sorted.
	many := strings.Repeat("b,", 31) + "a"
	f("accept-encoding", "=a"+strings.Repeat(",b", 31), many)
	f("accept-encoding", "=b,"+many, "b,"+many)
	long := strings.Repeat("b", 600)
	f("accept-encoding", "="+long+",a", long+", A")

	o.Languages = false
	f("accept-language", "=en,de", "en, de")
	o.Encodings = []string{"br", "gzip"}
	f("accept-encoding", "=br,gzip", "gzip, deflate, br, zstd")
	f("accept-encoding", "=br,gzip", "*")
	f("accept-encoding", "=gzip", "br;q=0, *;q=0.1")
	f("accept-encoding", "=gzip", "gzip;q=0.001")
	f("accept-encoding", "=", "gzip;q=0.000, BR ; q=0")
	f("accept-encoding", "=", "identity")
	f("accept-encoding", "")
}

func TestAppendEncodings(t *testing.T) {
	o := Defaults()
	o.Encodings = []string{"br", "gzip"}
	f := func(want string, pairs ...string) {
		t.Helper()
		if got := string(AppendEncodings(nil, fieldsOf(pairs...), &o)); got != want {
			t.Errorf("%q: got %q, want %q", pairs, got, want)
		}
	}
	f("")
	f("", "Accept-Encoding", "deflate")
	f("br,gzip", "accept-encoding", "zstd, GZIP", "accept-encoding", "br")
}

func TestWeights(t *testing.T) {
	f := func(member, name string, q int) {
		t.Helper()
		if gotName, got := weighted([]byte(member)); string(gotName) != name || got != q {
			t.Errorf("%q: %q %d, want %q %d", member, gotName, got, name, q)
		}
	}
	f("en", "en", 1000)
	f("en;q=1", "en", 1000)
	f("en;Q=1.000", "en", 1000)
	f("en;q=0", "en", 0)
	f("en;q=0.", "en", 0)
	f("en;q=0.5", "en", 500)
	f("en;q=0.057", "en", 57)
	f("en;q=1.5", "en", 1000)
	f("en;q=0.1234", "en", 0)
	f("en;q=2", "en", 0)
	f("en;q=x", "en", 0)
	f("en;q=", "en", 0)
	f("en;q=0.x", "en", 0)
	f("en;level=1", "en", 0)
	f("en;", "en", 0)
}

// negotiated returns a response to a request with these fields, and its Vary values.
func negotiated(o *Options, vary string, pairs ...string) (*Response, []byte) {
	r := ParseResponse(200, fieldsOf("Vary", vary, "Content-Language", "de", "Cache-Control", "max-age=60"), then, then, o)
	return &r, AppendVaryValues(nil, r.Vary, fieldsOf(pairs...), o)
}

func TestMatches(t *testing.T) {
	o := Defaults()
	f := func(want bool, vary string, before, now []string) {
		t.Helper()
		r, values := negotiated(&o, vary, before...)
		if got := Matches(r, values, fieldsOf(now...), &o); got != want {
			t.Errorf("Vary: %s, %q then %q: matches %t, want %t", vary, before, now, got, want)
		}
	}
	type l = []string
	f(true, "", l{"Foo", "1"}, l{"Foo", "2"})
	f(true, "Foo", l{"Foo", "1"}, l{"foo", "1", "Bar", "2"})
	f(false, "Foo", l{"Foo", "1"}, l{"Foo", "2"})
	f(false, "Foo", l{"Foo", "1"}, nil)
	f(false, "Foo", nil, l{"Foo", "1"})
	f(false, "Foo", nil, l{"Foo", ""})
	f(true, "Foo", nil, nil)
	f(true, "Foo, Bar", l{"Foo", "1", "Bar", "2"}, l{"Bar", "2", "Foo", "1"})
	f(false, "Foo, Bar", l{"Foo", "1", "Bar", "2"}, l{"Foo", "2", "Bar", "1"})
	f(false, "Foo, Bar", l{"Foo", "1"}, l{"Bar", "1"})
	f(true, "Foo,foo , FOO", l{"Foo", "1"}, l{"Foo", "1"})
	f(false, "*", nil, nil)
	f(false, "Foo, *", l{"Foo", "1"}, l{"Foo", "1"})
	// A response in the preferred language matches whatever the other languages.
	f(true, "Accept-Language", l{"Accept-Language", "de, fr;q=0.5"}, l{"Accept-Language", "en;q=0.8, DE"})
	f(false, "Accept-Language", l{"Accept-Language", "de, fr;q=0.5"}, l{"Accept-Language", "en, de"})
	f(false, "Accept-Language", l{"Accept-Language", "de, fr;q=0.5"}, l{"Accept-Language", "en, de;q=0.9"})
	f(false, "Accept-Language", l{"Accept-Language", "de, fr;q=0.5"}, nil)
	f(false, "Accept-Language", l{"Accept-Language", "de, fr;q=0.5"}, l{"Accept-Language", "de;q=0"})
	f(false, "Accept-Language, Foo", l{"Accept-Language", "fr"}, l{"Accept-Language", "de", "Foo", "1"})
	f(false, "Foo", l{"Foo", "fr"}, l{"Foo", "de"})
	o.Languages = false
	f(false, "Accept-Language", l{"Accept-Language", "fr"}, l{"Accept-Language", "de"})
}

func TestMatchesOtherNames(t *testing.T) {
	o := Defaults()
	r, values := negotiated(&o, "A, B", "A", "1", "B", "2")
	for _, wrong := range [][]byte{nil, values[:3], append(values, "=3\n"...), values[:len(values)-1]} {
		if Matches(r, wrong, fieldsOf("A", "1", "B", "2"), &o) {
			t.Errorf("values of other names match: %q", wrong)
		}
	}
}

func TestMatchesTwoLanguages(t *testing.T) {
	o := Defaults()
	f := func(pairs ...string) {
		t.Helper()
		r := ParseResponse(200, fieldsOf(append(pairs, "Vary", "Accept-Language")...), then, then, &o)
		values := AppendVaryValues(nil, r.Vary, fieldsOf("Accept-Language", "fr"), &o)
		if Matches(&r, values, fieldsOf("Accept-Language", "de"), &o) {
			t.Errorf("%q matches", pairs)
		}
	}
	f()
	f("Content-Language", "")
	f("Content-Language", "de, fr")
	f("Content-Language", "de", "Content-Language", "en", "Content-Language", "de")
}

func TestBetter(t *testing.T) {
	o := Defaults()
	of := func(vary string, date int64, received Moment) *Response {
		r := ParseResponse(200, fieldsOf("Vary", vary, "Date", string(AppendDate(nil, date))), received, received, &o)
		return &r
	}
	f := func(a, b *Response) {
		t.Helper()
		if !a.Better(b) || b.Better(a) {
			t.Errorf("%+v is not better than %+v", a, b)
		}
	}
	f(of("Foo", 100, 200), of("", 150, 300))
	f(of("Foo", 101, 200), of("Bar", 100, 300))
	f(of("", 101, 200), of("", 100, 300))
	f(of("", 100, 201), of("", 100, 200))
	if a := of("", 1, 2); a.Better(a) {
		t.Error("a response is better than itself")
	}
}

func TestLongVaryAllocs(t *testing.T) {
	o := Defaults()
	h := fieldsOf("Accept-Encoding", strings.Repeat("abc, ", 31))
	r, values := negotiated(&o, "Accept-Encoding", "Accept-Encoding", strings.Repeat("abc, ", 31))
	if got := testing.AllocsPerRun(100, func() { Matches(r, values, h, &o) }); got > 0 && !race.Enabled {
		t.Errorf("Matches allocates %v times", got)
	}
}
