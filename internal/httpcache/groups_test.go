package httpcache

import (
	"fmt"
	"strings"
	"testing"
)

// A success that names groups takes with it what is in them, on the same host.
func TestGroupsAreInvalidated(t *testing.T) {
	f := func(name, method, say string, dropped ...string) {
		t.Run(name, func(t *testing.T) {
			groups := map[string]string{"/a": `"x", "y"`, "/b": `"y"`, "/c": `"z"`, "/d": "y", "/e": ""}
			s := newSite(t, func(a *asked) {
				path := strings.Fields(a.head)[1]
				if !strings.HasPrefix(a.head, "GET ") {
					a.say(say)
					return
				}
				a.ok("hello", "Cache-Groups: "+groups[path])
			})
			paths := []string{"/a", "/b", "/c", "/d", "/e"}
			for _, p := range paths {
				s.ask("GET " + p)
			}
			c := s.visit()
			c.send(method + " /elsewhere HTTP/1.1\nHost: site\nContent-Length: 1\n\na")
			c.rest(c.head(), "POST")
			var gone []string
			for _, p := range paths {
				before := len(s.origin.requests())
				if s.ask("GET " + p); len(s.origin.requests()) > before {
					gone = append(gone, p)
				}
			}
			if fmt.Sprint(gone) != fmt.Sprint(dropped) {
				t.Errorf("dropped %v, want %v", gone, dropped)
			}
		})
	}
	const ok, groups = "HTTP/1.1 200 OK\nContent-Length: 0\n", "Cache-Group-Invalidation: "
	f("one", "POST", ok+groups+"\"x\"\n\n", "/a")
	f("two", "PUT", ok+groups+"\"y\", \"z\"\n\n", "/a", "/b", "/c")
	f("none", "POST", ok+groups+"\"w\"\n\n")
	f("malformed", "POST", ok+groups+"\"y\", z\n\n")
	f("failed", "POST", "HTTP/1.1 400 Bad Request\nContent-Length: 0\n"+groups+"\"y\"\n\n")
	f("safe", "OPTIONS", ok+groups+"\"y\"\n\n")
}

func TestGroupsOfOtherHosts(t *testing.T) {
	a, b := get("http://a/x"), get("http://b/x")
	for _, q := range []*Query{a, b} {
		if h := head(q, "Cache-Groups", `"g"`).grouped(q.Key); len(h.Tags.slots) != 1 {
			t.Errorf("%s: tags %v", q.Key, h.Tags)
		}
	}
	if groupSlot(a.Key, "g") == groupSlot(b.Key, "g") || groupSlot(a.Key, "g") == groupSlot(a.Key, "h") {
		t.Error("groups of two hosts, or two groups, are one")
	}
	if string(a.Key) != "http://a/x" {
		t.Errorf("the key has become %q", a.Key)
	}
	many := `"g"` + strings.Repeat(`, "h"`, mostTags)
	if h := head(a, "Cache-Groups", many).grouped(a.Key); !h.Tags.any {
		t.Error("too many groups to tell apart don't stand for all")
	}
}
