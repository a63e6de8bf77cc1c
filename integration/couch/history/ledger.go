// Package history drives documents and views of CouchDB-like nodes with many
// clients, through whatever stands in front of the nodes and past it, and holds
// each answer at once against what was acknowledged when it was asked for.
//
// Every write stores a number that no other write stores, and a document's
// revisions are counted by CouchDB itself: the generation before the dash of _rev.
// As long as one node takes a document's writes they form one chain, so the
// generation that a read shows tells how old it is.
//
// The rules, for a document that is read and for each document that a view shows:
//
//   - its generation is not below that of any write through the accelerator that
//     was acknowledged before the read began;
//   - nor below that of any write past it that was acknowledged longer than a bound
//     before the read began;
//   - its number is that of a write, of this document and this generation, that was
//     sent before the read ended and was not refused;
//   - it is absent only if it was never acknowledged to be there, or if a deletion
//     of at least that generation was sent.
//
// Where both nodes take writes (Config.Spread), what a document's revisions fork to is
// the longest branch, so its generation still tells how old it is. A result then has to
// show at once only what its own client wrote last, and the rest after the bound.
package history

import (
	"fmt"
	"sync"
	"time"
)

// Seen is what a read showed of a document.
type Seen struct {
	Gen int32 // of its revision; 0: there is no such document
	N   int64 // the number that it holds; Untold if the answer does not say
}

// Untold stands for a number that an answer does not show.
const Untold = -1

// Write is a write that was begun.
type Write struct {
	Key    int32
	N      int64
	Gen    int32 // that it makes if it is executed; 0, if it is no deletion: to be told by its answer
	Delete bool
	Past   bool // the accelerator does not see it

	epoch   int
	refused bool
}

// Floor is what a read of a document that begins now has to show.
type Floor struct {
	Gen   int32
	late  int32 // of what was acknowledged longer than the bound ago, and not past that
	at    time.Duration
	epoch int
}

// Ledger holds the state of one document. Its methods may be called by many
// goroutines; at is the time since the run began.
type Ledger struct {
	// Bound is after how long a write past the accelerator must be seen.
	Bound time.Duration

	mu      sync.Mutex
	epoch   int
	losing  bool            // what is begun now may be lost
	floor   int32           // of acknowledged writes through the accelerator
	late    int32           // of old ones, past it too
	acks    []ack           // by time
	due     int             // acks[:due] have gone into late
	deletes map[*Write]bool // sent, and what came of them is not known yet
	deleted int32           // the latest generation of those that are known or must be taken to be executed
	writes  map[int64]*Write
	behind  time.Duration // the most by which a read was behind a write past the accelerator
}

type ack struct {
	gen  int32
	at   time.Duration
	past bool
}

// lossy is the epoch of writes that may be lost.
const lossy = -1

// Begin takes note of a write before it is sent.
func (l *Ledger) Begin(w *Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes == nil {
		l.writes, l.deletes = map[int64]*Write{}, map[*Write]bool{}
	}
	w.epoch = l.epoch
	if l.losing {
		w.epoch = lossy
	}
	l.writes[w.N] = w
	if w.Delete {
		l.deletes[w] = true
	}
}

// Acknowledged takes note that a write was executed, and as which generation.
func (l *Ledger) Acknowledged(w *Write, gen int32, at time.Duration) (wrong string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.Gen != 0 && w.Gen != gen {
		wrong = fmt.Sprintf("write %d of document %d was acknowledged as generation %d; it made %d", w.N, w.Key, gen, w.Gen)
	}
	w.Gen = gen
	l.settle(w)
	if w.epoch == l.epoch {
		l.acks = append(l.acks, ack{gen, at, w.Past})
		if !w.Past {
			l.floor = max(l.floor, gen)
		}
	}
	return wrong
}

// Refused takes note that a write was not executed.
func (l *Ledger) Refused(w *Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.refused = true
	delete(l.deletes, w)
}

// Unanswered takes note that nobody will learn whether a write was executed.
func (l *Ledger) Unanswered(w *Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(w)
}

func (l *Ledger) settle(w *Write) {
	if w.Delete {
		delete(l.deletes, w)
		l.deleted = max(l.deleted, w.Gen)
	}
}

// Lose takes note that acknowledged writes may be lost from now on, since the only node
// that has them is about to go; with false, that it has gone. What is begun later and
// acknowledged counts.
func (l *Ledger) Lose(losing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losing = losing
	l.epoch++
	l.floor, l.late, l.acks, l.due = 0, 0, nil, 0
}

// Now returns what a read that begins at that time must show.
func (l *Ledger) Now(at time.Duration) Floor {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.due < len(l.acks) && l.acks[l.due].at < at-l.Bound {
		l.late = max(l.late, l.acks[l.due].gen)
		l.due++
	}
	return Floor{max(l.floor, l.late), l.late, at, l.epoch}
}

// Check tells why a read that began with that floor, and has ended, may not show
// what it showed; "" if it may.
func (l *Ledger) Check(f Floor, s Seen) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.epoch != l.epoch {
		return ""
	}
	if s.Gen == 0 {
		return l.absent(f)
	}
	if s.N != Untold {
		w := l.writes[s.N]
		switch {
		case w == nil:
			return fmt.Sprintf("shows number %d, which nobody wrote", s.N)
		case w.refused:
			return fmt.Sprintf("shows number %d of a write that was refused", s.N)
		case w.Delete:
			return fmt.Sprintf("shows number %d of a deletion", s.N)
		case w.Gen != 0 && w.Gen != s.Gen:
			return fmt.Sprintf("shows number %d as generation %d; it was written as %d", s.N, s.Gen, w.Gen)
		}
	}
	if s.Gen < f.Gen {
		return fmt.Sprintf("shows generation %d; %d was to be seen", s.Gen, f.Gen)
	}
	l.lag(f, s)
	return ""
}

func (l *Ledger) absent(f Floor) string {
	if l.deleted >= f.Gen {
		return ""
	}
	for d := range l.deletes {
		if d.Gen >= f.Gen {
			return ""
		}
	}
	return fmt.Sprintf("shows no document; generation %d was to be seen", f.Gen)
}

// lag measures how far a read was behind writes past the accelerator.
func (l *Ledger) lag(f Floor, s Seen) {
	for _, a := range l.acks[l.due:] {
		if a.past && a.at < f.at && a.gen > s.Gen {
			l.behind = max(l.behind, f.at-a.at)
			return
		}
	}
}

// Behind is the most by which a read was behind a write past the accelerator.
func (l *Ledger) Behind() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behind
}
