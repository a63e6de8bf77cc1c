package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/purge"
)

func TestScopeFits(t *testing.T) {
	f := func(text string, prefix bool, url string, want bool) {
		t.Helper()
		s, err := parseScope(text, prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.fits(subject{key: []byte(url)}); got != want {
			t.Fatalf("%s (prefix %v) fits %s: got %v, want %v", text, prefix, url, got, want)
		}
	}
	f("http://h/img/", true, "http://h/img/a.png", true)
	f("http://h/img/", true, "http://h/img/", true)
	f("http://h/img/", true, "http://h/img", false)
	f("http://h/img/", true, "https://h/img/a", false)
	f("http://h/img/", true, "http://h2/img/a", false)
	f("http://H:80/img/", true, "http://h/img/a", true)
	f("http://h", true, "http://h/anything?x", true)
	f("http://h", true, "http://h.example/", false)
	f("/img/", true, "https://any:8443/img/x", true)
	f("/img/", true, "http://h/x/img/", false)
	f("/a?b=", true, "http://h/a?b=1", true)
	f("*://h/a", true, "https://h/ab", true)

	f("/a/*", false, "http://h/a/", true)
	f("/a/*", false, "http://h/a/b/c?d", true)
	f("/a/*", false, "http://h/a", false)
	f("/*.png", false, "http://h/x/y.png", true)
	f("/*.png", false, "http://h/x/y.png?v=1", false)
	f("/*.png*", false, "http://h/x/y.png?v=1", true)
	f("/a?size=*&x=1", false, "http://h/a?size=10&x=1", true)
	f("/a?size=*&x=1", false, "http://h/a?size=10&x=2", false)
	f("/a", false, "http://h/a", true)
	f("/a", false, "http://h/ab", false)
	f("/a?b", false, "http://h/aXb", false)
	f("http://*/a", false, "http://h/a", true)
	f("http://*/a", false, "http://h/b/a", false)
	f("http://*.example.org/*", false, "http://img.example.org/a", true)
	f("http://*.example.org/*", false, "http://example.org/a", false)
	f("*://h/*", false, "https://h/a", true)
	f("http://h:*/*", false, "http://h:8080/a", true)
	f("http://h*/*", false, "http://h:8080/a", true)
	f("http://[::1]*/*", false, "http://[::1]:8080/a", true)
	f("http://h/*?*", false, "http://h/a?b", true)
	f("http://h/*?*", false, "http://h/a", false)
}

func TestScopeFailure(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if s, err := parseScope(text, false); err == nil {
			t.Fatalf("parseScope(%q) = %+v, want an error", text, s)
		}
	}
	f("")
	f("img/*")
	f("ftp://h/")
	f("http:///a")
	f("http://user@h/*")
	f("http://h h/")
	f("http://h:x/")
}

// A pattern matches the same texts as an equivalent regular expression.
func FuzzWild(f *testing.F) {
	for _, seed := range []string{"a*b", "*", "", "a**b*", "*a*", "ab*ba"} {
		f.Add(seed, "abba")
		f.Add(seed, "aXbYb")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern)+len(text) > 1000 {
			return
		}
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		re, err := regexp.Compile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
		if err != nil {
			return // not UTF-8
		}
		if got, want := wild(pattern, []byte(text)), re.MatchString(text); got != want {
			t.Fatalf("wild(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

func TestParseTags(t *testing.T) {
	f := func(want string, fields ...string) {
		t.Helper()
		tags := ParseTags(http1.FieldsOf(fields...))
		in := map[uint32]bool{}
		for _, slot := range tags.slots {
			in[slot] = true
		}
		n := 0
		for name := range strings.FieldsSeq(want) {
			n++
			if !in[tagSlot([]byte(name))] {
				t.Fatalf("%v has no tag %s", fields, name)
			}
		}
		if len(in) != n {
			t.Fatalf("%v has %d tags; want %d", fields, len(in), n)
		}
	}
	f("")
	f("", "Surrogate-Key", "", "Cache-Tag", " , ,")
	f("a b", "Surrogate-Key", " a  b\t", "ETag", "x")
	f("a b c d", "SURROGATE-KEY", "a b", "Cache-Tag", "b,c", "cache-tag", " d ")
	f("a,b", "Surrogate-Key", "a,b")
	f("A a", "Cache-Tag", "A,a")
}

// Each kind of purge removes the responses that it names and no others.
func TestPurge(t *testing.T) {
	urls := []string{"http://h/a", "http://h/a?x=1", "http://h/img/1.png", "http://i/a"}
	f := func(p Purge, removed ...string) {
		t.Helper()
		for _, soft := range []bool{false, true} {
			s := open(t, Limits{})
			for i, u := range urls {
				fill(t, s, get(u), u, "Surrogate-Key", fmt.Sprintf("all n%d", i))
			}
			p.Soft = soft
			if err := s.Purge(context.Background(), p); err != nil {
				t.Fatal(err)
			}
			for _, u := range urls {
				hit := true
				for _, r := range removed {
					hit = hit && r != u
				}
				found := s.Find(get(u))
				switch {
				case !hit && soft:
					if found.Object == nil || found.Object.Mark() != policy.Outdated {
						t.Fatalf("%v: %s: found %+v, want it kept: %v", p, u, found, hit)
					}
				case hit != (found.Object != nil), hit && found.Object.Mark() != policy.Unmarked:
					t.Fatalf("%v: %s: found %+v, want it kept: %v", p, u, found, hit)
				case !hit && found.Miss != MissRemoved && found.Miss != MissURI:
					t.Fatalf("%v: %s: the kind of miss is %d", p, u, found.Miss)
				}
			}
		}
	}
	f(Purge{Selector: purge.By(purge.URL, "http://h/a")}, "http://h/a")
	f(Purge{Selector: purge.By(purge.URL, "http://h/a?x=1")}, "http://h/a?x=1")
	f(Purge{Selector: purge.By(purge.URL, "http://h/nothing")})
	f(Purge{Selector: purge.By(purge.Prefix, "/a")}, "http://h/a", "http://h/a?x=1", "http://i/a")
	f(Purge{Selector: purge.By(purge.Prefix, "http://h")}, "http://h/a", "http://h/a?x=1", "http://h/img/1.png")
	f(Purge{Selector: purge.By(purge.Pattern, "/*.png")}, "http://h/img/1.png")
	f(Purge{Selector: purge.By(purge.Tag, "n1")}, "http://h/a?x=1")
	f(Purge{Selector: purge.By(purge.Tag, "all")}, urls...)
	f(Purge{Selector: purge.By(purge.Tag, "none")})
	f(Purge{}, urls...)
}

func TestPurgeFailure(t *testing.T) {
	s := open(t, Limits{})
	f := func(p Purge) {
		t.Helper()
		if s.Purge(context.Background(), p) == nil {
			t.Fatalf("%#v was accepted", p)
		}
		if st := s.Stats(); st.Purges != 0 || st.Generation != 0 {
			t.Fatalf("%#v was refused and counted: %+v", p, st)
		}
	}
	f(Purge{Selector: purge.By(purge.All, "x")})
	f(Purge{Selector: purge.By(purge.Kind(255), "x")})
	for _, k := range purge.Kinds() {
		f(Purge{Selector: purge.By(k, "")})
	}
	f(Purge{Selector: purge.By(purge.URL, "/a")})
	f(Purge{Selector: purge.By(purge.Prefix, "a")})
	f(Purge{Selector: purge.By(purge.Pattern, "*")})
}

// Every kind of selector has a meaning in the store.
func TestPurgeKinds(t *testing.T) {
	s := open(t, Limits{})
	for _, k := range purge.Kinds() {
		if err := s.Purge(context.Background(), Purge{Selector: purge.By(k, "http://h/")}); errors.Is(err, errKind) {
			t.Error(err)
		}
	}
}

// A response that is stored after a purge is not purged.
func TestFillAfterPurge(t *testing.T) {
	for _, p := range []Purge{
		{Selector: purge.By(purge.URL, "http://h/a")},
		{Selector: purge.By(purge.Prefix, "/")},
		{Selector: purge.By(purge.Tag, "t")},
		{},
	} {
		for _, p.Soft = range []bool{false, true} {
			s := open(t, Limits{})
			fill(t, s, get("http://h/a"), "old", "Cache-Tag", "t")
			if err := s.Purge(context.Background(), p); err != nil {
				t.Fatal(err)
			}
			fill(t, s, get("http://h/a"), "new", "Cache-Tag", "t")
			f := s.Find(get("http://h/a"))
			if f.Object == nil || text(f.Object) != "new" || f.Object.Mark() != policy.Unmarked {
				t.Errorf("%v: found %+v", p, f)
			}
		}
	}
}

// A response with more than maxTags tags is purged with any tag.
func TestTooManyTags(t *testing.T) {
	s := open(t, Limits{})
	var tags []string
	for i := range maxTags + 1 {
		tags = append(tags, fmt.Sprint("t", i))
	}
	fill(t, s, get("http://h/a"), "a", "Surrogate-Key", strings.Join(tags, " "))
	fill(t, s, get("http://h/b"), "b", "Surrogate-Key", strings.Join(tags[:maxTags], " "))
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/none")})
	if s.Find(get("http://h/a")).Object == nil {
		t.Error("a purge of another prefix removed the response")
	}
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Tag, "other")})
	if s.Find(get("http://h/a")).Object != nil {
		t.Error("the response with too many tags was not removed by the purge of a tag")
	}
	if s.Find(get("http://h/b")).Object == nil {
		t.Error("the response with maxTags tags was removed by the purge of another tag")
	}
}

// The log of purges is bounded, and an object that was compared with the removed entries is
// kept.
func TestPurgeLogIsBounded(t *testing.T) {
	s := open(t, Limits{})
	fill(t, s, get("http://h/seen"), "seen")
	fill(t, s, get("http://h/unseen"), "unseen")
	for i := range maxPurges + 100 {
		s.purges.addScope(scope{target: fmt.Sprint("/x", i)}, false)
		if i%50 == 0 {
			s.Find(get("http://h/seen"))
		}
	}
	if n := s.Stats().Log; n != maxPurges {
		t.Errorf("the log has %d purges, want %d", n, maxPurges)
	}
	if s.Find(get("http://h/seen")).Object == nil {
		t.Error("the response that was looked up regularly is not found")
	}
	if s.Find(get("http://h/unseen")).Object != nil {
		t.Error("a response is found that was not compared with all purges")
	}
}

// The same purge again takes no more room.
func TestSamePurgeAgain(t *testing.T) {
	s := open(t, Limits{})
	for range 10 {
		fill(t, s, get("http://h/a"), "a")
		if err := s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/a")}); err != nil {
			t.Fatal(err)
		}
		if s.Find(get("http://h/a")).Object != nil {
			t.Fatal("the response is found after its purge")
		}
	}
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/a"), Soft: true})
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Pattern, "/a")})
	if n := s.Stats().Log; n != 3 {
		t.Errorf("the log has %d purges, want 3", n)
	}
}

// A sweep removes purged objects, keeps the others, and empties the log.
func TestSweep(t *testing.T) {
	s := open(t, Limits{})
	fill(t, s, get("http://h/a"), "a")
	fill(t, s, get("http://h/b"), "b")
	soft := fill(t, s, get("http://h/c"), "c")
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/a")})
	s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/c"), Soft: true})
	s.Sweep()
	if st := s.Stats(); st.Log != 0 || st.Purged != 1 || st.Softened != 1 {
		t.Errorf("after the sweep: %+v", st)
	}
	if n := s.space.Usage().Entries; n != 2 {
		t.Errorf("%d resources are stored; want 2", n)
	}
	if s.Find(get("http://h/a")).Object != nil || s.Find(get("http://h/b")).Object == nil || s.Find(get("http://h/c")).Object != soft {
		t.Error("the sweep kept the wrong responses")
	}
	if soft.Mark() != policy.Outdated {
		t.Error("the soft purge has no effect after the sweep")
	}
}

// A sweep that starts before the log is full keeps objects that were not looked up
// meanwhile.
func TestPurgesStartSweep(t *testing.T) {
	s := open(t, Limits{})
	fill(t, s, get("http://h/a"), "a")
	for i := range sweepAt {
		if err := s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, fmt.Sprint("/x", i))}); err != nil {
			t.Fatal(err)
		}
	}
	s.tasks.wg.Wait()
	if n := s.Stats().Log; n != 0 {
		t.Errorf("the log has %d purges after a sweep, want 0", n)
	}
	if s.Find(get("http://h/a")).Object == nil {
		t.Error("purges of other prefixes removed the response")
	}
}
