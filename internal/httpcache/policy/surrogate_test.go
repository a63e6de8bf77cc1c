package policy

import "testing"

func TestSurrogateControl(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got := "unusable"
		if c, ok := parseSurrogate([]byte(text)); ok {
			got = c.text()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	f("max-age=60", "max-age=60")
	f("max-age=60+30", "max-age=60 stale-while-revalidate=30 stale-if-error=30")
	f("max-age=60+30, stale-while-revalidate=5", "max-age=60 stale-while-revalidate=5 stale-if-error=30")
	f("MAX-AGE=60 , no-store", "no-store max-age=60")
	f("max-age=1, max-age=2+3", "max-age=1")
	f("no-store", "no-store")
	f(`private="a"`, "hide a")
	// Directives for another surrogate, and directives that do not concern caching.
	f("max-age=60;abc, no-store;def, max-age=30", "max-age=30")
	f(`max-age="60";abc`, "unusable")
	f(`content="ESI/1.0"`, "unusable")
	f(`content="ESI/1.0;x, no-store", max-age=5`, "max-age=5")
	f("no-store-remote", "unusable")
	f("", "unusable")
	f("@, ,", "unusable")
	// Restricting directives after an unclosed quote apply.
	f(`content="ESI/1.0, no-store`, "no-store")
	f(`content="ESI/1.0, max-age=60`, "unusable")
	f(`max-age=60, content="ESI/1.0;x, private=a, max-age=70`, "private max-age=60")
	f(`max-age=60, content="ESI/1.0", private="a, no-store;abc`, "no-store private max-age=60")
	f(`content="a", x="b\", no-store"`, "unusable")
	// A malformed lifetime is 0.
	f("max-age=60+", "max-age=60")
	f("max-age=+5", "max-age=0 stale-while-revalidate=5 stale-if-error=5")
	f("max-age=60+x", "max-age=60")
	f("max-age=x", "max-age=0")
}

func TestSurrogateControlAsTarget(t *testing.T) {
	o := Defaults()
	o.Targets = []string{"Surrogate-Control", "CDN-Cache-Control"}
	f := func(want int64, pairs ...string) {
		t.Helper()
		if r := ParseResponse(200, fieldsOf(pairs...), then, then, &o); r.Lifetime != want {
			t.Errorf("%q: got %d, want %d", pairs, r.Lifetime, want)
		}
	}
	f(9, "Surrogate-Control", "max-age=9", "CDN-Cache-Control", "max-age=5", "Cache-Control", "max-age=1")
	f(9, "surrogate-control", `content="ESI/1.0"`, "Surrogate-Control", "max-age=9")
	f(5, "Surrogate-Control", `content="ESI/1.0"`, "CDN-Cache-Control", "max-age=5")
	o.Targets = o.Targets[1:]
	f(1, "Surrogate-Control", "max-age=9", "Cache-Control", "max-age=1")
}

func FuzzSurrogateControl(f *testing.F) {
	fuzz(f, []string{"max-age=60+30, no-store;a", `content="a;b", max-age=5`, `private="x", max-age="6\0";`}, func(t *testing.T, value string) {
		c, ok := parseSurrogate([]byte(value))
		if usable := c.text() != ""; usable != ok {
			t.Errorf("%q is usable: %t, with the directives %q", value, ok, c.text())
		}
		if min(c.maxAge, c.sharedAge, c.swr, c.sie) < none {
			t.Errorf("%q: got %+v", value, c)
		}
	})
}
