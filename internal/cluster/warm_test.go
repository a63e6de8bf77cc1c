package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
)

// warmed lets a node take over answers when it has joined.
func warmed(limits WarmLimits) func(*Config, *protocol.Member) {
	return func(c *Config, _ *protocol.Member) { c.Warm = limits }
}

// fast are limits that a test does not reach.
var fast = WarmLimits{Keys: 1 << 20, Rate: 1 << 20, Bandwidth: 1 << 40}

// entries returns the number of entries of a node that may be served.
func (m *member) entries() int { return len(m.space.Hottest(1 << 20)) }

// warmedUp waits until the warming of a node is over.
func (l *lab) warmedUp(m *member) {
	l.t.Helper()
	l.until(func() bool {
		_, ok := m.Warming()
		return !ok && m.warming.took > 0
	})
}

// A node that joins takes over what the others have stored, without a request to the origin, and
// within its limits.
func TestJoiningNodeIsWarmed(t *testing.T) {
	const keys = 1000
	for _, c := range []struct {
		name   string
		limits WarmLimits
		want   int
		took   time.Duration // about
	}{
		{"rate", WarmLimits{Keys: keys, Rate: keys / 2, Bandwidth: 1 << 30}, keys, 2 * time.Second},
		{"bandwidth", WarmLimits{Keys: keys, Rate: 1 << 20, Bandwidth: keys / 5}, keys, 5 * time.Second},
		{"number", WarmLimits{Keys: keys / 4, Rate: keys / 4, Bandwidth: 1 << 30}, keys / 4, time.Second},
		{"off", WarmLimits{Rate: keys, Bandwidth: keys}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, o := newLab(t), &source{value: "x"}
				l.origin = o
				nodes := l.cluster("a", "b")
				readAll(t, nodes[0], o, keys)
				o.count()
				j := l.start("c", warmed(c.limits))
				l.serving(j)
				if c.want > 0 {
					if w, ok := j.Warming(); !ok || len(w.From) != 2 || w.Stored == uint64(c.want) {
						t.Errorf("at the begin: %v, %v", w, ok)
					}
					l.warmedUp(j)
				}
				if got := j.entries(); got != c.want {
					t.Errorf("%d answers were taken over, want %d", got, c.want)
				}
				if got := int(j.warming.stored.Value()); got != c.want {
					t.Errorf("%d answers were counted, want %d", got, c.want)
				}
				if took := j.warming.took; took < c.took-c.took/10 || took > c.took+c.took/10 {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if got := o.count(); got != 0 {
					t.Errorf("the origin was asked %d times", got)
				}
			})
		})
	}
}

// What is written while a node is warmed is not taken over in its old version.
func TestWriteDuringWarming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t), &source{value: "x"}
		l.origin = o
		nodes := l.cluster("a")
		readAll(t, nodes[0], o, 100)
		j := l.start("b", warmed(WarmLimits{Keys: 100, Rate: 50, Bandwidth: 1 << 30}))
		l.serving(j)
		time.Sleep(time.Second) // after the first batch
		if n := j.entries(); n == 0 || n == 100 {
			t.Fatalf("%d entries", n)
		}
		w, err := nodes[0].cache.Begin(t.Context(), []cache.Tag{item}, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		o.set("y")
		if _, err := w.Commit(t.Context(), cache.Change{}); err != nil {
			t.Fatal(err)
		}
		l.warmedUp(j)
		if n := j.entries(); n != 0 {
			t.Errorf("%d old answers are stored", n)
		}
		if n := j.warming.absent.Value() + j.warming.skipped.Value(); n == 0 {
			t.Error("no answer was out of date")
		}
	})
}

// A node whose peer is cut off in the middle continues with the other one, and ends.
func TestWarmingLosesAPeer(t *testing.T) {
	for _, lost := range []string{"a", "a b", "itself"} {
		t.Run(lost, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, o := newLab(t), &source{value: "x"}
				l.origin = o
				nodes := l.cluster("a", "b")
				const keys = 300
				readAll(t, nodes[0], o, keys)
				readAll(t, nodes[1], o, keys)
				j := l.start("c", warmed(WarmLimits{Keys: keys, Rate: 100, Bandwidth: 1 << 30}))
				l.serving(j)
				time.Sleep(time.Second)
				if lost == "itself" {
					j.Close()
				}
				for _, name := range strings.Fields(lost) {
					l.net.isolate(name, true)
				}
				if lost == "itself" {
					return
				}
				l.warmedUp(j)
				if n := j.entries(); lost == "a" && n != keys || lost == "a b" && n == keys {
					t.Errorf("%d entries", n)
				}
			})
		})
	}
}

// Warm takes over answers at an operator's request.
func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := newLab(t), &source{value: "x"}
		l.origin = o
		nodes := l.cluster("a", "b")
		a, b := nodes[0], nodes[1]
		readAll(t, a, o, 200)
		b.cache.Empty()
		readAll(t, b, o, 20)
		calls, read := 0, 0.0
		progress := func(_ WarmCounts, part float64) {
			if calls++; part <= read || part > 1 {
				t.Errorf("after %.2f of the list, %.2f of it was read", read, part)
			}
			read = part
		}
		n, err := b.Warm(t.Context(), "a", "site", WarmLimits{Keys: 1000, Rate: 100, Bandwidth: 1 << 30}, progress)
		if want := (WarmCounts{Stored: 180, Present: 20, Bytes: 180}); err != nil || n != want || calls < 3 || read != 1 {
			t.Errorf("got %v, %v, with %d calls and %.2f of the list; want %v", n, err, calls, read, want)
		}
		if _, err = b.Warm(t.Context(), "a", "other", fast, nil); !errors.Is(err, ErrNoWarmer) {
			t.Errorf("another service: %v", err)
		}
		b.cache.OnWarm("other", warmer{b})
		if n, err = b.Warm(t.Context(), "a", "other", fast, nil); err != nil || n != (WarmCounts{}) {
			t.Errorf("a service that a does not have: got %v, %v", n, err)
		}
		for _, name := range []string{"b", "c"} {
			if _, err = b.Warm(t.Context(), name, "site", fast, nil); !errors.Is(err, ErrNoMember) {
				t.Errorf("from %s: %v", name, err)
			}
		}
		b.cache.Empty()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n, err = b.Warm(ctx, "a", "site", WarmLimits{Keys: 1000, Rate: 50, Bandwidth: 1 << 30}, nil); !errors.Is(err, context.DeadlineExceeded) || n.Stored == 0 || n.Stored == 200 {
			t.Errorf("with a time limit: got %v, %v", n, err)
		}
		a.Handle(hottestKind, nil)
		if _, err = b.Warm(t.Context(), "a", "site", fast, nil); !errors.Is(err, errNoReply) {
			t.Errorf("from an old version: %v", err)
		}
	})
}

// A batch is followed by a pause that is at least as long.
func TestPace(t *testing.T) {
	r := warmRun{limits: WarmLimits{Rate: 100, Bandwidth: 1000}}
	for _, c := range []struct {
		n          WarmCounts
		took, want time.Duration
	}{
		{WarmCounts{}, 0, 0},
		{WarmCounts{Present: 1000, Skipped: 1000}, time.Millisecond, time.Millisecond},
		{WarmCounts{Stored: 40, Absent: 10}, 100 * time.Millisecond, 400 * time.Millisecond},
		{WarmCounts{Stored: 50}, time.Second, time.Second},
		{WarmCounts{Stored: 1, Bytes: 2000}, 500 * time.Millisecond, 1500 * time.Millisecond},
	} {
		if got := r.pace(c.n, c.took); got != c.want {
			t.Errorf("%v in %s: got %s, want %s", c.n, c.took, got, c.want)
		}
	}
}
