//go:build !kasokubroken

package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// store stores the answer for a key of a group.
func (g *Group) store(j GroupFill, v string) (e *Entry, stored bool) {
	f := value(v)
	return g.Store(j, &f)
}

// wants checks the entry that a fill of a group has.
func (g *Group) wants(t *testing.T, j GroupFill, want string) {
	t.Helper()
	got := "none"
	if e, ok := g.Wait(background, j); ok {
		got = string(e.Payload())
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A group shares its fills with callers of Fill, and with other groups.
func TestGroup(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		join := func(g *Group, key string, own bool) GroupFill {
			t.Helper()
			j, ok := g.Join([]byte(key), tags(key))
			if !ok || j.Own() != own {
				t.Fatalf("%s: joined %t, own %t", key, ok, j.Own())
			}
			return j
		}
		fill := func(key string, v Filling, took time.Duration) (answer chan string) {
			answer = make(chan string, 1)
			go func() {
				a, err := s.Fill(background, []byte(key), tags(key), func(context.Context, *Stamp) (Filling, error) {
					pass(took)
					return v, nil
				})
				if err != nil {
					t.Error(err)
				}
				answer <- string(a.Entry.Payload())
			}()
			synctest.Wait()
			return answer
		}
		flown := fill("b", value("of Fill"), time.Second)
		g, h := s.NewGroup(), s.NewGroup()
		defer g.End()
		defer h.End()
		a, b, left := join(g, "a", true), join(g, "b", false), join(g, "left", true)
		again, other := join(h, "a", false), join(h, "other", true)
		waiter, alone := fill("a", value("wrong"), 0), fill("left", value("alone"), 0)
		g.store(a, "of g")
		g.End()
		h.store(other, "of h")
		h.End()
		g.wants(t, a, "of g")
		g.wants(t, b, "of Fill")
		g.wants(t, left, "none")
		h.wants(t, again, "of g")
		h.wants(t, other, "of h")
		g.wants(t, GroupFill{}, "none")
		if got := [...]string{<-flown, <-waiter, <-alone}; got != [...]string{"of Fill", "of g", "alone"} {
			t.Errorf("Fill returns %q", got)
		}
		g.wants(t, join(g, "left", false), "alone") // it is stored by now
		wantNoFlights(t, s)
	})
}

// The answer of a group is not stored if a write has happened since Join, and none is
// requested while one is in flight.
func TestGroupAndWrites(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		g := s.NewGroup()
		defer g.End()
		overtaken, _ := g.Join([]byte("a"), tags("a"))
		w := begin(c, tags("a", "b"), nil)
		if _, ok := g.Join([]byte("b"), tags("b")); ok {
			t.Error("a fill begins during a write")
		}
		commit(w, Change{})
		next := s.NewGroup()
		defer next.End()
		replaced, ok := next.Join([]byte("a"), tags("a"))
		if !ok || !replaced.Own() || !replaced.Strong() {
			t.Error("a fill from before a write is joined, or the next one is not strong")
		}
		if e, stored := g.store(overtaken, "old"); stored || string(e.Payload()) != "old" {
			t.Errorf("got %q, stored %t", e.Payload(), stored)
		}
		next.store(replaced, "new")
		g.End()
		next.End()
		g.wants(t, overtaken, "none")
		next.wants(t, replaced, "new")
		c.SetLease(0)
		if _, ok := g.Join([]byte("c"), tags("c")); ok {
			t.Error("a fill begins without a lease")
		}
	})
}

// Wait ends with its context, and so does the request of a group with the time limit of fills.
func TestGroupTimes(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		g, h := s.NewGroup(), s.NewGroup()
		defer g.End()
		g.Join([]byte("a"), tags("a"))
		j, _ := h.Join([]byte("a"), tags("a"))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		start := time.Now()
		if _, ok := h.Wait(ctx, j); ok || time.Since(start) != time.Second {
			t.Errorf("a fill has ended after %s", time.Since(start))
		}
		ctx, cancel = g.Context()
		defer cancel()
		start = time.Now()
		if <-ctx.Done(); time.Since(start) != c.fillTimeout {
			t.Errorf("a request ends after %s", time.Since(start))
		}
	})
}
