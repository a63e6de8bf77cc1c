package httpcache

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// value returns a field of a request's head.
func value(head, name string) string {
	for line := range strings.Lines(head) {
		if n, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.EqualFold(n, name) {
			return v
		}
	}
	return "nothing"
}

// An answer varies by the fields that the origin received. A client whose fields are forwarded
// differently can't cause a wrong answer for others.
func TestVaryByForwardedFields(t *testing.T) {
	const trusted, other, third = "10.0.0.1:5", "192.0.2.1:5", "192.0.2.2:5"
	// A request is its client's address and its fields. want has the answers.
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
				t.Errorf("Vary: %s: request %d, %s, got the answer for %s, want %s", field, i, r, got, want[i])
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

// The site that a trusted proxy specifies is part of the variant, even if the origin's Vary
// does not list the field.
func TestTrustedProxysSites(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(value(a.head, "X-Forwarded-Proto") + "://" + value(a.head, "X-Forwarded-Host")) }, func(c *Config) {
		c.Forwarding = Forwarding{X: true, Trust: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	})
	f := func(want string, requests int, client, fields string) {
		t.Helper()
		x := arrived(t, client, "GET /a HTTP/1.1\nHost: site"+fields)
		s.Serve(x)
		if got := string(x.Reply.Body); got != want || len(s.origin.requests()) != requests {
			t.Errorf("%s %q got the answer for %s, after %d requests; want %s, %d", client, fields, got, len(s.origin.requests()), want, requests)
		}
	}
	const trusted, other = "10.0.0.1:5", "192.0.2.1:5"
	f("https://site", 1, trusted, "\nX-Forwarded-Proto: https")
	f("http://site", 2, trusted, "")
	f("http://evil", 3, trusted, "\nX-Forwarded-Host: evil")
	f("https://site", 3, trusted, "\nX-Forwarded-Proto: https")
	f("http://site", 3, other, "\nX-Forwarded-Host: evil\nX-Forwarded-Proto: https")
	e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site/a"})
	if err != nil || e.Decision != "hit" {
		t.Errorf("explained as %+v, %v", e, err)
	}
	s.store.PurgeKey(context.Background(), []byte("http://site/a"))
	f("http://evil", 4, trusted, "\nX-Forwarded-Host: evil")
}

// The same is true of the elements of Forwarded.
func TestTrustedProxysForwarded(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(value(a.head, "Forwarded")) }, func(c *Config) {
		c.Forwarding = Forwarding{Standard: true, Trust: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	})
	const ours = `host="site";proto=http`
	// Each client's Forwarded is sent by 10.0.0.1; its answer was made for the client with
	// want.
	f := func(want, forwarded string) {
		t.Helper()
		head := "GET /a HTTP/1.1\nHost: site"
		if forwarded != "" {
			head += "\nForwarded: " + forwarded
		}
		x := arrived(t, "10.0.0.1:5", head)
		s.Serve(x)
		if want != "" {
			want += ", "
		}
		if got := string(x.Reply.Body); got != want+"for=10.0.0.1;"+ours {
			t.Errorf("Forwarded: %q got the answer for %s, want %s", forwarded, got, want)
		}
	}
	f("", "")
	f("for=192.0.2.1;host=a;proto=https", "for=192.0.2.1;host=a;proto=https")
	f("for=192.0.2.1;host=a;proto=https", `For="[2001:db8::1]:5";host=a;proto=https`)
	for _, other := range []string{
		"host=evil", "for=192.0.2.1;host=evil;proto=https", "for=192.0.2.1;host=a;proto=http", "for=192.0.2.1, for=192.0.2.2;host=a;proto=https",
		`for="192.0.2.1;host=evil"`, `for="192.0.2.1,host=evil";host=a`, "for=192.0.2.1 host=evil", "for", "for=192.0.2.1;prefix=/evil;host=a;proto=https",
	} {
		f(other, other)
	}
	f("", `for=192.0.2.1;host="evil`)
	f("", "")
	e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site/a", Headers: map[string]string{"Forwarded": "host=evil"}})
	if err != nil || e.Decision != "hit" {
		t.Errorf("explained as %+v, %v", e, err)
	}
	s.store.PurgeKey(context.Background(), []byte("http://site/a"))
	f("host=a", "host=a")
}

func TestProxiedHitAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates")
		return
	}
	s := newSite(t, func(a *asked) { a.ok("hello") }, func(c *Config) {
		c.Forwarding = Forwarding{X: true, Standard: true, Trust: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	})
	x := arrived(t, "10.0.0.1:5", "GET /a HTTP/1.1\nHost: site\nX-Forwarded-For: 192.0.2.1\nX-Forwarded-Host: a\nX-Forwarded-Proto: https\n"+
		`Forwarded: for="[2001:db8::1]";host=a;proto=https`)
	s.Serve(x)
	s.allocatesNothing(t, x)
}

// A request with a method override is not answered from the store, and its answer is
// not stored.
func TestMethodOverride(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	f := func(requests int, fields ...string) {
		t.Helper()
		s.ask("GET /a", fields...)
		if n := len(s.origin.requests()); n != requests {
			t.Errorf("%q: %d requests at the origin; want %d", fields, n, requests)
		}
	}
	f(1, "X-HTTP-Method-Override: DELETE")
	f(2)
	f(2)
	f(3, "x-http-method-override: GET")
	f(4, "X-HTTP-Method: PUT")
	f(5, "X-Method-Override: PUT")
	f(5)
}

// The origin gets the host of the key, since its answer is stored for all requests with that
// key.
func TestHostAsInTheKey(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(value(a.head, "Host")) })
	f := func(line, host, want string) {
		t.Helper()
		c := s.dial()
		c.send(line + " HTTP/1.1\nHost: " + host)
		if g := c.rest(c.head(), "GET"); g.body != want {
			t.Errorf("%s of %s got %q; want %q", line, host, g.body, want)
		}
	}
	f("GET /a", "SITE:80", "site")
	f("GET /b", "site:443", "site:443")
	f("GET HTTP://Shop.Example:80/c", "other", "shop.example")
	f("GET /d", "[2001:DB8::1]:80", "[2001:db8::1]")
}

// Only requests that are forwarded with the same fields share a flight.
func TestFlightPerForwardedRequest(t *testing.T) {
	received, gate := make(chan struct{}, 9), make(chan struct{})
	s := newSite(t, func(a *asked) {
		if a.n > 1 {
			received <- struct{}{}
			<-gate
		}
		a.ok(value(a.head, "X-Lang"), "Vary: X-Lang")
	})
	s.ask("GET /a", "X-Lang: en")
	bad, good := s.dial(), s.dial()
	bad.send("GET /a HTTP/1.1\nHost: site\nX-Lang: de\nConnection: X-Lang")
	<-received
	good.send("GET /a HTTP/1.1\nHost: site\nX-Lang: de")
	<-received
	close(gate)
	if g := bad.rest(bad.head(), "GET"); g.body != "nothing" {
		t.Error(g)
	}
	if g := good.rest(good.head(), "GET"); g.body != "de" {
		t.Error(g)
	}
}
