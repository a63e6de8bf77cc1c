package edge

import (
	"slices"
	"time"
)

// flushAll sends all that is to be sent. The leader calls it without mu; it returns false if
// another goroutine leads, because writing has blocked.
func (h *h2Conn) flushAll() bool {
	h.mu.Lock()
	if h.writing || !h.p.Settled() && !h.failed || len(h.p.Out) == 0 && len(h.queue) == 0 {
		h.mu.Unlock()
		return true
	}
	turn := h.turn.Add(1)
	h.c.srv.h2.watch()
	h.flush()
	h.mu.Unlock()
	return h.turn.CompareAndSwap(turn, turn+1)
}

// makeRoom sends Out, or waits until another goroutine has. The leader calls it with mu held,
// which it always holds again; it returns false if another goroutine leads.
func (h *h2Conn) makeRoom() bool {
	for len(h.p.Out) >= h2OutSize && h.err == nil {
		if h.writing {
			h.crowded = true
			h.mu.Unlock()
			<-h.room
			h.lock()
			continue
		}
		h.mu.Unlock()
		if !h.flushAll() {
			h.mu.Lock()
			return false
		}
		h.lock()
	}
	return true
}

// flush sends what is to be sent, unless another goroutine is writing, which then continues.
// mu is held, but not during the write.
func (h *h2Conn) flush() {
	if h.writing {
		return
	}
	if h.fill(); len(h.p.Out) == 0 {
		return
	}
	h.writing = true
	h.write()
	if h.fill(); len(h.p.Out) > 0 {
		go h.writeAll() // this goroutine has other work
		return
	}
	h.writing = false
}

// writeOnce writes Out once, for a stream that needs the space. mu is held, but not during the
// write, and no goroutine is writing.
func (h *h2Conn) writeOnce() {
	h.writing = true
	h.write()
	if len(h.queue) > 0 {
		go h.writeAll()
		return
	}
	h.writing = false
}

// flushAside is flush for a goroutine that must not block. mu is held.
func (h *h2Conn) flushAside() {
	if !h.writing && len(h.p.Out) > 0 {
		h.writing = true
		go h.writeAll()
	}
}

// writeAll writes until nothing is to be sent.
func (h *h2Conn) writeAll() {
	h.mu.Lock()
	for h.fill(); len(h.p.Out) > 0; h.fill() {
		h.write()
	}
	h.writing = false
	if !h.closed && h.over() {
		h.wakeLeader()
	}
	h.mu.Unlock()
}

// write writes Out. mu is held, but not during the write, and writing is set.
func (h *h2Conn) write() {
	out := h.p.Out
	h.p.Out = nil
	now, limit := time.Since(h.c.srv.epoch), h.c.srv.set.Load().limits.WriteTimeout
	if left := h.armedWrite - now; left < limit/2 || left > limit {
		h.armedWrite = now + limit
		_ = h.c.Sock.SetWriteDeadline(h.c.srv.epoch.Add(h.armedWrite))
	}
	err := h.err
	h.mu.Unlock()
	if err == nil {
		_, err = h.c.NC.Write(out)
	}
	recycleOutput(out)
	h.lock()
	if err != nil && h.err == nil {
		h.err = err
		h.cancelStreams(false)
		_ = h.c.Sock.Close() // the leader's read fails
	}
	if h.crowded {
		h.crowded = false
		h.room <- struct{}{}
	}
}

// fill appends data of the streams that wait to send. mu is held.
//
// They are served in order, except that those whose client can use parts (RFC 9218) take
// turns.
func (h *h2Conn) fill() {
	for i := 0; i < len(h.queue); {
		s := h.queue[i]
		n := 0
		if s.st.Incremental {
			n = h.appendFrame(s, s.pending, s.last)
		} else {
			n = h.append(s, s.pending, s.last)
		}
		s.advance(n)
		switch {
		case len(s.pending) == 0:
			h.queue = slices.Delete(h.queue, i, i+1)
			s.wakeSender()
		case n == 0:
			i++ // its window is used up
		case s.st.Incremental:
			h.queue = append(slices.Delete(h.queue, i, i+1), s)
		}
		if h.p.Out != nil && cap(h.p.Out)-len(h.p.Out) < minFrame {
			return
		}
	}
}

// minFrame is the space in Out for which a frame of data is worthwhile.
const minFrame = 1 << 10

// append appends the beginning of p as frames of data, as much as the windows and the space
// in Out allow, and returns its length. mu is held.
func (h *h2Conn) append(s *h2Stream, p []byte, end bool) (n int) {
	for {
		k := h.appendFrame(s, p, end)
		n += k
		if p = p[k:]; k == 0 || len(p) == 0 {
			return n
		}
	}
}

// appendFrame is append for one frame.
func (h *h2Conn) appendFrame(s *h2Stream, p []byte, end bool) int {
	h.output()
	space := h2OutSize - len(h.p.Out) - minFrame/2
	if space < minFrame/2 && len(p) > 0 {
		return 0
	}
	piece := p[:min(len(p), max(space, 0))]
	return h.p.Data(s.st, piece, end && len(piece) == len(p))
}
