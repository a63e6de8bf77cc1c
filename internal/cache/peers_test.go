//go:build !kasokubroken

package cache

import (
	"context"
	"errors"
	"testing"
	"time"
)

// fakePeers answers with a function, and counts the questions.
type fakePeers struct {
	fetch func() (Shared, bool)
	asked int
	// stored is the number of questions for stored answers.
	stored int
}

func (p *fakePeers) Fetch(_ context.Context, service string, key, request []byte) (Shared, bool) {
	p.asked++
	if service != "orders" || string(key) != "k" || string(request) != "r" {
		return Shared{}, false
	}
	return p.fetch()
}

func (p *fakePeers) FetchStored(ctx context.Context, service string, key, request []byte) (Shared, bool) {
	p.stored++
	return p.Fetch(ctx, service, key, request)
}

func (p *fakePeers) FetchAll(ctx context.Context, service string, request []byte) []Shared {
	if s, ok := p.Fetch(ctx, service, []byte("k"), request); ok {
		return []Shared{s, s}
	}
	return nil
}

func (p *fakePeers) Owns(key []byte) bool { return string(key) == "own" }

func (p *fakePeers) Owner(key []byte) string { return "owner of " + string(key) }

// The owner is asked before the origin, except during writes.
func TestAskFirst(t *testing.T) {
	const hour = time.Hour
	answer := func(kind uint8, ttl, takes time.Duration) func() (Shared, bool) {
		return func() (Shared, bool) {
			pass(takes)
			return Shared{Payload: []byte("shared"), Kind: kind, TTL: ttl}, true
		}
	}
	for name, c := range map[string]struct {
		fetch func() (Shared, bool)
		write bool
		asked int
		want  string
		ttl   time.Duration
	}{
		"answer":              {answer(1, hour, 0), false, 1, "shared", hour},
		"own limit":           {answer(1, 9*hour, 0), false, 1, "shared", 2 * hour},
		"slow":                {answer(1, hour, time.Minute), false, 1, "shared", hour - time.Minute},
		"expired on its way":  {answer(1, time.Minute, time.Minute), false, 1, "origin", 3 * hour},
		"not of use":          {answer(2, hour, 0), false, 1, "origin", 3 * hour},
		"declined":            {func() (Shared, bool) { return Shared{}, false }, false, 1, "origin", 3 * hour},
		"while a write is on": {answer(1, hour, 0), true, 0, "origin", 3 * hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, cc *Cache, s *Space) {
				p := &fakePeers{fetch: c.fetch}
				cc.SetPeers(p)
				q := Query{Service: "orders", Key: []byte("k"), Request: []byte("r"), Use: func(s Shared) (Filling, bool) {
					return Filling{Payload: s.Payload, TTL: 2 * hour}, s.Kind == 1
				}}
				if c.write {
					defer commit(begin(cc, tags("item"), nil), Change{})
				}
				a, err := s.Fill(background, []byte("x"), tags("item"), cc.AskFirst(q, func(context.Context, *Stamp) (Filling, error) {
					return Filling{Payload: []byte("origin"), TTL: 3 * hour}, nil
				}))
				if err != nil {
					t.Fatal(err)
				}
				if got := string(a.Entry.Payload()); got != c.want || a.Stored == c.write || p.asked != c.asked {
					t.Errorf("got %q, stored %v, %d questions; want %q, %d", got, a.Stored, p.asked, c.want, c.asked)
				}
				if got := a.Entry.TTL(cc.Now()); got != c.ttl {
					t.Errorf("got %s to live, want %s", got, c.ttl)
				}
			})
		})
	}
}

// Without peers a fill is not wrapped.
func TestAskFirstWithoutPeers(t *testing.T) {
	c, _ := open(t, Config{})
	called := false
	f := c.AskFirst(Query{}, func(context.Context, *Stamp) (Filling, error) { called = true; return Filling{}, nil })
	if _, err := f(background, &Stamp{Settled: true}); err != nil || !called || c.HasPeers() || c.Owner([]byte("k")) != "" || !c.Owns([]byte("k")) {
		t.Error("a peer is asked, and there is none")
	}
	c.SetPeers(&fakePeers{})
	if got := c.Owner([]byte("k")); got != "owner of k" || !c.HasPeers() || c.Owns([]byte("k")) || !c.Owns([]byte("own")) {
		t.Errorf("got owner %q", got)
	}
}

// All other members are asked, except without peers and during an announcement.
func TestAskAll(t *testing.T) {
	c, _ := open(t, Config{})
	if got := c.AskAll(background, "orders", []byte("r")); got != nil {
		t.Errorf("got %v without peers", got)
	}
	p := &fakePeers{fetch: func() (Shared, bool) { return Shared{Payload: []byte("x")}, true }}
	c.SetPeers(p)
	if got := c.AskAll(background, "orders", []byte("r")); len(got) != 2 || string(got[1].Payload) != "x" {
		t.Errorf("got %v", got)
	}
	end := c.BeginAnnouncement()
	if got := c.AskAll(background, "orders", []byte("r")); got != nil || p.asked != 1 {
		t.Errorf("got %v during an announcement, %d questions", got, p.asked)
	}
	end()
	if got := c.AskAll(background, "orders", []byte("r")); len(got) != 2 {
		t.Errorf("got %v after it", got)
	}
}

// Share gives others what is stored, or can be, and nothing else.
func TestShare(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		fails := errors.New("fails")
		fills := 0
		share := func(f Filling, err error) (Shared, bool) {
			return s.Share(background, []byte("x"), tags("item"), func(context.Context, *Stamp) (Filling, error) {
				fills++
				return f, err
			})
		}
		good := Filling{Payload: []byte("1"), Kind: 3, TTL: time.Hour}
		if _, ok := share(Filling{}, fails); ok {
			t.Error("an error is shared")
		}
		if _, ok := share(Filling{Payload: []byte("1"), TTL: time.Hour, NoStore: true}, nil); ok {
			t.Error("an answer is shared that is not stored")
		}
		fills = 0
		w := begin(c, tags("item"), nil)
		if _, ok := share(good, nil); ok || fills > 0 {
			t.Errorf("during a write: shared %v after %d fills", ok, fills)
		}
		commit(w, Change{})
		got, ok := share(good, nil)
		if !ok || string(got.Payload) != "1" || got.Kind != 3 || got.Hit || got.TTL != time.Hour {
			t.Errorf("a fill: got %+v, %v", got, ok)
		}
		pass(time.Minute)
		if got, ok = share(good, fails); !ok || !got.Hit || got.TTL != 59*time.Minute {
			t.Errorf("a hit: got %+v, %v", got, ok)
		}
		c.SetLease(0)
		if _, ok := share(good, nil); ok {
			t.Error("an answer is shared without a lease")
		}
	})
}

// Requests of other members reach the service of the same name.
func TestOnFetch(t *testing.T) {
	c, _ := open(t, Config{})
	ask := func(service string) bool {
		s, ok := c.Answer(background, service, []byte("r"))
		return ok && string(s.Payload) == "r of "+service
	}
	on := func(name string) func() {
		return c.OnFetch(name, func(_ context.Context, request []byte) (Shared, bool) {
			return Shared{Payload: append(request, " of "+name...)}, true
		})
	}
	removeA, removeB := on("a"), on("b")
	if !ask("a") || !ask("b") || ask("c") {
		t.Error("a request reaches another service")
	}
	removeA()
	if ask("a") || !ask("b") {
		t.Error("a removed service answers, or another one does not")
	}
	on("b")
	removeB()
	if !ask("b") {
		t.Error("the removal of a service removes its successor")
	}
}

// A fill on behalf of another member asks for stored answers only.
func TestAskStored(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		p := &fakePeers{fetch: func() (Shared, bool) { return Shared{Payload: []byte("shared"), TTL: time.Hour}, true }}
		fill := func(context.Context, *Stamp) (Filling, error) {
			return Filling{Payload: []byte("origin"), TTL: time.Hour}, nil
		}
		n := byte(0)
		ask := func(service string) string {
			n++
			q := Query{Service: service, Key: []byte("k"), Request: []byte("r"), Use: useAll}
			a, err := s.Fill(t.Context(), []byte{n}, tags("item"), c.AskStored(q, fill))
			if err != nil {
				t.Fatal(err)
			}
			return string(a.Entry.Payload())
		}
		if got := ask("orders"); got != "origin" || p.asked != 0 {
			t.Errorf("got %s without peers, asked %d times", got, p.asked)
		}
		c.SetPeers(p)
		if got := ask("orders"); got != "shared" || p.stored != 1 {
			t.Errorf("got %s, asked %d times", got, p.stored)
		}
		if got := ask("other"); got != "origin" || p.asked != 2 || p.stored != 2 {
			t.Errorf("got %s, asked %d times, %d for stored answers", got, p.asked, p.stored)
		}
	})
}

// While an invalidation is announced, no other member is asked.
func TestAnnouncement(t *testing.T) {
	c, _ := open(t, Config{})
	p := &fakePeers{fetch: func() (Shared, bool) { return Shared{Payload: []byte("peer")}, true }}
	ask := func() bool {
		_, ok := c.AskOwner(background, "orders", []byte("k"), []byte("r"))
		return ok
	}
	if ask() {
		t.Error("an answer without peers")
	}
	c.SetPeers(p)
	first, second := c.BeginAnnouncement(), c.BeginAnnouncement()
	for _, end := range []func(){first, second} {
		if ask() || p.asked != 0 {
			t.Errorf("a peer was asked during an announcement")
		}
		end()
	}
	if !ask() || p.asked != 1 {
		t.Errorf("%d questions after all announcements", p.asked)
	}
}
