package flight

import (
	"context"
	"io"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Waiter is one request's membership in a flight. It is used by one goroutine, which must
// call Leave.
type Waiter struct {
	// OnInterim, if set, is called by Wait with the 1xx responses that arrive, if the waiter
	// has started the flight: they may concern the starter alone, since it is not known yet
	// whether the answer can be shared.
	OnInterim func(Interim)

	flight  *Flight // nil: there is an object or an error in its place
	query   *store.Query
	object  *store.Object
	err     error
	own     io.Closer // the body of a private answer; nil: none
	starter bool
	left    bool
	held    bool // Leave has no effect before Return

	remembered bool   // the flight had ended when the request arrived
	interim    int    // number of interim responses so far
	piece      int    // number of the piece that it is positioned in
	offset     int64  // of the next byte
	buf        []byte // for bytes read from disk
}

// Kind is how a request continues after Wait.
type Kind uint8

const (
	// Whole means that Object is the answer.
	Whole Kind = iota
	// Streaming means that Head is known, Length too unless it is -1, and Next returns the
	// bytes.
	Streaming
	// Private means that the answer is for the caller alone, which reads Answer.Body, if there
	// is one, before it leaves. Object is set after a 304.
	Private
	// OtherVariant means that the flight is for other values of the fields that the answer
	// varies by. The caller joins again.
	OtherVariant
	// Unshared means that the answer is for another request alone. The caller asks the
	// origin itself.
	Unshared
)

// Outcome is the result of a flight for one request.
type Outcome struct {
	Kind   Kind
	Head   *store.Head
	Length int64
	Object *store.Object
	Answer *Answer
}

// Joined reports whether another request has started the flight, or stored the object.
func (w *Waiter) Joined() bool { return !w.starter }

// Stored reports whether the answer was found in the store, without a flight.
func (w *Waiter) Stored() bool { return w.object != nil }

// Remembered reports whether the flight had ended when the request arrived.
func (w *Waiter) Remembered() bool { return w.remembered }

// Flight returns the flight, for Request.RetryOf. It is nil for a waiter without one.
func (w *Waiter) Flight() *Flight { return w.flight }

// Wait waits until the head is known. An error that is not ctx's is the origin's failure,
// which is the same for all members.
func (w *Waiter) Wait(ctx context.Context) (Outcome, error) {
	f := w.flight
	switch {
	case w.err != nil:
		return Outcome{}, w.err
	case f == nil:
		return wholeOutcome(w.object), nil
	}
	for {
		f.mu.Lock()
		decided, news := f.state.decided(), f.interim[w.interim:]
		w.interim += len(news)
		changed := f.next()
		f.mu.Unlock()
		for _, i := range news {
			if w.starter && w.OnInterim != nil {
				w.OnInterim(i)
			}
		}
		if decided {
			return w.outcome()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
}

func wholeOutcome(o *store.Object) Outcome {
	return Outcome{Kind: Whole, Head: o.Head, Length: o.Body.Len(), Object: o}
}

// outcome returns the flight's result for this request, once it is decided.
func (w *Waiter) outcome() (Outcome, error) {
	f := w.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	res := &f.result
	switch {
	case res.answer == nil:
		return Outcome{}, res.err
	case w.starter && !res.answer.Share:
		return Outcome{Kind: Private, Head: res.answer.Head, Length: res.answer.Length, Object: res.object, Answer: w.takeAnswer()}, nil
	case !w.starter && !res.answer.Head.Answers(w.query):
		return Outcome{Kind: OtherVariant}, nil
	case !res.answer.Share:
		return Outcome{Kind: Unshared, Head: res.answer.Head}, nil
	case res.object != nil:
		return wholeOutcome(res.object), nil
	}
	return Outcome{Kind: Streaming, Head: res.answer.Head, Length: res.answer.Length}, nil
}

// takeAnswer takes the private answer. Its body is read under the flight's context. The
// flight's mu is held.
func (w *Waiter) takeAnswer() *Answer {
	f := w.flight
	f.starter.take()
	a := f.result.answer
	if a.Body == nil {
		f.cancel(nil)
	} else {
		w.own = a.Body
	}
	return a
}

// StartAt makes offset the position of the next byte that Next returns. It returns ErrBehind
// if that byte was dropped.
func (w *Waiter) StartAt(offset int64) error {
	f := w.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	b := &f.buffer
	to, ok := b.find(offset)
	switch {
	case w.piece < b.cut:
		return ErrBehind
	case !ok && f.spill.file != nil && b.retain:
		to = b.cut // it is on disk
	case !ok:
		return ErrBehind
	}
	b.move(w.piece, to)
	w.piece, w.offset = to, offset
	f.notify()
	return nil
}

// Next waits for the next bytes. They must not be changed and are valid until the next
// call. The error is io.EOF at the end of a whole body, ErrBehind if other members could
// not wait for this one, and otherwise the reason why the rest is missing.
func (w *Waiter) Next(ctx context.Context) ([]byte, error) {
	f := w.flight
	for {
		f.mu.Lock()
		b, err := w.take()
		if b != nil || err != nil {
			f.mu.Unlock()
			if err == errSpilled {
				return w.nextFromDisk()
			}
			return b, err
		}
		f.buffer.idle++
		changed := f.next()
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		f.mu.Lock()
		f.buffer.idle--
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// TryNext returns the next bytes if they have arrived, and nil otherwise.
func (w *Waiter) TryNext() []byte {
	w.flight.mu.Lock()
	defer w.flight.mu.Unlock()
	b, _ := w.take() // Next returns the error
	return b
}

// take returns the bytes that have arrived and moves on; nothing and no error if there are
// none. The flight's mu is held.
func (w *Waiter) take() ([]byte, error) {
	f := w.flight
	b := &f.buffer
	switch {
	case w.piece < b.cut:
		return nil, ErrBehind
	case w.piece < b.first && !w.returnToBuffer():
		return nil, errSpilled
	}
	for w.piece-b.first < len(b.pieces) {
		p := b.pieces[w.piece-b.first]
		if at := w.offset - p.start; at < int64(len(p.buf)) {
			next := p.buf[at:]
			w.offset += int64(len(next))
			return next[:len(next):len(next)], nil
		} else if at < int64(cap(p.buf)) {
			break
		}
		b.move(w.piece, w.piece+1)
		w.piece++
		if !b.retain {
			f.notify()
		}
	}
	switch {
	case f.result.err != nil:
		return nil, f.result.err
	case f.state >= complete:
		return nil, io.EOF
	}
	return nil, nil
}

// returnToBuffer positions a waiter that reads from disk in the buffer again, if it has
// caught up with it. The flight's mu is held.
func (w *Waiter) returnToBuffer() bool {
	b := &w.flight.buffer
	to, ok := b.find(w.offset)
	if ok {
		b.move(w.piece, to)
		w.piece = to
		w.flight.notify()
	}
	return ok
}

// nextFromDisk is Next for a waiter that fell behind the buffer.
func (w *Waiter) nextFromDisk() ([]byte, error) {
	if w.buf == nil {
		w.buf = make([]byte, disk.BlockSize)
	}
	b, err := w.flight.readSpill(w.offset, w.buf)
	w.offset += int64(len(b))
	return b, err
}

// Trailer returns the trailer fields of a whole body. They must not be changed.
func (w *Waiter) Trailer() http1.Fields {
	f := w.flight
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.result.trailer
}

// Hold postpones Leave until Return, so that the bytes of the last Next remain counted. It
// returns false if they were dropped, or will be when other members read on.
func (w *Waiter) Hold() bool {
	w.flight.mu.Lock()
	defer w.flight.mu.Unlock()
	w.held = w.flight.buffer.retain
	return w.held
}

// Return leaves a flight after Hold. It implements edge.Loan.
func (w *Waiter) Return() {
	w.held = false
	w.Leave()
}

// Pace implements edge.Loan. It returns how many bytes a second the client has to read: of
// the remainder after the flight has ended or, while it runs and flights are crowded, of the
// window of a body that is not kept. A body that is kept waits only for its origin.
func (w *Waiter) Pace() int64 {
	f := w.flight
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.state.ended():
		return f.remainder.pace()
	case !f.buffer.retain && f.crowded():
		return f.buffer.held / store.DrainSeconds
	}
	return 0
}

// Leave ends the membership. The bytes of the last Next remain valid.
func (w *Waiter) Leave() {
	f := w.flight
	if f == nil || w.left || w.held {
		return
	}
	w.left = true
	var unread *Answer
	f.mu.Lock()
	if w.starter {
		unread = f.starter.leave()
	}
	last := f.leave(w.piece)
	f.mu.Unlock()
	f.discard(unread)
	if last {
		f.spill.close()
	}
	if w.own != nil {
		w.own.Close()
		f.cancel(nil)
	}
}
