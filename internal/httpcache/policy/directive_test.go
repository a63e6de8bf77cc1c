package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

func TestSeconds(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, ok := seconds([]byte(text), false); !ok || got != want {
			t.Errorf("%q: got %d, %t; want %d", text, got, ok, want)
		}
	}
	f("0", 0)
	f("60", 60)
	f("0000000000000000000000000000060", 60)
	f("2147483647", 1<<31-1)
	f("2147483648", 1<<31)
	f("10000000000", 10_000_000_000)
	f("99999999999999999999999999999999999999", maxDelta)
	f(strings.Repeat("9", 10000), maxDelta)
	bad := func(text string) {
		t.Helper()
		if got, ok := seconds([]byte(text), false); ok {
			t.Errorf("%q was accepted as %d", text, got)
		}
	}
	bad("")
	bad("-1")
	bad("+1")
	bad("1.0")
	bad("1a")
	bad("a1")
	bad(" 1")
	bad("1 ")
	bad("0x10")
	bad(`\6`)
}

// fieldsOf is http1.FieldsOf with a shorter name.
func fieldsOf(pairs ...string) http1.Fields { return http1.FieldsOf(pairs...) }

// describe describes a parsed line of a response's Cache-Control.
func describe(line string) string {
	c := control{sharedAge: none, maxAge: none, swr: none, sie: none}
	c.line([]byte(line))
	return c.text()
}

// text shows a policy in one order, in the words of Cache-Control.
func (c *control) text() string {
	var b strings.Builder
	for _, f := range flags {
		if c.flags.Has(f.bit) {
			fmt.Fprintf(&b, " %s", f.name)
		}
	}
	for i, n := range []int64{c.maxAge, c.sharedAge, c.swr, c.sie} {
		if n != none {
			fmt.Fprintf(&b, " %s=%d", durations[i], n)
		}
	}
	if len(c.hidden) > 0 {
		fmt.Fprintf(&b, " hide %s", strings.Join(c.hidden, ","))
	}
	return strings.TrimSpace(b.String())
}

func TestCacheControl(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got := describe(line); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", line, got, want)
		}
	}
	f("", "")
	f(" , ,", "")
	f("max-age=60", "max-age=60")
	f("MAX-AGE=60, No-Store", "no-store max-age=60")
	f(`max-age="60"`, "max-age=60")
	f(`max-age="6\0"`, "max-age=60")
	f("public,max-age=1,s-maxage=2,stale-while-revalidate=3,stale-if-error=4", "public max-age=1 s-maxage=2 stale-while-revalidate=3 stale-if-error=4")
	f("private, no-cache, must-revalidate, proxy-revalidate, must-understand, immutable, no-transform",
		"no-cache private must-revalidate proxy-revalidate must-understand immutable no-transform")
	// An invalid lifetime is 0, and the first one counts.
	f("max-age='60'", "max-age=0")
	f("max-age", "max-age=0")
	f("max-age=", "max-age=0")
	f("max-age=-1", "max-age=0")
	f("max-age=1.5", "max-age=0")
	f("max-age=a60", "max-age=0")
	f("max-age=60a", "max-age=0")
	f(`max-age="60`, "max-age=0")
	f("max-age=@", "max-age=0")
	f("max-age=1, max-age=60", "max-age=1")
	f("s-maxage=x, s-maxage=60", "s-maxage=0")
	// Invalid windows are ignored.
	f("stale-while-revalidate=x, stale-if-error", "")
	f("stale-if-error=x, stale-if-error=5", "stale-if-error=5")
	// White space around "=" makes a directive invalid.
	f("max-age =60", "")
	f("max-age= 60", "")
	f("max-age\t=60, public", "public")
	// Quoted text is no directive.
	f(`extension="max-age=60, no-store", public`, "public")
	f(`extension="a\", no-store", public`, "public")
	f(`extension="no-store`, "")
	f("extension='no-store, public'", "")
	// A malformed member does not affect the others.
	f("@, max-age;x, =5, public", "public")
	// A malformed directive that restricts applies, whatever follows its name.
	f("@, no-store;x, =5, public", "no-store public")
	f("no-store=@, public", "no-store public")
	f("private; max-age=60", "private")
	f("Private max-age=60, public", "private public")
	f("private=, no-cache =x", "no-cache private")
	f(`private="a`, "private")
	f("public; x, must-revalidate=@, must-understand;", "")
	f("privately; x, x-no-store;", "")
	f("no-store=1", "no-store")
	// With names of fields a directive applies to these, otherwise to the response.
	f(`private="A, b", no-cache=c`, "hide a,b,c")
	f(`private="a", private`, "private hide a")
	f(`private="\a, b\c"`, "hide a,bc")
	f(`private=""`, "private")
	f(`no-cache=" , "`, "no-cache")
	f(`no-cache="a b"`, "no-cache")
	f("x-private, privately, nocache, no-stores", "")
	// Restricting directives after an unclosed quote apply.
	f(`max-age=60, extension="a, no-store`, "no-store max-age=60")
	f(`max-age="60, private`, "private max-age=0")
	f(`extension="a", title="b\", private, c", other="d,no-cache=x, public`, "no-cache")
	f(`extension="a, public, x-private`, "")
	f("only-if-cached", "only-if-cached")
}

func TestMembersOverLines(t *testing.T) {
	h := http1.FieldsOf("List", "a, b,,", "Other", "x", "LIST", "", "list", `"c, d" ; e , f`)
	list := listOf(h, "list")
	var got []string
	for m := list.next(); m != nil; m = list.next() {
		got = append(got, string(m))
	}
	if want := `a|b|"c, d" ; e|f`; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}
