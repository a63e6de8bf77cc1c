package key

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	f := func(pattern, path, want string) {
		t.Helper()
		p, err := ParsePath(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var c Captures
		got := "no"
		if p.Match([]byte(path), &c) {
			got = "yes"
			for i, name := range p.Names() {
				got += " " + name + "=" + string(c[i])
			}
		}
		if got != want {
			t.Errorf("%s on %s: got %s, want %s", pattern, path, got, want)
		}
	}
	f("/count", "/count", "yes")
	f("/count", "/count/", "no")
	f("/count", "/counts", "no")
	f("/count", "/", "no")
	f("/count", "", "no")
	f("/", "/", "yes")
	f("/", "/a", "no")
	f("/count/", "/count/", "yes")
	f("/count/", "/count", "no")
	f("/users/{id}", "/users/7", "yes id=7")
	f("/users/{id}", "/users/", "no")
	f("/users/{id}", "/users/7/", "no")
	f("/users/{id}", "/users/7/8", "no")
	f("/users/{id}", "/users", "no")
	f("/users/{id}", "/users/a%2Fb", "yes id=a%2Fb")
	f("/users/{id}/name", "/users/7/name", "yes id=7")
	f("/users/{id}/name", "/users/7/nam", "no")
	f("/{a}/{b}", "/1/2", "yes a=1 b=2")
	f("/{a}/{b}", "/1", "no")
	f("/pages/{rest...}", "/pages/a/b/", "yes rest=a/b/")
	f("/pages/{rest...}", "/pages/", "yes rest=")
	f("/pages/{rest...}", "/pages", "no")
	f("/{site}/{rest...}", "/s/", "yes site=s rest=")
	f("/{rest...}", "/", "yes rest=")
	f("/{rest...}", "*", "no")
}

func TestPathMistakes(t *testing.T) {
	f := func(pattern, what string, at int) {
		t.Helper()
		_, err := ParsePath(pattern)
		var e *Error
		if !errors.As(err, &e) || e.At != at || !strings.Contains(e.What, what) {
			t.Errorf("%s: got the error %v, want %q at %d", pattern, err, what, at)
		}
	}
	f("", "begins with a slash", 0)
	f("count", "begins with a slash", 0)
	f("/count?x", "before the query", 6)
	f("/a b", "printable ASCII", 2)
	f("/{}", "name has letters", 2)
	f("/{a.b}", "name has letters", 2)
	f("/x/{a", "whole segment", 3)
	f("/x/y{a}", "whole segment", 4)
	f("/x/{a}y", "whole segment", 3)
	f("/x/a}", "whole segment", 4)
	f("/{a...}/b", "nothing can follow", 8)
	f("/{a}/{a}", "two captures called a", 6)
	f("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", "at most 8", 33)
}

func TestMatchAllocates(t *testing.T) {
	p, err := ParsePath("/users/{id}/name/{rest...}")
	if err != nil {
		t.Fatal(err)
	}
	path := []byte("/users/7/name/a/b")
	var c Captures
	if n := testing.AllocsPerRun(100, func() {
		if !p.Match(path, &c) {
			t.Fatal("no match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBefore(t *testing.T) {
	f := func(first, second string, want bool) {
		t.Helper()
		p, err := ParsePath(first)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ParsePath(second)
		if err != nil {
			t.Fatal(err)
		}
		if p.Before(q) != want || want && q.Before(p) {
			t.Errorf("%s before %s: got %v, reversed %v; want %v", first, second, p.Before(q), q.Before(p), want)
		}
	}
	f("/a/{x}", "/{x}/b", true)
	f("/a/{x}", "/a/{x...}", true)
	f("/a/b/{x...}", "/a/{x...}", true)
	f("/a/{x}/c", "/a/{x...}", true)
	f("/a/{x}/{y...}", "/{x...}", true)
	f("/a/{x}", "/b/{x}", false)
	f("/a/{x}", "/a/{y}", false)
	f("/{x...}", "/a/{x}", false)
}
