// Package history runs many clients on documents and views of CouchDB-like nodes, through an
// accelerator and directly, and checks each answer at once against the writes that were
// acknowledged before its request.
//
// Every write stores a unique number, and CouchDB counts a document's revisions itself: the
// generation before the dash of _rev. As long as one node takes a document's writes they
// form one chain, so the generation in a read shows its age.
//
// The rules, for a document that is read and for each document in a view:
//
//   - its generation is not below that of any write through the accelerator that
//     was acknowledged before the read began;
//   - it is not below that of any write past it that was acknowledged longer than a
//     bound before the read began;
//   - its number is that of a write, of this document and this generation, that was
//     sent before the read ended and was not refused;
//   - it is absent only if it was never acknowledged to exist, or if a deletion
//     of at least that generation was sent.
//
// If both nodes take writes (Config.Spread), a document's winner is the longest branch of
// its forks, so its generation still shows its age. A result then has to show only its own
// client's last write at once, and the rest after the bound.
package history

import (
	"fmt"
	"sync"
	"time"
)

// Seen is the state of a document in an answer.
type Seen struct {
	Gen int32 // of its revision; 0: the document does not exist
	N   int64 // its number; Untold if the answer does not contain it
}

// NoNumber is the number of a document whose answer does not contain it.
const NoNumber = -1

// Write is a write that has begun.
type Write struct {
	Key    int32
	N      int64
	Gen    int32 // of a deletion, if it is executed; 0 for other writes, whose answer has it
	Delete bool
	Past   bool // not through the accelerator

	epoch   int
	refused bool
}

// Floor is the minimum that a read of a document must show if it begins now.
type Floor struct {
	Gen   int32
	late  int32 // of writes acknowledged longer than the bound ago
	at    time.Duration
	epoch int
}

// Ledger holds the state of one document. Its methods are safe for concurrent use; at is the
// time since the run began.
type Ledger struct {
	// Bound is the time after which a write past the accelerator must be seen.
	Bound time.Duration

	mu      sync.Mutex
	epoch   int
	losing  bool            // writes that begin now may be lost
	floor   int32           // of acknowledged writes through the accelerator
	late    int32           // of old ones, direct ones included
	acks    []ack           // by time
	due     int             // acks[:due] are included in late
	deletes map[*Write]bool // sent, with unknown result
	deleted int32           // the latest generation of a deletion that was executed or may have been
	writes  map[int64]*Write
	maxLag  time.Duration // the maximum lag of a read behind a write past the accelerator
}

type ack struct {
	gen  int32
	at   time.Duration
	past bool
}

// lossy is the epoch of writes that may be lost.
const lossy = -1

// Begin records a write before it is sent.
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

// Acknowledged records that a write was executed, and its generation.
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

// Refused records that a write was not executed.
func (l *Ledger) Refused(w *Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.refused = true
	delete(l.deletes, w)
}

// Unanswered records that the result of a write will remain unknown.
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

// Lose(true) records that acknowledged writes may be lost from now on, because the only node that
// has them is about to be killed, and Lose(false) that it was killed. Writes that begin after that
// must not be lost once they are acknowledged.
func (l *Ledger) Lose(losing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losing = losing
	l.epoch++
	l.floor, l.late, l.acks, l.due = 0, 0, nil, 0
}

// Now returns the floor of a read that begins at that time.
func (l *Ledger) Now(at time.Duration) Floor {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.due < len(l.acks) && l.acks[l.due].at < at-l.Bound {
		l.late = max(l.late, l.acks[l.due].gen)
		l.due++
	}
	return Floor{max(l.floor, l.late), l.late, at, l.epoch}
}

// Check returns why a read with that floor, which has ended, must not show s; "" if it may.
func (l *Ledger) Check(f Floor, s Seen) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.epoch != l.epoch {
		return ""
	}
	if s.Gen == 0 {
		return l.absent(f)
	}
	if s.N != NoNumber {
		w := l.writes[s.N]
		switch {
		case w == nil:
			return fmt.Sprintf("shows number %d, which no client wrote", s.N)
		case w.refused:
			return fmt.Sprintf("shows number %d of a write that was refused", s.N)
		case w.Delete:
			return fmt.Sprintf("shows number %d of a deletion", s.N)
		case w.Gen != 0 && w.Gen != s.Gen:
			return fmt.Sprintf("shows number %d as generation %d; it was written as %d", s.N, s.Gen, w.Gen)
		}
	}
	if s.Gen < f.Gen {
		return fmt.Sprintf("shows generation %d, want at least %d", s.Gen, f.Gen)
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
	return fmt.Sprintf("shows no document, want at least generation %d", f.Gen)
}

// lag updates the maximum lag of reads behind writes past the accelerator.
func (l *Ledger) lag(f Floor, s Seen) {
	for _, a := range l.acks[l.due:] {
		if a.past && a.at < f.at && a.gen > s.Gen {
			l.maxLag = max(l.maxLag, f.at-a.at)
			return
		}
	}
}

// MaxLag returns the maximum lag of a read behind a write past the accelerator.
func (l *Ledger) MaxLag() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.maxLag
}
