package policy

import (
	"strings"
	"testing"
)

func TestDictionary(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if !readDictionary([]byte(text), func(string, sfValue) {}) {
			t.Errorf("%q was refused", text)
		}
	}
	f("")
	f("  ")
	f("a")
	f("  a  ")
	f("a,b ,\tc\t, d")
	f("*k-_.*9=1")
	f("a=1, b=-1, c=123456789012345")
	f("a=1.5, b=-123456789012.123")
	f(`a="", b="x\"y\\z~ "`)
	f("a=tok/en:*, b=*")
	f("a=:aGk=:, b=::")
	f("a=?1, b=?0")
	f("a=(), b=( ), c=(1 two \"three\" ), d=(a;x b;y=1);z")
	f("a;x;y=1; z=?0, b=2;q=0.5")
	bad := func(text string) {
		t.Helper()
		if readDictionary([]byte(text), func(string, sfValue) {}) {
			t.Errorf("%q was accepted", text)
		}
	}
	bad("\ta")
	bad("A")
	bad("9a")
	bad("-a")
	bad("a,")
	bad("a, ")
	bad(",a")
	bad("a,,b")
	bad("a b")
	bad("&&&&&")
	bad("a=10, &&&&&")
	bad("a =1")
	bad("a= 1")
	bad("a=")
	bad("a=1234567890123456")
	bad("a=-")
	bad("a=1.")
	bad("a=1.1234")
	bad("a=1234567890123.1")
	bad("a=.5")
	bad(`a="x`)
	bad(`a="\x"`)
	bad("a=\"\x7f\"")
	bad("a=\"\xc3\xa4\"")
	bad("a=:aGk")
	bad("a=:a-k:")
	bad("a=?2")
	bad("a=?")
	bad("a=(1")
	bad("a=(1 2")
	bad("a=(1,2)")
	bad("a=((1))")
	bad(`a=("x"y)`)
	bad("a;")
	bad("a;X")
	bad("a;x=")
	bad("a=@12")
	bad("a=%x")
}

// describeTargeted describes a parsed targeted field; "unusable" if it is invalid.
func describeTargeted(text string) string {
	c, ok := parseTargeted([]byte(text))
	if !ok {
		return "unusable"
	}
	return c.text()
}

func TestTargetedField(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := describeTargeted(text); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", text, got, want)
		}
	}
	f("max-age=60", "max-age=60")
	f("max-age=60, no-store, private", "no-store private max-age=60")
	f("s-maxage=1, stale-while-revalidate=2, stale-if-error=3, must-revalidate, no-cache",
		"no-cache must-revalidate s-maxage=1 stale-while-revalidate=2 stale-if-error=3")
	f("max-age=60;comment=x, foo=1.5, bar=:aa:", "max-age=60")
	f("foo", "")
	// The last of a repeated key counts, whatever the earlier ones were.
	f("max-age=1, max-age=60", "max-age=60")
	f("max-age=x, max-age=60", "max-age=60")
	f("no-store, no-store=?0", "")
	// A field with a member of the wrong type, or a malformed one, is unusable.
	f(`max-age="60"`, "unusable")
	f("max-age=60.0", "unusable")
	f("max-age", "unusable")
	f("max-age=60, no-store=1", "unusable")
	f("max-age=60, no-store=token", "unusable")
	f("max-age=60, s-maxage=?1", "unusable")
	f("max-age=60, no-cache=1", "unusable")
	f("max-age=60, &&&&&", "unusable")
	f(`max-age=60, x="abc, no-store`, "unusable")
	f("Max-Age=60", "unusable")
	// A negative lifetime is 0, a negative window is ignored.
	f("max-age=-1", "max-age=0")
	f("stale-if-error=-1", "")
	f("max-age=999999999999999", "max-age=1099511627776")
	// Names of fields, as a string, a token or a list.
	f(`private="A, b", no-cache=c`, "hide c,a,b")
	f(`private=(a "b")`, "hide a,b")
	f(`private=""`, "private")
	f("private=()", "private")
	f("private=?0, no-cache=?1", "no-cache")
}

func TestTargetList(t *testing.T) {
	targets := []string{"Kasoku-Cache-Control", "CDN-Cache-Control"}
	f := func(want string, pairs ...string) {
		t.Helper()
		got := "none"
		if c, ok := targeted(fieldsOf(pairs...), targets); ok {
			got = c.text()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", pairs, got, want)
		}
	}
	f("none")
	f("none", "Cache-Control", "max-age=1", "Surrogate-Control", "max-age=2")
	f("max-age=2", "cdn-cache-control", "max-age=2")
	f("max-age=3", "CDN-Cache-Control", "max-age=2", "Kasoku-Cache-Control", "max-age=3")
	f("max-age=2", "CDN-Cache-Control", "max-age=2", "Kasoku-Cache-Control", "")
	f("max-age=2", "CDN-Cache-Control", "max-age=2", "Kasoku-Cache-Control", "max-age=3,")
	f("no-store max-age=2", "CDN-Cache-Control", "max-age=2", "CDN-Cache-Control", "no-store")
	f("none", "CDN-Cache-Control", "max-age=2", "CDN-Cache-Control", "@")
	f("none", "CDN-Cache-Control", " \t ")
}

func TestStringLists(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := strings.Join(Groups(fieldsOf("Cache-Groups", text), "Cache-Groups"), "|"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	f(`"a"`, "a")
	f(` "a" ,"b\"c";x=1 `, `a|b"c`)
	f("", "")
	f("a", "")
	f(`"a", b`, "")
	f(`"a",`, "")
	f(`("a")`, "")
	if got := Groups(fieldsOf("cache-groups", `"a"`, "Cache-Groups", `"b"`), "cache-groups"); len(got) != 2 {
		t.Errorf("two lines: %q", got)
	}
}
