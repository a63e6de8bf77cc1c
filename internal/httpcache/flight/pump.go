package flight

import (
	"context"
	"io"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// maxEmptyReads is how many reads in a row may return no bytes.
const maxEmptyReads = 100

// pump reads the body into the buffer until it is whole. It holds back the last bytes of a
// body of known length and returns their number, so that no reader has the whole body
// before it is stored: a client that has it and repeats the request gets a hit.
func (f *Flight) pump(body io.Reader, length int64) (last int, err error) {
	empty := 0
	for {
		buf, err := f.room(length)
		if err != nil {
			return 0, err
		}
		n, err := body.Read(buf)
		if n > 0 && f.buffer.end+int64(n) == length {
			return f.readEnd(body, n, err)
		}
		if err := f.arrived(n, length); err != nil {
			return 0, err
		}
		switch {
		case err == io.EOF && length >= 0 && f.buffer.end != length:
			return 0, errShort
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, err
		case n > 0:
			empty = 0
		case empty == maxEmptyReads:
			return 0, errNoProgress
		default:
			empty++
		}
	}
}

// readEnd reads the end that must follow the last n bytes. If something else follows, the
// readers get these bytes before the error.
func (f *Flight) readEnd(body io.Reader, n int, err error) (last int, _ error) {
	var more [1]byte
	for empty := 0; err == nil; empty++ {
		var surplus int
		surplus, err = body.Read(more[:])
		switch {
		case surplus > 0:
			err = errSurplus
		case empty == maxEmptyReads:
			err = errNoProgress
		}
	}
	if err == io.EOF {
		return n, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffer.fill(n)
	f.notify()
	return 0, err
}

// arrived shows the readers n more bytes.
func (f *Flight) arrived(n int, length int64) error {
	if n == 0 {
		return nil
	}
	if length >= 0 && f.buffer.end+int64(n) > length {
		return errSurplus
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffer.fill(n)
	f.notify()
	return nil
}

// room returns memory for the next bytes. For a body that is not kept it waits until the
// slowest reader has made room. It reads fields without mu that only the pump changes.
func (f *Flight) room(length int64) ([]byte, error) {
	if free := f.buffer.free(); len(free) > 0 {
		return free, context.Cause(f.ctx)
	}
	if length >= 0 && f.buffer.end >= length {
		return make([]byte, 1), context.Cause(f.ctx) // for the end, or one byte too many
	}
	size := chunkSize(f.buffer.end, length)
	f.spillBuffer(length)
	counted := f.acquire(size, length)
	budget := f.group.budget
	f.mu.Lock()
	defer f.mu.Unlock()
	f.buffer.retain = f.buffer.retain && counted
	if err := f.awaitReaders(); err != nil {
		if counted {
			budget.Add(-size)
		}
		return nil, err
	}
	if !f.buffer.retain {
		size = min(size, f.window())
		budget.Add(size)
	}
	f.buffer.grow(size)
	f.group.holdCounted(size)
	return f.buffer.free(), nil
}

// acquire counts the next size bytes of a body that is kept in the budget, and waits
// briefly if there is no room for them. If it returns false the body is no longer kept.
func (f *Flight) acquire(size, length int64) bool {
	f.mu.Lock()
	retain := f.buffer.retain
	f.mu.Unlock()
	b := f.group.budget
	switch {
	case !retain:
		return false
	case max(length, f.buffer.end+size) <= min(pressedWindow, f.stored.MaxObject): // a window takes as much
		b.Add(size)
		return true
	case f.tooLarge(size, length):
		return false
	case f.buffer.end+size <= minWindow:
		return b.Take(size)
	}
	return b.AwaitBuffer(f.ctx, size)
}

// tooLarge reports whether the body can't be kept with size more bytes.
func (f *Flight) tooLarge(size, length int64) bool {
	total := max(length, f.buffer.end+1)
	if f.spill.active() {
		return total > f.group.store.MaxOnDisk()
	}
	return total > f.stored.MaxObject || f.group.stats.held.Load()+size > f.limits.MaxHeld ||
		total > minWindow && f.group.store.InFlight().Scarce() // a window would take as much
}

// window returns how much is held of a body that is not kept: less while memory is scarce.
func (f *Flight) window() int64 {
	switch {
	case f.group.budget.Pressed():
		return min(f.limits.Window, pressedWindow)
	case f.crowded(), f.group.store.InFlight().Scarce():
		return min(f.limits.Window, minWindow)
	}
	return f.limits.Window
}

// crowded reports whether flights hold more than Limits.MaxHeld.
func (f *Flight) crowded() bool { return f.group.stats.held.Load() > f.limits.MaxHeld }

const (
	minWindow     = 64 << 10 // while flights are crowded
	pressedWindow = 16 << 10 // while the budget is nearly used up
)

// awaitReaders waits while a body that is not kept fills its window. It cuts off readers
// that keep others waiting for longer than Limits.SlowReaderTimeout. mu is held, but not while it
// waits.
func (f *Flight) awaitReaders() error {
	var timer *time.Timer
	for {
		if err := f.unwanted(); err != nil {
			return err
		}
		if f.buffer.retain {
			return nil
		}
		f.group.hold(-f.buffer.dropRead())
		if f.buffer.held < f.window() {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(f.limits.SlowReaderTimeout)
			defer timer.Stop()
		}
		changed := f.next()
		f.mu.Unlock()
		late := false
		select {
		case <-changed:
		case <-timer.C:
			late = true
		case <-f.ctx.Done():
		}
		f.mu.Lock()
		if late {
			timer.Reset(f.limits.SlowReaderTimeout)
			if f.buffer.idle > 0 {
				f.group.stats.cut.Add(uint64(f.buffer.cutSlowest()))
				f.notify()
			}
		}
	}
}

const (
	smallestChunk = 4 << 10   // the first piece of a body of unknown length
	largestChunk  = 256 << 10 // a piece of a long body
)

// chunkSize returns how much memory to take for the next bytes of a body of which got
// bytes have arrived. length is -1 if it is not known.
func chunkSize(got, length int64) int64 {
	switch {
	case length < 0:
		return min(max(got, smallestChunk), largestChunk)
	case length <= store.MaxContiguous:
		return length - got
	}
	return min(length-got, largestChunk)
}
