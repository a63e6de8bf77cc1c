package httpcache

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// hits are requests that a stored response answers.
var hits = map[string]string{
	"plain":       "GET /a HTTP/1.1\r\nHost: site\r\nUser-Agent: any\r\nAccept: */*\r\nAccept-Encoding: gzip\r\nConnection: keep-alive\r\n\r\n",
	"head":        "HEAD /a HTTP/1.1\r\nHost: site\r\n\r\n",
	"conditional": "GET /a HTTP/1.1\r\nHost: site\r\nIf-None-Match: \"1\"\r\n\r\n",
	"long":        "GET /l HTTP/1.1\r\nHost: site\r\nAccept-Encoding: gzip\r\n\r\n",
	"vary":        "GET /v HTTP/1.1\r\nHost: site\r\nAccept-Language: en\r\nAccept-Encoding: gzip, br\r\n\r\n",
}

// filled returns a site with a stored response, and an exchange that is a hit.
func filled(t testing.TB, text string) (*site, *edge.Exchange) {
	s := newSite(t, func(a *asked) {
		switch a.head[5] {
		case 'v':
			a.ok("hello", "ETag: \"1\"", "Vary: Accept-Language, Accept-Encoding")
		case 'l':
			a.ok(strings.Repeat("hello", 40_000), "ETag: \"1\"")
		default:
			a.ok("hello", "ETag: \"1\"", "Content-Type: text/plain")
		}
	})
	s.ask("GET /a")
	s.ask("GET /l")
	s.ask("GET /v", "Accept-Language: en", "Accept-Encoding: gzip, br")
	var r http1.Request
	if _, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil {
		t.Fatal(err)
	}
	return s, edge.Detached(t.Context(), r, nil, time.Now())
}

func TestHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	for name, text := range hits {
		t.Run(name, func(t *testing.T) {
			s, x := filled(t, text)
			s.allocatesNothing(t, x)
			if inPages := x.Reply.Pages.Holds(x.Reply.Body); inPages != (name == "long" && runtime.GOOS == "linux") {
				t.Errorf("the body is in pages: %v", inPages)
			}
		})
	}
}

// allocatesNothing fails unless x is a hit that allocates nothing.
func (s *site) allocatesNothing(t *testing.T, x *edge.Exchange) {
	t.Helper()
	f := func() {
		x.Reply.Reset()
		s.Serve(x)
	}
	f()
	if got := x.Record.Decision.String(); got != "hit" {
		t.Fatalf("the decision is %s, want hit", got)
	}
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHit(b *testing.B) {
	for name, text := range hits {
		b.Run(name, func(b *testing.B) {
			s, x := filled(b, text)
			b.ReportAllocs()
			for b.Loop() {
				x.Reply.Reset()
				s.Serve(x)
			}
		})
	}
}
