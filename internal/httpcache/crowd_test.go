package httpcache

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// crowd sends n equal requests at the same time and returns the answers.
func (s *site) crowd(n int, line string, fields ...string) []*got {
	all := make([]*got, n)
	var wg sync.WaitGroup
	for i := range n {
		c := s.dial()
		wg.Go(func() { all[i] = c.ask(line, fields...) })
	}
	wg.Wait()
	return all
}

// waitFor waits for a condition that other goroutines fulfil.
func waitFor(t testing.TB, reached func() bool) {
	t.Helper()
	if !await.Until(t, reached) {
		t.FailNow()
	}
}

// closeWhen closes gate when the condition is true, or after a timeout.
func closeWhen(t testing.TB, gate chan struct{}, when func() bool) {
	go func() {
		defer close(gate)
		await.Until(t, when)
	}()
}

// stale is the head of an answer that is stored and stale from the start.
const stale = "HTTP/1.1 200 OK\nCache-Control: max-age=60\nAge: 1000\nETag: \"1\"\nContent-Length: 5\n"

// The origin is asked once for any number of requests, to fetch or to validate.
func TestOneRequestForAll(t *testing.T) {
	const clients = 1000
	f := func(name string, before, response string, fields ...string) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newSite(t, func(a *asked) {
				if before != "" && a.n == 1 {
					a.respond(before)
					return
				}
				<-gate
				a.respond(response)
			})
			asked := 1
			if before != "" {
				s.ask("GET /a", fields...)
				asked++
			}
			closeWhen(t, gate, func() bool { return s.Stats().Joined == clients-1 })
			for i, g := range s.crowd(clients, "GET /a", fields...) {
				if g.status != 200 || g.body != "hello" || g.cut {
					t.Fatalf("client %d: %s", i, g)
				}
			}
			if n := len(s.origin.requests()); n != asked {
				t.Errorf("the origin got %d requests, want %d", n, asked)
			}
		})
	}
	f("fresh", "", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 5\n\nhello")
	f("chunks", "", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n")
	f("vary", "", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nVary: X-A\nContent-Length: 5\n\nhello", "X-A: b")
	f("validation", stale+"\nhello", "HTTP/1.1 304 Not Modified\nCache-Control: max-age=60\nETag: \"1\"\n\n")
	f("replaced", stale+"\nolder", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 5\n\nhello")
}

// Requests for the whole share one fetch although a part is stored.
func TestOneRequestBesideAPart(t *testing.T) {
	const clients = 50
	f := func(part string) {
		t.Helper()
		gate := make(chan struct{})
		s := newSite(t, func(a *asked) {
			if a.n == 1 {
				a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nContent-Length: 2\n" + part)
				return
			}
			<-gate
			a.ok("hello", `ETag: "1"`)
		})
		s.ask("GET /a", "Range: bytes=0-1")
		before := s.Stats().Joined
		closeWhen(t, gate, func() bool { return s.Stats().Joined >= before+clients-1 })
		for _, g := range s.crowd(clients, "GET /a") {
			if g.body != "hello" {
				t.Fatal(g)
			}
		}
		if n := len(s.origin.requests()); n != 2 {
			t.Errorf("%s: the origin got %d requests, want 2", part, n)
		}
	}
	f("Content-Range: bytes 2-3/5\n\nll")
	f("Content-Range: bytes 0-1/5\n\nhe")
}

// Requests that need another variant than the first answer share one fetch for each variant.
func TestOneRequestForEachVariant(t *testing.T) {
	const each = 100
	languages := []string{"de", "fr", "it"}
	s := (*site)(nil)
	ready := make(chan struct{})
	s = newSite(t, func(a *asked) {
		<-ready
		joined := uint64(len(languages)*each - 1)
		if a.n > 1 {
			joined += uint64((len(languages) - 1) * (each - 1))
		}
		await.Until(t, func() bool { return s.Stats().Joined == joined || t.Failed() })
		for _, l := range languages {
			if strings.Contains(a.head, "Accept-Language: "+l+"\n") {
				a.ok(l, "Vary: Accept-Language")
			}
		}
	})
	close(ready)
	var wg sync.WaitGroup
	for _, l := range languages {
		wg.Go(func() {
			for _, g := range s.crowd(each, "GET /a", "Accept-Language: "+l) {
				if g.status != 200 || g.body != l {
					t.Errorf("%s: got %s", l, g)
				}
			}
		})
	}
	wg.Wait()
	if n := len(s.origin.requests()); n != len(languages) {
		t.Errorf("the origin got %d requests, want %d", n, len(languages))
	}
}

// Requests that waited for an answer that cannot be shared are then sent to the origin at the
// same time. Later requests do not wait.
func TestUnsharedAnswersAreFetchedInParallel(t *testing.T) {
	const clients = 100
	f := func(name, response string) {
		t.Run(name, func(t *testing.T) {
			gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
			s := newSite(t, func(a *asked) {
				<-gates[min(a.n-1, 1)+a.n/(clients+1)]
				a.respond(response)
			})
			// The other requests are answered only after all of them have reached the origin.
			go func() {
				await.Until(t, func() bool { return s.Stats().Joined == clients-1 })
				close(gates[0])
				await.Until(t, func() bool { return len(s.origin.requests()) == clients })
				close(gates[1])
			}()
			want := strings.Fields(response)[1]
			for i, g := range s.crowd(clients, "GET /a") {
				if fmt.Sprint(g.status) != want || g.body != "hello" {
					t.Fatalf("client %d: %s", i, g)
				}
			}
			joined := s.Stats().Joined
			closeWhen(t, gates[2], func() bool { return len(s.origin.requests()) == 2*clients })
			s.crowd(clients, "GET /a")
			if now := s.Stats().Joined; now != joined {
				t.Errorf("%d of the second requests waited, want 0", now-joined)
			}
		})
	}
	f("private", "HTTP/1.1 200 OK\nCache-Control: private, max-age=60\nContent-Length: 5\n\nhello")
	f("no-store", "HTTP/1.1 200 OK\nCache-Control: no-store\nContent-Length: 5\n\nhello")
	f("500", "HTTP/1.1 500 Internal Server Error\nContent-Length: 5\n\nhello")
	f("without freshness", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello")
}

// While one request validates in the background, all get the stale response.
func TestStaleWhileRevalidate(t *testing.T) {
	gate := make(chan struct{})
	s := newSite(t, func(a *asked) {
		if a.n == 1 {
			a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60, stale-while-revalidate=3600\nAge: 100\nETag: \"1\"\nContent-Length: 5\n\nolder")
			return
		}
		<-gate
		a.ok("newer")
	})
	s.ask("GET /a")
	for i, g := range s.crowd(100, "GET /a") {
		if g.body != "older" || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit; detail=stale-while-revalidate; ttl=-") {
			t.Fatalf("client %d: %s", i, g)
		}
	}
	close(gate)
	waitFor(t, func() bool { return s.Stats().Running == 0 })
	if g := s.ask("GET /a"); g.body != "newer" || len(s.origin.requests()) != 2 {
		t.Fatalf("then: %s, %d requests", g, len(s.origin.requests()))
	}
	if h := s.origin.requests()[1]; !strings.Contains(h, "If-None-Match: \"1\"\n") {
		t.Errorf("the refresh is not conditional:\n%s", h)
	}
}

// Requests that waited for a fetch that failed without an answer share one more fetch. If
// that fails too, all of them get the error.
func TestOneRetryForAll(t *testing.T) {
	const clients = 200
	f := func(name, second, third string, first, others int) {
		t.Run(name, func(t *testing.T) {
			s := (*site)(nil)
			ready := make(chan struct{})
			s = newSite(t, func(a *asked) {
				<-ready
				if a.n == 1 {
					await.Until(t, func() bool { return s.Stats().Joined == clients-1 })
					a.raw(second)
					a.conn.Close()
					return
				}
				a.raw(third)
				a.conn.Close()
			}, func(c *Config) { c.UncacheableTTL = 0 })
			close(ready)
			by := map[int]int{}
			for _, g := range s.crowd(clients, "GET /a") {
				by[g.status]++
			}
			if n := len(s.origin.requests()); by[first] < 1 || by[others] < clients-1 || n != 2 {
				t.Errorf("got %v answers by status after %d requests to the origin; want one %d, the others %d, after 2", by, n, first, others)
			}
		})
	}
	ok := "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhello"
	f("no answer", "", ok, 502, 200)
	f("no HTTP", "oh\r\n\r\n", ok, 502, 200)
	f("part of a head", "HTTP/1.1 200 OK\r\nCache-Con", ok, 502, 200)
	f("no answer to either", "", "", 502, 502)
}

// If a stale response may be used, the fetch is not repeated.
func TestNoRetryWithStaleResponse(t *testing.T) {
	const clients = 50
	s := (*site)(nil)
	ready := make(chan struct{})
	s = newSite(t, func(a *asked) {
		<-ready
		if a.n == 1 {
			a.respond(stale + "\nhello")
			return
		}
		await.Until(t, func() bool { return s.Stats().Joined == clients-1 })
		a.conn.Close()
	})
	close(ready)
	s.ask("GET /a")
	for _, g := range s.crowd(clients, "GET /a") {
		if g.status != 200 || g.body != "hello" {
			t.Fatal(g)
		}
	}
	if n := len(s.origin.requests()); n > 3 { // one is repeated as its reused connection was closed
		t.Errorf("the origin got %d requests", n)
	}
}

// When the client that started a flight disconnects, the others still get the answer.
func TestStarterLeaves(t *testing.T) {
	const clients = 50
	f := func(name, response string) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newSite(t, func(a *asked) {
				<-gate
				a.respond(response)
			})
			starter := s.dial()
			starter.send("GET /a HTTP/1.1\nHost: site")
			waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
			go func() {
				defer close(gate)
				await.Until(t, func() bool { return s.Stats().Joined == clients })
				starter.Close()
				await.Until(t, func() bool { return s.server.Open() == clients })
			}()
			for _, g := range s.crowd(clients, "GET /a") {
				if g.status != 200 || g.body != "hello" || g.cut {
					t.Fatal(g)
				}
			}
			if n := len(s.origin.requests()); n != 1 {
				t.Errorf("the origin got %d requests", n)
			}
		})
	}
	f("length", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 5\n\nhello")
	f("chunks", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n")
}
