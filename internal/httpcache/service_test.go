package httpcache

import (
	"strings"
	"testing"
)

func TestMissThenHit(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello", "ETag: \"1\"", "X-Any: thing") })
	first := s.ask("GET /a?b")
	if first.status != 200 || first.body != "hello" || first.get("X-Any") != "thing" || !strings.HasPrefix(first.get("Cache-Status"), "kasoku; fwd=uri-miss; stored; ttl=") {
		t.Fatalf("first: %s", first)
	}
	second := s.ask("GET /a?b")
	if second.status != 200 || second.body != "hello" || second.get("X-Any") != "thing" ||
		!strings.HasPrefix(second.get("Cache-Status"), "kasoku; hit; ttl=") || second.get("Age") == "" || second.get("Date") != first.get("Date") {
		t.Fatalf("second: %s", second)
	}
	if n := len(s.origin.requests()); n != 1 {
		t.Fatalf("%d requests at the origin", n)
	}
}
