package protocol

import (
	"slices"
	"strings"
)

// calls lets time pass as a host does, which calls Tick at Next. It returns the times from the
// begin at which messages of a kind were sent. before is called before each call of Tick.
func (s *script) calls(d Time, kind string, before func()) (sent []Time) {
	for begin := s.now; s.now < begin+d; {
		s.now = s.Next(s.now)
		before()
		s.log = nil
		s.Tick(s.now)
		for _, l := range s.log {
			if strings.HasPrefix(l, kind) {
				sent = append(sent, (s.now-begin)/Millisecond)
			}
		}
		if s.reading {
			s.viewed(s.item)
		}
		if s.writing {
			s.item = s.view.clone()
			s.Wrote(s.now, nil)
		}
	}
	s.skip()
	return sent
}

// expectTimes compares times in milliseconds.
func (s *script) expectTimes(got []Time, want ...Time) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Fatalf("got %v, want %v", got, want)
	}
}

// scriptIdle has a node that seldom sends Open, until it writes.
func scriptIdle(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	hear := func() { s.from(1, Val, 0) }
	s.calls(500*Millisecond, "open", hear)
	ticks := 0
	s.expectTimes(s.calls(1000*Millisecond, "open", func() { hear(); ticks++ }), 250, 500, 750, 1000)
	if ticks != 4 {
		t.Errorf("an idle node calls Tick %d times in a second", ticks)
	}
	s.now += 20 * Millisecond
	s.Begin(s.now, []uint64{4}, nil)
	if s.wakes != 1 || s.Next(s.now) > s.now+s.cfg.Resend {
		t.Errorf("after the begin of a write Tick was asked for %d times, in %d ms", s.wakes, (s.Next(s.now)-s.now)/Millisecond)
	}
	s.Tick(s.now)
	s.expectTimes(s.calls(80*Millisecond, "inv", hear), 40)
	s.from(1, Ack, 1)
	s.Commit(1)
	s.expectTimes(s.calls(550*Millisecond, "open", hear), 50, 150, 250, 300, 550)
	if s.wakes != 1 {
		t.Errorf("Tick was asked for %d times", s.wakes)
	}
}

// scriptIdleTogether hears another member's Open in both halves of the interval of its own.
func scriptIdleTogether(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.calls(500*Millisecond, "open", func() { s.from(1, Val, 0) })
	f := func(after Time, wakes int, want ...Time) {
		s.wakes = 0
		s.now += after
		s.from(1, Open, 0)
		if s.wakes != wakes {
			t.Fatalf("%d ms after its own Open, one of another member asks for Tick %d times", after/Millisecond, s.wakes)
		}
		if wakes > 0 {
			s.skip()
			s.Tick(s.now)
			s.expectOnly("open", "open 0 to 0: []")
		}
	}
	f(100*Millisecond, 0)
	f(40*Millisecond, 1)
	f(100*Millisecond, 0)
	f(40*Millisecond, 1)
}

// scriptIdleSilence has a member that falls silent while the node is idle.
func scriptIdleSilence(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.calls(500*Millisecond, "open", func() { s.from(1, Val, 0); s.from(2, Val, 0) })
	s.from(1, Val, 0)
	got := s.calls(1200*Millisecond, "write", func() { s.from(2, Val, 0) })
	if len(got) != 1 || got[0] < 1000 || got[0] > 1000+2*s.cfg.Beat/Millisecond {
		t.Errorf("a silent member is suspended after %d ms", got)
	}
}
