//go:build !kasokubroken

package cache

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// put stores a value under a key for an hour, and under the tag of that name.
func (s *Space) put(t *testing.T, key, value string) {
	t.Helper()
	if _, ok := s.Store(s.cache.Note(tags(key)...), []byte(key), &Filling{Payload: []byte(value), TTL: time.Hour}); !ok {
		t.Fatalf("%s is not stored", key)
	}
}

// useAll stores an answer for two hours at most.
func useAll(a Shared) (Filling, bool) {
	return Filling{Payload: a.Payload, Kind: a.Kind, TTL: 2 * time.Hour}, true
}

func TestExpect(t *testing.T) {
	answer := Shared{Payload: []byte("theirs"), Kind: 3, TTL: time.Hour}
	for _, c := range []struct {
		name      string
		before    func(c *Cache, s *Space) // Expect is called
		meanwhile func(c *Cache, s *Space) // the other member is asked
		want      string                   // "" for nothing
	}{
		{"nothing happens", nil, nil, "theirs 59m59s"},
		{"stored already", func(_ *Cache, s *Space) { s.put(t, "k", "ours") }, nil, "ours 1h0m0s"},
		{"expired entry", func(_ *Cache, s *Space) { s.put(t, "k", "ours"); pass(2 * time.Hour) }, nil, "theirs 59m59s"},
		{"write in flight", func(c *Cache, _ *Space) { begin(c, tags("k"), nil) }, nil, ""},
		{"no lease", func(c *Cache, _ *Space) { c.SetLease(0) }, nil, ""},
		{"write meanwhile", nil, func(c *Cache, _ *Space) { commit(begin(c, tags("k"), nil), Change{}) }, ""},
		{"hold meanwhile", nil, func(c *Cache, _ *Space) { c.Hold(tags("k")) }, ""},
		{"empty meanwhile", nil, func(c *Cache, _ *Space) { c.Empty() }, ""},
		{"filled meanwhile", nil, func(_ *Cache, s *Space) { s.put(t, "k", "ours") }, "ours 59m59s"},
		{"filled and written meanwhile", nil, func(c *Cache, s *Space) {
			s.put(t, "k", "ours")
			commit(begin(c, tags("k"), nil), Change{})
		}, ""},
		{"answer expires on its way", nil, func(*Cache, *Space) { pass(time.Hour) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, cc *Cache, s *Space) {
				if c.before != nil {
					c.before(cc, s)
				}
				store := s.Expect([]byte("k"), tags("k"), useAll)
				if store != nil {
					if c.meanwhile != nil {
						c.meanwhile(cc, s)
					}
					pass(time.Second)
					stored := store(answer)
					if want := strings.HasPrefix(c.want, "theirs"); stored != want {
						t.Errorf("stored: %v, want %v", stored, want)
					}
				}
				got := ""
				if a, ok := s.Fresh([]byte("k")); ok {
					got = fmt.Sprint(string(a.Payload), " ", a.TTL)
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// What a service does not want to store, or not for any time, is not stored.
func TestExpectRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		for name, f := range map[string]Filling{"no time": {}, "not to be stored": {TTL: time.Hour, NoStore: true}} {
			store := s.Expect([]byte("k"), tags("k"), func(Shared) (Filling, bool) { return f, true })
			if store(Shared{TTL: time.Hour}) {
				t.Errorf("%s: stored", name)
			}
		}
		store := s.Expect([]byte("k"), tags("k"), func(Shared) (f Filling, ok bool) { return f, false })
		if store(Shared{TTL: time.Hour}) {
			t.Error("a useless answer is stored")
		}
	})
}

// The entries that are requested the most are the hottest ones.
func TestHottest(t *testing.T) {
	c, s := open(t, Config{Memory: 256 << 10})
	other := space(t, c, 0)
	if got := s.Hottest(10); len(got) != 0 {
		t.Errorf("%d entries of nothing", len(got))
	}
	value := strings.Repeat("v", 1000)
	for i := range 100 {
		s.put(t, fmt.Sprint("cold", i), value)
	}
	for i := range 10 {
		s.put(t, fmt.Sprint("hot", i), value)
		other.put(t, fmt.Sprint("hot", i), value)
		for range 5 {
			s.Lookup(fmt.Append(nil, "hot", i), c.Now())
		}
	}
	s.put(t, "written", value)
	s.Lookup([]byte("written"), c.Now())
	commit(begin(c, tags("written"), nil), Change{})
	hot := 0
	for _, e := range s.Hottest(20) { // of both spaces
		if strings.HasPrefix(string(e.Key()), "hot") {
			hot++
		}
	}
	if hot < 9 {
		t.Errorf("%d of the hottest entries are hot, want 10", hot)
	}
	all := s.Hottest(1000)
	if len(all) != 110 {
		t.Errorf("%d entries, want 110", len(all))
	}
	for _, e := range all {
		if e.space != s.id || string(e.Key()) == "written" {
			t.Errorf("an entry that can't be served: %s", e.Key())
		}
	}
	if n := len(s.Hottest(5)); n > 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

// fixed is a Warmer with one stored answer.
type fixed struct{ answer string }

func (fixed) Hottest(int, func([]byte) bool)                   {}
func (fixed) Expect(context.Context, []byte) func(Shared) bool { return nil }
func (f fixed) Stored(q []byte) (Shared, bool) {
	return Shared{Payload: []byte(f.answer)}, string(q) == "q"
}

func TestOnWarm(t *testing.T) {
	c, _ := open(t, Config{})
	stored := func(service string) string {
		a, ok := c.Stored(service, []byte("q"))
		return fmt.Sprint(string(a.Payload), ok)
	}
	removeOld := c.OnWarm("orders", fixed{"old"})
	c.OnWarm("site", fixed{"site"})
	if got, want := fmt.Sprint(stored("orders"), stored("site"), stored("other"), c.Warmable()), "oldtruesitetruefalse[orders site]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	remove := c.OnWarm("orders", fixed{"new"})
	removeOld()
	if got := stored("orders"); got != "newtrue" {
		t.Errorf("got %s", got)
	}
	remove()
	if got := fmt.Sprint(stored("orders"), c.Warmable()); got != "false[site]" {
		t.Errorf("got %s", got)
	}
}
