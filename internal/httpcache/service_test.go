package httpcache

import (
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
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
		t.Fatalf("the origin got %d requests", n)
	}
}

// TestWholeLifetime checks that a response is used until the last microsecond of its
// lifetime, and no longer, in whichever part of a second it was received.
func TestWholeLifetime(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	before := time.Now()
	s.ask("GET /a")
	after := time.Now()
	f := func(now time.Time, want telemetry.Decision) {
		t.Helper()
		var r http1.Request
		if _, err := http1.ParseRequest([]byte("GET /a HTTP/1.1\r\nHost: site\r\n\r\n"), &http1.Limits{}, &r); err != nil {
			t.Fatal(err)
		}
		x := edge.Detached(t.Context(), r, nil, now)
		s.Serve(x)
		if got := x.Record.Decision; got != want {
			t.Errorf("%s after the fetch: got %s, want %s", now.Sub(before), got, want)
		}
	}
	f(before.Add(time.Minute-time.Microsecond), telemetry.Hit)
	f(after.Add(time.Minute), telemetry.MissExpired)
}
