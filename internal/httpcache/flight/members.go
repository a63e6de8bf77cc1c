package flight

import (
	"context"
	"sync/atomic"
)

// members counts the requests that take part in a flight. Flight.mu guards it.
type members struct {
	n      int
	leftAt int64   // bytes that had arrived when the last one left
	place  *places // that the flight takes because all left before its head; nil: none
}

// maxAbandoned is how many flights continue after all their members left before the head
// was known. Without it, clients that send requests and leave could keep any number of
// requests at an origin.
const maxAbandoned = 128

// places counts the flights that continue although they were abandoned.
type places struct{ taken atomic.Int64 }

func (p *places) take() bool {
	if p.taken.Add(1) > maxAbandoned {
		p.taken.Add(-1)
		return false
	}
	return true
}

// yieldPlace gives the flight's place back, if it has one: a request joined it, or it ended.
func (m *members) yieldPlace() {
	if m.place != nil {
		m.place.taken.Add(-1)
		m.place = nil
	}
}

// enter counts a request in, at the beginning of the body. mu is held.
func (f *Flight) enter() {
	f.members.n++
	f.members.yieldPlace()
	f.buffer.add()
	if f.state == abandoned {
		f.to(asking)
	}
}

// leave uncounts a request positioned in that piece. It reports whether the flight is
// released by that: then its spill is to be closed. mu is held.
func (f *Flight) leave(piece int) (last bool) {
	f.members.n--
	f.buffer.remove(piece)
	f.notify()
	if f.members.n > 0 {
		return false
	}
	f.members.leftAt = f.buffer.end
	switch f.state {
	case asking:
		f.abandon()
	case streaming:
		if f.unwanted() != nil {
			f.giveUp()
		}
	case draining:
		f.to(released)
		f.remainder.release()
	}
	return f.state == released
}

// abandon lets a flight continue without members while it waits for its head, unless too
// many do. mu is held.
func (f *Flight) abandon() {
	if f.background {
		return
	}
	f.to(abandoned)
	if p := &f.group.abandoned; p.take() {
		f.members.place = p
		return
	}
	f.group.stats.abandoned.Add(1)
	f.giveUp()
}

// giveUp ends the flight's context. mu is held.
func (f *Flight) giveUp() {
	f.to(canceled)
	f.cancel(ErrUnwanted)
}

// unwanted returns the reason why a streaming flight should not continue; nil if it should.
// It continues while it has members. Without members it continues if its answer can be
// stored, or joined late, and no more than Limits.Finish bytes are missing; one in the
// background continues however many are. mu is held.
func (f *Flight) unwanted() error {
	if err := context.Cause(f.ctx); err != nil {
		return err
	}
	a := f.result.answer
	switch {
	case f.members.n > 0:
		return nil
	case !a.Keep && f.linger == 0 || !f.buffer.retain, !f.background && f.missing() > f.limits.Finish:
		f.group.stats.abandoned.Add(1)
		return ErrUnwanted
	}
	return nil
}

// missing returns how many bytes are still to arrive. If the length is not known it returns
// how many have arrived since the last member left. mu is held.
func (f *Flight) missing() int64 {
	if n := f.result.answer.Length; n >= 0 {
		return n - f.buffer.end
	}
	return f.buffer.end - f.members.leftAt
}
