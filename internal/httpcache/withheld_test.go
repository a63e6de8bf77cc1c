package httpcache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// personal is the head of an answer with fields for the first client only.
const personal = "HTTP/1.1 200 OK\nCache-Control: max-age=60, private=\"X-User\", no-cache=\"X-Turn\"\nETag: \"1\"\n" +
	"X-User: alice\nX-Turn: 1\nSet-Cookie: id=alice\nX-All: yes\n"

func strip(c *Config) { c.Policy.SetCookie = policy.StripCookies }

func storeCookies(c *Config) { c.Policy.SetCookie = policy.StoreCookies }

func asByDefault(*Config) {}

// An answer with a cookie is for one client. A waiting client's request is then sent to the
// origin, and gets its own cookie.
func TestCookieIsNotForWaiters(t *testing.T) {
	f := func(framed string) {
		t.Helper()
		received, gate := make(chan struct{}, 9), make(chan struct{})
		s := newSite(t, func(a *asked) {
			received <- struct{}{}
			<-gate
			a.raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nSet-Cookie: id=%d\r\n", a.n) + framed)
		})
		alice, bob := s.dial(), s.dial()
		alice.send("GET /a HTTP/1.1\nHost: site\n")
		<-received
		bob.send("GET /a HTTP/1.1\nHost: site\n")
		waitFor(t, func() bool { return s.Stats().Joined == 1 })
		close(gate)
		first := alice.rest(alice.head(), "GET")
		second := bob.rest(bob.head(), "GET")
		if first.get("Set-Cookie") != "id=1" || second.get("Set-Cookie") != "id=2" || second.body != "hello" {
			t.Errorf("alice got %s\nbob got %s", first, second)
		}
	}
	f("Content-Length: 5\r\n\r\nhello")
	f("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
}

// forAll checks that an answer has no field of alice's.
func (g *got) forAll(t *testing.T, how string) {
	t.Helper()
	if strings.Contains(written(g.fields), "alice") || g.get("X-Turn") != "" || g.get("X-All") != "yes" {
		t.Errorf("%s: got %s", how, g)
	}
}

// A field that the origin or the configuration hides from hits is sent to the client that
// fetched it only, even after a validation or to a waiting request.
func TestWithheldFields(t *testing.T) {
	s := newSite(t, func(a *asked) {
		switch {
		case a.n == 1:
			a.respond(personal + "Content-Length: 5\n\nhello")
		case strings.HasPrefix(a.head, "HEAD"):
			a.respond("HTTP/1.1 200 OK\nETag: \"1\"\n\n")
		default:
			a.respond("HTTP/1.1 304 Not Modified\nETag: \"1\"\n\n")
		}
	}, strip)
	if g := s.ask("GET /a"); g.get("X-User") != "alice" || g.get("Set-Cookie") != "id=alice" {
		t.Errorf("alice got %s", g)
	}
	s.ask("GET /a").forAll(t, "a hit")
	s.ask("GET /a", "Cache-Control: no-cache").forAll(t, "a 304")
	s.ask("GET /a", "Cache-Control: no-cache", "Range: bytes=0-1").forAll(t, "a range after a 304")
	s.ask("HEAD /a", "Cache-Control: no-cache")
	s.ask("GET /a").forAll(t, "a hit after a HEAD")
}

func TestWithheldFromWaiters(t *testing.T) {
	f := func(response string, fields ...string) {
		t.Helper()
		received, gate := make(chan struct{}, 9), make(chan struct{})
		s := newSite(t, func(a *asked) {
			received <- struct{}{}
			<-gate
			a.raw(strings.ReplaceAll(response, "\n", "\r\n"))
		}, strip)
		alice, bob := s.dial(), s.dial()
		alice.send("GET /a HTTP/1.1\nHost: site")
		<-received
		bob.send("GET /a HTTP/1.1\nHost: site\n" + strings.TrimSuffix(joined(fields), "\n"))
		waitFor(t, func() bool { return s.Stats().Joined == 1 })
		close(gate)
		if g := alice.rest(alice.head(), "GET"); g.get("X-User") != "alice" || g.get("Set-Cookie") != "id=alice" {
			t.Errorf("alice got %s", g)
		}
		bob.rest(bob.head(), "GET").forAll(t, response+strings.Join(fields, ", "))
	}
	f(personal + "Content-Length: 5\n\nhello")
	f(personal + "Transfer-Encoding: chunked\n\n5\nhello\n0\n\n")
	f(personal + "Content-Length: 0\n\n")
	f(personal+"Content-Length: 5\n\nhello", "Range: bytes=1-2")
	f(personal+"Content-Length: 5\n\nhello", `If-None-Match: "1"`)
}

// Of two clients that wait for the same validation, the 304's own fields are for the
// first.
func TestWithheldAfterValidation(t *testing.T) {
	t.Run("strip", func(t *testing.T) { checkWithheldAfterValidation(t, strip) })
	t.Run("default", func(t *testing.T) { checkWithheldAfterValidation(t, asByDefault) })
}

// checkWithheldAfterValidation runs TestWithheldAfterValidation with a configuration.
func checkWithheldAfterValidation(t *testing.T, choice func(*Config)) {
	received, gate := make(chan struct{}, 9), make(chan struct{})
	s := newSite(t, func(a *asked) {
		if a.n == 1 {
			a.respond(stale + "X-All: yes\n\nhello")
			return
		}
		received <- struct{}{}
		<-gate
		a.respond("HTTP/1.1 304 Not Modified\nCache-Control: max-age=60\nETag: \"1\"\nSet-Cookie: id=alice\n\n")
	}, choice)
	s.ask("GET /a")
	alice, bob := s.dial(), s.dial()
	alice.send("GET /a HTTP/1.1\nHost: site")
	<-received
	bob.send("GET /a HTTP/1.1\nHost: site")
	waitFor(t, func() bool { return s.Stats().Joined == 1 })
	close(gate)
	if g := alice.rest(alice.head(), "GET"); g.get("Set-Cookie") != "id=alice" {
		t.Errorf("alice got %s", g)
	}
	g := bob.rest(bob.head(), "GET")
	g.forAll(t, "a 304 for another")
	if g.get("Age") == "" {
		t.Errorf("the waiting client's answer has no Age: %s", g)
	}
}

// A range request that waits for the validation of a response that is no longer stored gets
// its answer.
func TestRangeWaitsForValidation(t *testing.T) {
	received, gate := make(chan struct{}, 9), make(chan struct{})
	s := newSite(t, func(a *asked) {
		if a.n == 1 {
			a.respond(stale + "\nhello")
			return
		}
		received <- struct{}{}
		<-gate
		a.respond("HTTP/1.1 304 Not Modified\nCache-Control: max-age=60\nETag: \"1\"\n\n")
	})
	s.ask("GET /a")
	first, second := s.dial(), s.dial()
	first.send("GET /a HTTP/1.1\nHost: site")
	<-received
	key := []byte("http://site/a")
	s.store.Drop(key, s.store.Find(&store.Query{Key: key, Options: &options}).Object)
	second.send("GET /a HTTP/1.1\nHost: site\nRange: bytes=1-2")
	waitFor(t, func() bool { return s.Stats().Joined == 1 })
	close(gate)
	if g := second.rest(second.head(), "GET"); g.status != 206 || g.body != "el" || s.metrics.faults.Value() != 0 {
		t.Errorf("got %s with %d faults, want a 206 without faults", g, s.metrics.faults.Value())
	}
}
