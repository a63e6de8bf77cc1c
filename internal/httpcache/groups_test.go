package httpcache

import (
	"fmt"
	"strings"
	"testing"
)

// A successful answer to a write invalidates the groups that it lists, on the same host.
func TestGroupsAreInvalidated(t *testing.T) {
	f := func(name, method, response string, dropped ...string) {
		t.Run(name, func(t *testing.T) {
			groups := map[string]string{"/a": `"x", "y"`, "/b": `"y"`, "/c": `"z"`, "/d": "y", "/e": ""}
			s := newSite(t, func(a *asked) {
				path := strings.Fields(a.head)[1]
				if !strings.HasPrefix(a.head, "GET ") {
					a.respond(response)
					return
				}
				a.ok("hello", "Cache-Groups: "+groups[path])
			})
			paths := []string{"/a", "/b", "/c", "/d", "/e"}
			for _, p := range paths {
				s.ask("GET " + p)
			}
			c := s.dial()
			c.send(method + " /elsewhere HTTP/1.1\nHost: site\nContent-Length: 1\n\na")
			c.rest(c.head(), "POST")
			var refetched []string
			for _, p := range paths {
				before := len(s.origin.requests())
				if s.ask("GET " + p); len(s.origin.requests()) > before {
					refetched = append(refetched, p)
				}
			}
			if fmt.Sprint(refetched) != fmt.Sprint(dropped) {
				t.Errorf("dropped %v, want %v", refetched, dropped)
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
