package http2

import "slices"

// Stream is an open stream. It belongs to its Conn, which reuses it after it is closed and
// Release was called.
type Stream struct {
	ID uint32
	// Owner is set by the caller.
	Owner any
	// Incremental is set if the client can use parts of the answer (RFC 9218).
	Incremental bool

	send     int64 // bytes that the peer's window allows to be sent
	receive  int64 // bytes that our window allows the peer to send
	pending  int64 // bytes consumed that the peer's window does not have back yet
	length   int64 // announced; -1: not
	received int64

	remoteEnd bool // the peer has ended its side
	localEnd  bool
	closed    bool
}

// Closed reports whether the stream was reset or has ended on both sides.
func (s *Stream) Closed() bool { return s.closed }

// Ended reports whether the request is complete.
func (s *Stream) Ended() bool { return s.remoteEnd }

// find returns the place of a stream among the open ones, which are ordered by id.
func (c *Conn) find(id uint32) (int, bool) {
	// The newest streams are the most frequent.
	if n := len(c.streams); n == 0 || c.streams[n-1].ID < id {
		return n, false
	}
	return slices.BinarySearchFunc(c.streams, id, func(s *Stream, id uint32) int { return int(s.ID) - int(id) })
}

// stream returns an open stream, or nil.
func (c *Conn) stream(id uint32) *Stream {
	if i, ok := c.find(id); ok {
		return c.streams[i]
	}
	return nil
}

// open makes a stream with the highest id so far.
func (c *Conn) open(id uint32) *Stream {
	var s *Stream
	if n := len(c.free); n > 0 {
		s, c.free = c.free[n-1], c.free[:n-1]
	} else {
		s = new(Stream)
	}
	*s = Stream{ID: id, send: c.peerWindow, receive: c.cfg.Window, length: -1}
	c.streams = append(c.streams, s)
	return s
}

// maxFree bounds the streams that are kept for reuse.
const maxFree = 16

// Release makes a closed stream available to later requests. The caller has no reference to
// it any more.
func (c *Conn) Release(s *Stream) {
	if c.data.stream == s {
		c.data.stream = nil // the rest of its frame is dropped
	}
	if s.Owner = nil; len(c.free) < maxFree {
		c.free = append(c.free, s)
	}
}

// close removes a stream from the open ones.
func (c *Conn) close(s *Stream, byUs bool) {
	if s.closed {
		return
	}
	s.closed = true
	if i, ok := c.find(s.ID); ok {
		c.streams = slices.Delete(c.streams, i, i+1)
	}
	c.ended.add(s.ID, byUs)
}

// CloseLast closes the newest open stream without a frame, and returns it. There must be one.
func (c *Conn) CloseLast() *Stream {
	s := c.streams[len(c.streams)-1]
	c.close(s, true)
	return s
}

// endLocal marks our side as ended. A request that is not complete is no longer wanted: the
// client is asked to stop without an error.
func (c *Conn) endLocal(s *Stream) {
	s.localEnd = true
	if !s.remoteEnd {
		c.Out = appendUint32(appendHeader(c.Out, frameReset, 0, s.ID, 4), uint32(NoError))
		c.close(s, true)
		return
	}
	c.close(s, false)
}

// endedStreams holds the ids of the last closed streams. Frames may still arrive on streams
// that this side has reset; on others they are errors.
type endedStreams struct {
	ids  [64]uint32 // the highest bit is set if this side has reset the stream
	next int
}

const resetByUs = 1 << 31

func (e *endedStreams) add(id uint32, byUs bool) {
	if byUs {
		id |= resetByUs
	}
	e.ids[e.next%len(e.ids)] = id
	e.next++
}

// find reports whether a stream was closed recently, and whether this side has reset it.
func (e *endedStreams) find(id uint32) (found, byUs bool) {
	for _, v := range e.ids {
		if v&^resetByUs == id {
			return true, v&resetByUs != 0
		}
	}
	return false, false
}
