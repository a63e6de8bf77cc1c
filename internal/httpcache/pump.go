package httpcache

import (
	"context"
	"io"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// mostEmptyReads is how many reads in a row may bring nothing.
const mostEmptyReads = 100

// pump reads the body into pieces until it is whole. The bytes that complete a body
// of known length are kept back: last is how many. So nobody has a whole body before
// it is stored, and whoever has it and asks again finds it.
func (f *Flight) pump(body io.Reader, length int64) (last int, err error) {
	empty := 0
	for {
		buf, err := f.room(length)
		if err != nil {
			return 0, err
		}
		n, err := body.Read(buf)
		if n > 0 && f.pieces.end+int64(n) == length {
			return f.tail(body, n, err)
		}
		if err := f.came(n, length); err != nil {
			return 0, err
		}
		switch {
		case err == io.EOF:
			return 0, f.whole(length)
		case err != nil:
			return 0, err
		case n > 0:
			empty = 0
		case empty == mostEmptyReads:
			return 0, errNoProgress
		default:
			empty++
		}
	}
}

// tail reads the end that must follow the last n bytes. If something else does, the
// readers get these first.
func (f *Flight) tail(body io.Reader, n int, err error) (last int, _ error) {
	var more [1]byte
	for empty := 0; err == nil; empty++ {
		var surplus int
		surplus, err = body.Read(more[:])
		switch {
		case surplus > 0:
			err = errSurplus
		case empty == mostEmptyReads:
			err = errNoProgress
		}
	}
	if err == io.EOF {
		return n, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces.came(n)
	f.tell()
	return 0, err
}

func (f *Flight) whole(length int64) error {
	if length >= 0 && f.pieces.end != length {
		return errShort
	}
	return nil
}

// came lets the readers have n more bytes.
func (f *Flight) came(n int, length int64) error {
	if n == 0 {
		return nil
	}
	if length >= 0 && f.pieces.end+int64(n) > length {
		return errSurplus
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces.came(n)
	f.tell()
	return nil
}

// room returns where the next bytes go. Only the pump changes what it reads
// outside of mu. Of a body that is not kept no more is taken until the slowest
// reader has let go of something.
func (f *Flight) room(length int64) ([]byte, error) {
	if free := f.pieces.free(); len(free) > 0 {
		return free, context.Cause(f.ctx)
	}
	if length >= 0 && f.pieces.end >= length {
		return make([]byte, 1), context.Cause(f.ctx) // for the end, or one byte too many
	}
	size := chunkSize(f.pieces.end, length)
	f.sink(length)
	counted := f.obtain(size, length)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces.kept = f.pieces.kept && counted
	if err := f.wait(); err != nil {
		if counted {
			f.flights.budget.Add(-size)
		}
		return nil, err
	}
	if !f.pieces.kept {
		size = min(size, f.window())
		f.flights.budget.Add(size)
	}
	f.pieces.grow(size)
	f.flights.holdCounted(size)
	return f.pieces.free(), nil
}

// obtain counts the next size bytes of a body that is kept in the budget, and waits for a
// moment if there is no room for them. If it returns false the body is not kept any
// longer.
func (f *Flight) obtain(size, length int64) bool {
	f.mu.Lock()
	kept := f.pieces.kept
	f.mu.Unlock()
	b := f.flights.budget
	switch {
	case !kept:
		return false
	case max(length, f.pieces.end+size) <= min(pressedWindow, f.limits.Stored.MaxObject): // a window takes as much
		b.Add(size)
		return true
	case f.tooMuch(size, length):
		return false
	case f.pieces.end+size <= leastWindow:
		return b.Take(size)
	}
	return b.AwaitBuffer(f.ctx, size)
}

// tooMuch tells whether the body can't be kept with size more bytes.
func (f *Flight) tooMuch(size, length int64) bool {
	most := max(length, f.pieces.end+1)
	if f.sinking() {
		return most > f.store.MaxOnDisk()
	}
	return most > f.limits.Stored.MaxObject || f.flights.stats.flying.Load()+size > f.limits.Flying ||
		most > leastWindow && f.store.InFlight().Scarce() // a window would take as much
}

// window is how much is held of a body that is not kept: little while there is little.
func (f *Flight) window() int64 {
	switch {
	case f.flights.budget.Pressed():
		return min(f.limits.Window, pressedWindow)
	case f.crowded(), f.store.InFlight().Scarce():
		return min(f.limits.Window, leastWindow)
	}
	return f.limits.Window
}

// crowded tells whether flights hold more than they should.
func (f *Flight) crowded() bool { return f.flights.stats.flying.Load() > f.limits.Flying }

const (
	leastWindow   = 64 << 10
	pressedWindow = 16 << 10
)

// wait keeps the pump back while a body that is not kept fills its window, or
// until the flight is over. Whoever stands in the way of others for too long is
// overtaken. mu is held, but for the time of waiting.
func (f *Flight) wait() error {
	var patience *time.Timer
	for {
		if err := f.unwanted(); err != nil {
			return err
		}
		if f.pieces.kept {
			return nil
		}
		f.flights.hold(-f.pieces.letGo())
		if f.pieces.held < f.window() {
			return nil
		}
		if patience == nil {
			patience = time.NewTimer(f.limits.Patience)
			defer patience.Stop()
		}
		changed := f.next()
		f.mu.Unlock()
		late := false
		select {
		case <-changed:
		case <-patience.C:
			late = true
		case <-f.ctx.Done():
		}
		f.mu.Lock()
		if late {
			patience.Reset(f.limits.Patience)
			if f.pieces.idle > 0 {
				f.flights.stats.cut.Add(uint64(f.pieces.overtake()))
				f.tell()
			}
		}
	}
}

// mostForsaken is how many flights that all have left before their head was known go
// on. Otherwise clients that ask and leave could have an origin asked without end.
const mostForsaken = 128

// abandon ends a flight whose last member has left, if it should go no further. It
// may be waiting for its origin. mu is held.
func (f *Flight) abandon() {
	f.leftAt = f.pieces.end
	switch f.state {
	case asking:
		f.forsake()
	case streaming:
		if f.unwanted() != nil {
			f.cancel(ErrUnwanted)
		}
	}
}

// forsake counts a flight that waits for its head for nobody. mu is held.
func (f *Flight) forsake() {
	if f.background {
		return
	}
	f.forsaken = true
	if f.flights.stats.forsaken.Add(1) > mostForsaken {
		f.reclaim()
		f.flights.stats.abandoned.Add(1)
		f.cancel(ErrUnwanted)
	}
}

// reclaim is forsake's opposite. mu is held.
func (f *Flight) reclaim() {
	if f.forsaken {
		f.forsaken = false
		f.flights.stats.forsaken.Add(-1)
	}
}

// missing is how many bytes are still to come or, where nobody knows, how many
// have come for nobody. mu is held.
func (f *Flight) missing() int64 {
	if f.answer.Length >= 0 {
		return f.answer.Length - f.pieces.end
	}
	return f.pieces.end - f.leftAt
}

// unwanted tells why the flight should go no further. A flight that was started
// in the background, and one that still has members, goes on; one that all have
// left only if it can be stored, or others may come late for it, with no more than
// Finish bytes. mu is held.
func (f *Flight) unwanted() error {
	if err := context.Cause(f.ctx); err != nil {
		return err
	}
	switch {
	case f.members > 0:
		return nil
	case !f.answer.Keep && f.lateFor == 0 || !f.pieces.kept, !f.background && f.missing() > f.limits.Finish:
		f.flights.stats.abandoned.Add(1)
		return ErrUnwanted
	}
	return nil
}

// smallestChunk and largestChunk are what is taken for the next bytes of a
// body: less at first when its length is not known.
const (
	smallestChunk = 4 << 10
	largestChunk  = 256 << 10
)

// chunkSize is how much to take for the next bytes of a body of which got bytes
// are there. length is -1 when it is not known.
func chunkSize(got, length int64) int64 {
	switch {
	case length < 0:
		return min(max(got, smallestChunk), largestChunk)
	case length <= store.MaxContiguous:
		return length - got
	}
	return min(length-got, largestChunk)
}
