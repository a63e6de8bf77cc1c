package history

import (
	"strings"
	"testing"
	"time"
)

// TestLedger runs histories of one document that has been written once, as number 1 and
// generation 1, and checks the permitted answers of a read that begins after them and ends
// at once.
func TestLedger(t *testing.T) {
	const bound = time.Second
	at := func(tenths int) time.Duration { return time.Duration(tenths) * time.Second / 10 }
	f := func(name string, s Seen, want string, play func(l *Ledger)) {
		t.Helper()
		l := &Ledger{Bound: bound}
		first := &Write{N: 1}
		l.Begin(first)
		l.Acknowledged(first, 1, at(0))
		play(l)
		if got := l.Check(l.Now(at(30)), s); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	begin := func(l *Ledger, w Write) *Write {
		l.Begin(&w)
		return &w
	}
	lose := func(l *Ledger) {
		l.Lose(true)
		l.Lose(false)
	}
	write := func(l *Ledger) { l.Acknowledged(begin(l, Write{N: 2, Gen: 2}), 2, at(1)) }
	past := func(tenths int) func(l *Ledger) {
		return func(l *Ledger) { l.Acknowledged(begin(l, Write{N: 2, Gen: 2, Past: true}), 2, at(tenths)) }
	}
	remove := func(l *Ledger) { l.Acknowledged(begin(l, Write{N: 2, Gen: 2, Delete: true}), 2, at(1)) }

	f("nothing more", Seen{1, 1}, "", func(*Ledger) {})
	f("fresh", Seen{2, 2}, "", write)
	f("stale", Seen{1, 1}, "want at least 2", write)
	f("stale, without a number", Seen{1, NoNumber}, "want at least 2", write)
	f("missing", Seen{}, "no document", write)
	f("in flight, not seen", Seen{1, 1}, "", func(l *Ledger) { begin(l, Write{N: 2, Gen: 2}) })
	f("in flight, seen", Seen{2, 2}, "", func(l *Ledger) { begin(l, Write{N: 2, Gen: 2}) })
	f("no answer, not seen", Seen{1, 1}, "", func(l *Ledger) { l.Unanswered(begin(l, Write{N: 2, Gen: 2})) })
	f("no answer, replaced", Seen{2, 2}, "want at least 3", func(l *Ledger) {
		l.Unanswered(begin(l, Write{N: 2, Gen: 2}))
		l.Acknowledged(begin(l, Write{N: 3, Gen: 3}), 3, at(2))
	})
	f("refused, seen", Seen{2, 2}, "was refused", func(l *Ledger) { l.Refused(begin(l, Write{N: 2, Gen: 2})) })
	f("number of no write", Seen{2, 7}, "no client wrote", write)
	f("another generation", Seen{3, 2}, "it was written as 2", write)
	f("past, within the bound", Seen{1, 1}, "", past(25))
	f("past, beyond the bound", Seen{1, 1}, "want at least 2", past(15))
	f("past, seen", Seen{2, 2}, "", past(15))
	f("deleted", Seen{}, "", remove)
	f("deleted, shown", Seen{1, 1}, "want at least 2", remove)
	f("deletion shown", Seen{2, 2}, "of a deletion", remove)
	f("deletion in flight", Seen{}, "", func(l *Ledger) { begin(l, Write{N: 2, Gen: 2, Delete: true}) })
	f("deletion unanswered", Seen{}, "", func(l *Ledger) { l.Unanswered(begin(l, Write{N: 2, Gen: 2, Delete: true})) })
	f("deletion refused", Seen{}, "no document", func(l *Ledger) { l.Refused(begin(l, Write{N: 2, Gen: 2, Delete: true})) })
	f("deleted and written", Seen{}, "no document", func(l *Ledger) {
		remove(l)
		l.Acknowledged(begin(l, Write{N: 3}), 3, at(2))
	})
	f("lost with the node", Seen{1, 1}, "", func(l *Ledger) {
		write(l)
		lose(l)
	})
	f("in flight when the node was killed", Seen{1, 1}, "", func(l *Ledger) {
		w := begin(l, Write{N: 2, Gen: 2})
		lose(l)
		l.Acknowledged(w, 2, at(1))
	})
	f("begun while the node is killed", Seen{1, 1}, "", func(l *Ledger) {
		l.Lose(true)
		w := begin(l, Write{N: 2, Gen: 2})
		l.Lose(false)
		l.Acknowledged(w, 2, at(1))
	})
	f("written after the kill", Seen{1, 1}, "want at least 2", func(l *Ledger) {
		lose(l)
		write(l)
	})
}

// TestLedgerWithBothNodesWritten checks the permitted results if both nodes take writes.
func TestLedgerWithBothNodesWritten(t *testing.T) {
	l := &Ledger{Bound: time.Second}
	first, second := &Write{N: 1}, &Write{N: 2, Gen: 2}
	l.Begin(first)
	l.Acknowledged(first, 1, 0)
	l.Begin(second)
	l.Acknowledged(second, 2, time.Second)
	f := func(at time.Duration, w *Write, diverged bool, want int32) {
		t.Helper()
		now := l.Now(at)
		o := own{key: 3, gen: w.Gen, epoch: w.epoch}
		if got := now.result(3, o, diverged).Gen; got != want {
			t.Errorf("after %v a read must show generation %d, want %d", at, got, want)
		}
		if got := now.result(4, o, true).Gen; got != 0 {
			t.Errorf("after %v a read must show generation %d of another document, want none", at, got)
		}
	}
	nothing := &Write{epoch: lossy}
	f(500*time.Millisecond, nothing, false, 0)
	f(1500*time.Millisecond, nothing, false, 1)
	f(1500*time.Millisecond, nothing, true, 0)
	f(1500*time.Millisecond, first, true, 1)
	f(1500*time.Millisecond, second, false, 2)
	f(2500*time.Millisecond, nothing, false, 2)
	l.Lose(true)
	l.Lose(false)
	f(2500*time.Millisecond, second, false, 0)
}

// TestLedgerAtStartOfRead checks that a read must show what was acknowledged when it began, and
// that its lag is measured.
func TestLedgerAtStartOfRead(t *testing.T) {
	l := &Ledger{Bound: time.Minute}
	began := l.Now(0)
	w := &Write{N: 1}
	l.Begin(w)
	l.Acknowledged(w, 1, time.Second)
	if got := l.Check(began, Seen{}); got != "" {
		t.Errorf("a read that began before the write: %s", got)
	}
	x := &Write{N: 2, Gen: 2, Past: true}
	l.Begin(x)
	l.Acknowledged(x, 2, 2*time.Second)
	if got := l.Check(l.Now(5*time.Second), Seen{1, 1}); got != "" || l.MaxLag() != 3*time.Second {
		t.Errorf("a read within the bound: got %q and a lag of %v, want no violation and 3s", got, l.MaxLag())
	}
	if wrong := l.Acknowledged(x, 3, time.Second); wrong == "" {
		t.Error("an acknowledgement with another generation was accepted")
	}
}
