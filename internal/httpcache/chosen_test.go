package httpcache

import (
	"net/netip"
	"strings"
	"testing"
)

// value is what a request's head says in a field.
func value(head, name string) string {
	for line := range strings.Lines(head) {
		if n, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.EqualFold(n, name) {
			return v
		}
	}
	return "nothing"
}

// An answer was chosen by what its origin got. A client that says one thing to us and
// has another one said to the origin can't leave its answer to others.
func TestChosenByWhatOriginGot(t *testing.T) {
	const trusted, other, third = "10.0.0.1:5", "192.0.2.1:5", "192.0.2.2:5"
	// Each request is its client's address and its fields; want is what each got.
	f := func(field string, want []string, requests ...string) {
		t.Helper()
		s := newSite(t, func(a *asked) { a.ok(value(a.head, field), "Vary: "+field) }, func(c *Config) {
			c.Forwarding = Forwarding{X: true, Trust: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
		})
		for i, r := range requests {
			client, fields, _ := strings.Cut(r, " ")
			x := arrived(t, client, "GET /a HTTP/1.1\nHost: site"+strings.ReplaceAll("|"+fields, "|", "\n"))
			if fields == "" {
				x = arrived(t, client, "GET /a HTTP/1.1\nHost: site")
			}
			s.Serve(x)
			if got := string(x.Reply.Body); got != want[i] {
				t.Errorf("Vary: %s: request %d, %s, got what is for %s, not %s", field, i, r, got, want[i])
			}
		}
	}
	f("X-Lang", []string{"nothing", "de", "nothing", "de"},
		other+" X-Lang: de|Connection: X-Lang", other+" X-Lang: de", other, other+" X-Lang: de")
	f("X-Forwarded-For", []string{"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2, 10.0.0.1"},
		other, third, other+" X-Forwarded-For: 192.0.2.2", trusted+" X-Forwarded-For: 192.0.2.2")
	f("X-Forwarded-Proto", []string{"http", "https", "http"},
		other+" X-Forwarded-Proto: https", trusted+" X-Forwarded-Proto: https", other)
	f("X-Forwarded-Host", []string{"site", "shop"}, other+" X-Forwarded-Host: shop", trusted+" X-Forwarded-Host: shop")
	f("Upgrade", []string{"nothing", "nothing"}, other+" Upgrade: x", other)
	f("Accept-Language, X-Lang", []string{"nothing", "nothing"}, other+" Accept-Language: de", other+" Connection: X-Any|Accept-Language: de")
}

// A flight is for those alone who would have had the origin asked the same.
func TestFlightsByWhatOriginGets(t *testing.T) {
	came, gate := make(chan struct{}, 9), make(chan struct{})
	s := newSite(t, func(a *asked) {
		if a.n > 1 {
			came <- struct{}{}
			<-gate
		}
		a.ok(value(a.head, "X-Lang"), "Vary: X-Lang")
	})
	s.ask("GET /a", "X-Lang: en")
	bad, good := s.visit(), s.visit()
	bad.send("GET /a HTTP/1.1\nHost: site\nX-Lang: de\nConnection: X-Lang")
	<-came
	good.send("GET /a HTTP/1.1\nHost: site\nX-Lang: de")
	<-came
	close(gate)
	if g := bad.rest(bad.head(), "GET"); g.body != "nothing" {
		t.Error(g)
	}
	if g := good.rest(good.head(), "GET"); g.body != "de" {
		t.Error(g)
	}
}
