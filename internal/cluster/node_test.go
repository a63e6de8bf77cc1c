package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// A write is out of sight on all members from its begin until its end.
func TestWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		for _, m := range nodes {
			m.put(t, "old")
		}
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range nodes {
			if v := m.get(); v != "" {
				t.Errorf("%s serves %q during the write", m.name, v)
			}
			if m.cache.Note(item).Settled {
				t.Errorf("%s stores fills during the write", m.name)
			}
		}
		if !w.Sendable() {
			t.Error("the write can't be sent")
		}
		if _, err := w.Commit(t.Context(), cache.Change{}); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Millisecond) // the end of a write is not urgent
		for _, m := range nodes {
			m.put(t, "new")
		}
	})
}

// The further tags of a write are fenced before it ends.
func TestFurtherTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		nodes[1].put(t, "old")
		other := cache.TagOf([]byte("other"))
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{other}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if nodes[1].get() != "old" {
			t.Error("a write of another tag invalidates the entry")
		}
		if _, err := w.Commit(t.Context(), cache.Change{Tags: []cache.Tag{item}}); err != nil {
			t.Fatal(err)
		}
		if v := nodes[1].get(); v != "" {
			t.Errorf("b serves %q after the write", v)
		}
	})
}

// An unknown outcome puts the tags in quarantine on all members.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Unknown()
		time.Sleep(time.Second)
		for _, m := range nodes {
			if m.cache.Note(item).Settled {
				t.Errorf("%s has no quarantine", m.name)
			}
		}
		time.Sleep(31 * time.Second)
		for _, m := range nodes {
			if !m.cache.Note(item).Settled {
				t.Errorf("%s has a quarantine without end", m.name)
			}
		}
	})
}

// A member that is cut off delays a write until it is taken out, once.
func TestDeadMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		l.net.isolate("c", true)
		for i, limit := range []time.Duration{2500 * time.Millisecond, 10 * time.Millisecond} {
			start := time.Now()
			w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > limit {
				t.Errorf("write %d took %s", i, took)
			}
			if _, err := w.Commit(t.Context(), cache.Change{}); err != nil {
				t.Error(err)
			}
		}
		if nodes[2].Ready() == nil {
			t.Error("c serves after it was taken out")
		}
		if s := nodes[0].Status(); len(s.View.Members) != 2 || len(s.View.Away) != 1 || s.View.Away[0].Node != "c" {
			t.Errorf("the view has %v, away %v", s.View.Members, s.View.Away)
		}
		l.net.isolate("c", false)
		l.serving(nodes[2])
	})
}

// The last one of two members continues alone.
func TestLastMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		nodes[1].Close()
		time.Sleep(4 * time.Second)
		nodes[0].put(t, "new")
		if nodes[0].get() != "new" {
			t.Error("the last member does not serve")
		}
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Unknown()
	})
}

// A node that can't read the view serves nothing and refuses writes.
func TestIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		m := l.cluster("a")[0]
		m.put(t, "old")
		l.store.fail(errors.New("unavailable"))
		time.Sleep(2 * time.Second)
		if m.get() != "" || m.Ready() == nil {
			t.Error("a node without a lease serves")
		}
		if st := m.cache.Note(item); st.Settled || !st.Strong {
			t.Error("a node without a lease stores fills, or reads weakly")
		}
		l.store.fail(nil)
		l.serving(m)
		if m.get() != "old" {
			t.Error("the entry was dropped, though the node was a member all the time")
		}
		l.store.fail(errors.New("unavailable"))
		time.Sleep(2 * time.Second)
		start := time.Now()
		if _, err := m.cache.Begin(t.Context(), []cache.Tag{item}, nil); !errors.Is(err, cache.ErrIsolated) {
			t.Errorf("a write: %v", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the refusal took %s", took)
		}
		time.Sleep(5 * time.Second)
		start = time.Now()
		_, _ = m.cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if took := time.Since(start); took > 0 {
			t.Errorf("a later refusal took %s", took)
		}
	})
}

// With isolated_writes: pass, writes of a node without a lease are let through.
func TestPassIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.store.fail(errors.New("unavailable"))
		m := l.start("a", func(c *Config, _ *protocol.Member) { c.PassIsolated = true })
		time.Sleep(5 * time.Second)
		w, err := m.cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !w.Sendable() {
			t.Error("the write can't be sent")
		}
		if _, err := w.Commit(t.Context(), cache.Change{Tags: []cache.Tag{cache.TagOf([]byte("other"))}}); err != nil {
			t.Error(err)
		}
	})
}

// A client that waits no longer leaves no fence behind.
func TestAbandonedBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		l.net.isolate("c", true)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := nodes[0].cache.Begin(ctx, []cache.Tag{item}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		if !nodes[1].cache.Note(item).Settled {
			t.Error("b still fences the tag")
		}
	})
}

// Broadcast returns when all other members have carried out the payload.
func TestBroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b", "c")
		if err := nodes[0].cache.Broadcast(t.Context(), "site", []byte("purge")); err != nil {
			t.Fatal(err)
		}
		for _, m := range nodes[1:] {
			select {
			case p := <-m.applied:
				if p != "purge" {
					t.Errorf("%s carries out %q", m.name, p)
				}
			default:
				t.Errorf("%s has not carried it out", m.name)
			}
		}
		if len(nodes[0].applied) > 0 {
			t.Error("the sender carries it out too")
		}
	})
}

// A node that leaves delays no other member.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		start := time.Now()
		if err := nodes[1].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Commit(t.Context(), cache.Change{})
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("leaving and the next write took %s", took)
		}
		if s := nodes[1].Status(); s.Mode != protocol.Left || s.State() != "leaving" {
			t.Errorf("b is %s", s.State())
		}
		if v := nodes[0].Status().View; len(v.Away) != 1 || v.Away[0].Reason != "left" {
			t.Errorf("away: %v", v.Away)
		}
	})
}

// Services of one name must have one origin.
func TestDisagreement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		with := func(digest string) func(*Config, *protocol.Member) {
			return func(_ *Config, self *protocol.Member) { self.Services = map[string]string{"orders": digest} }
		}
		l.serving(l.start("a", with("1")))
		b := l.start("b", with("2"))
		time.Sleep(5 * time.Second)
		if err := b.Ready(); err == nil || b.Status().Obstacle == "" {
			t.Errorf("b joins with another origin: %v", err)
		}
	})
}

// A write whose tags all members have fenced is not sent after this node's lease: the others may
// take it out, and forget the write after a quarantine.
func TestSendWithoutLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Unknown()
		if !w.Sendable() {
			t.Error("the write can't be sent with a lease")
		}
		nodes[0].cache.SetLease(int64(nodes[0].now()))
		if w.Sendable() {
			t.Error("the write can be sent without a lease")
		}
	})
}

// A write that was allowed before the node was taken out must not be sent after it has joined
// again: the others have put it in quarantine meanwhile, and do not fence it.
func TestSendAfterRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.net.isolate("a", true)
		if _, err := nodes[1].Evict("a"); err != nil {
			t.Fatal(err)
		}
		l.until(func() bool { return nodes[0].Ready() != nil })
		l.net.isolate("a", false)
		l.serving(nodes[0])
		if w.Sendable() {
			t.Error("the write can be sent")
		}
		if _, err := w.Commit(t.Context(), cache.Change{Tags: []cache.Tag{cache.TagOf([]byte("more"))}}); err == nil {
			t.Error("further tags of the write are fenced, as if it were one of the new membership")
		}
	})
}

// A node that dies during a write can't have its further tags fenced: the others put all that it
// may have touched in quarantine.
func TestDeadCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		nodes := l.cluster("a", "b")
		other := cache.TagOf([]byte("other"))
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil, other)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Unknown()
		if !nodes[1].cache.Note(other).Settled {
			t.Error("a tag that may not be touched is fenced")
		}
		nodes[0].Close()
		l.until(func() bool { return len(nodes[1].Status().View.Members) == 1 })
		c := l.start("c") // takes over the quarantine
		l.until(func() bool { return c.Ready() == nil })
		for _, m := range []*member{nodes[1], c} {
			if m.cache.Note(item).Settled || m.cache.Note(other).Settled {
				t.Errorf("%s has no quarantine", m.name)
			}
		}
	})
}
