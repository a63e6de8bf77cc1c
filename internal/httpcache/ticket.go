package httpcache

import (
	"context"
	"io"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Ticket is one request's part in a flight. It is used by one goroutine and must
// be left.
type Ticket struct {
	// OnInterim, if set, gets the 1xx answers that come while Wait waits, in the
	// caller's goroutine, if the flight is its own: what is said before the head may be for
	// whoever asked, and nobody knows yet whether the answer is for all.
	OnInterim func(Interim)

	flight  *Flight
	query   *store.Query
	object  *store.Object // found in place of a flight
	own     io.Closer     // the body that is the caller's alone; nil: there is none
	starter bool
	left    bool

	remembered bool   // the flight was over when the request came
	lent       bool   // Leave has no effect before Return
	told       int    // interim answers so far
	piece      int    // the number of the piece that it stands in
	offset     int64  // of the next byte
	buf        []byte // what was read from the disk
}

// Way says how a request goes on.
type Way uint8

// The ways.
const (
	// Whole: Object is the answer.
	Whole Way = iota
	// Streaming: Head is known, Length too unless it is -1, and Next gives the
	// bytes.
	Streaming
	// Own: the answer is the caller's alone, who reads Answer.Body, if there is one,
	// before it leaves. Object is set if it was a 304.
	Own
	// Again: the flight is for other values of the fields that the response
	// varies by. Fly again.
	Again
	// Apart: the answer cannot be shared. Ask the origin yourself.
	Apart
)

// Outcome is what a flight has come to for one request.
type Outcome struct {
	Way    Way
	Head   *store.Head
	Length int64
	Object *store.Object
	Answer *Answer
}

// Joined tells whether the flight was somebody else's.
func (t *Ticket) Joined() bool { return !t.starter }

// Wait waits until the head is known. An error is the origin's failure, if it is
// not ctx's: the same for all who wait.
func (t *Ticket) Wait(ctx context.Context) (Outcome, error) {
	f := t.flight
	if f == nil {
		return wholeOutcome(t.object), nil
	}
	for {
		f.mu.Lock()
		decided, news := f.state != asking, f.interim[t.told:]
		t.told += len(news)
		changed := f.next()
		f.mu.Unlock()
		for _, i := range news {
			if t.starter && t.OnInterim != nil {
				t.OnInterim(i)
			}
		}
		if decided {
			return t.outcome()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
}

func wholeOutcome(o *store.Object) Outcome {
	return Outcome{Way: Whole, Head: o.Head, Length: o.Body.Len(), Object: o}
}

// outcome reads what has been decided.
func (t *Ticket) outcome() (Outcome, error) {
	f := t.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.answer == nil:
		return Outcome{}, f.err
	case t.starter && f.state == apart:
		f.own = nil
		return Outcome{Way: Own, Head: f.answer.Head, Length: f.answer.Length, Object: f.object, Answer: t.owned()}, nil
	case !t.starter && !f.answer.Head.Answers(t.query):
		return Outcome{Way: Again}, nil
	case f.state == apart:
		return Outcome{Way: Apart, Head: f.answer.Head}, nil
	case f.object != nil:
		return wholeOutcome(f.object), nil
	}
	return Outcome{Way: Streaming, Head: f.answer.Head, Length: f.answer.Length}, nil
}

// owned is the answer. Its body is read under the flight's context.
func (t *Ticket) owned() *Answer {
	a := t.flight.answer
	if a.Body == nil {
		t.flight.cancel(nil)
	} else {
		t.own = a.Body
	}
	return a
}

// From makes offset the next byte that Next gives. It fails with ErrBehind if
// that is let go.
func (t *Ticket) From(offset int64) error {
	f := t.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	to, ok := f.pieces.at(offset)
	switch {
	case t.piece < f.pieces.lost:
		return ErrBehind
	case !ok && f.file != nil && f.pieces.kept:
		to = f.pieces.lost // it is on disk
	case !ok:
		return ErrBehind
	}
	f.pieces.move(t.piece, to)
	t.piece, t.offset = to, offset
	f.tell()
	return nil
}

// Next waits for the next bytes, which must not be changed and stay as they are until
// it is called again.
// The error is io.EOF at the end of a body that is whole; ErrBehind if others
// could not wait; else why the rest is missing.
func (t *Ticket) Next(ctx context.Context) ([]byte, error) {
	f := t.flight
	for {
		f.mu.Lock()
		b, err := t.take()
		if b != nil || err != nil {
			f.mu.Unlock()
			if err == errSunk {
				return t.fromDisk()
			}
			return b, err
		}
		f.pieces.idle++
		changed := f.next()
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		f.mu.Lock()
		f.pieces.idle--
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// Come gives the next bytes if they are there already.
func (t *Ticket) Come() []byte {
	t.flight.mu.Lock()
	defer t.flight.mu.Unlock()
	b, _ := t.take() // an end is found by Next
	return b
}

// take moves on by the bytes that are there; nothing and no error if there are
// none. The flight's mu is held.
func (t *Ticket) take() ([]byte, error) {
	f := t.flight
	p := &f.pieces
	switch {
	case t.piece < p.lost:
		return nil, ErrBehind
	case t.piece < p.first:
		if !t.surface() {
			return nil, errSunk
		}
	}
	for t.piece-p.first < len(p.list) {
		piece := p.list[t.piece-p.first]
		if at := t.offset - piece.start; at < int64(len(piece.buf)) {
			b := piece.buf[at:]
			t.offset += int64(len(b))
			return b[:len(b):len(b)], nil
		} else if at < int64(cap(piece.buf)) {
			break
		}
		p.move(t.piece, t.piece+1)
		t.piece++
		if !p.kept {
			f.tell()
		}
	}
	switch f.state {
	case whole:
		return nil, io.EOF
	case failed:
		return nil, f.err
	}
	return nil, nil
}

// Trailer are the fields that came behind a body that is whole. They must not be
// changed.
func (t *Ticket) Trailer() http1.Fields {
	f := t.flight
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trailer
}

// lend keeps what Next gave last counted until Return, after the request has left. It
// fails if that has been let go of, or will be when others go on.
func (t *Ticket) lend() bool {
	t.flight.mu.Lock()
	defer t.flight.mu.Unlock()
	t.lent = t.flight.pieces.kept
	return t.lent
}

// Return leaves a flight that has lent its bytes: t is an edge.Loan.
func (t *Ticket) Return() {
	t.lent = false
	t.Leave()
}

// Pace implements edge.Loan, for what the flight has left behind or, while it goes on, for
// the window of a body that is not kept: one that is kept waits for nobody but its origin.
func (t *Ticket) Pace() int64 {
	f := t.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ended:
		return f.loan.Pace() + f.store.InFlight().PaceOf(f.beside)
	case !f.pieces.kept && f.crowded():
		return f.pieces.held / store.LendSeconds
	}
	return 0
}

// Leave ends the request's part in the flight. What Next gave last stays valid.
func (t *Ticket) Leave() {
	f := t.flight
	if f == nil || t.left || t.lent {
		return
	}
	t.left = true
	f.mu.Lock()
	f.members--
	f.pieces.leave(t.piece)
	f.starterLeft = f.starterLeft || t.starter
	if f.members == 0 {
		f.abandon()
	}
	f.tell()
	f.takeBack()
	unread, file := f.unread(), f.unused()
	f.mu.Unlock()
	f.discard(unread)
	if file != nil {
		file.Close()
	}
	if t.own != nil {
		t.own.Close()
		f.cancel(nil)
	}
}
