package http2

// Headers appends a header block, and with end ends our side of the stream.
func (c *Conn) Headers(s *Stream, block []byte, end bool) {
	if s.closed {
		return
	}
	kind, flags := uint8(frameHeaders), uint8(0)
	if end {
		flags = flagEndStream
	}
	for {
		n := min(len(block), MaxFrame)
		if n == len(block) {
			flags |= flagEndHeaders
		}
		c.Out = append(appendHeader(c.Out, kind, flags, s.ID, n), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			break
		}
		kind, flags = frameContinuation, 0
	}
	if end {
		c.endLocal(s)
	}
}

// Sendable returns how many bytes of data the windows allow.
func (c *Conn) Sendable(s *Stream) int { return int(max(0, min(s.send, c.send))) }

// Blocked reports whether the window of the stream is used up, so that data of other streams
// can be sent.
func (c *Conn) Blocked(s *Stream) bool { return s.send <= 0 }

// Data appends the beginning of p in one frame, as much as the windows allow, and returns its
// length. If all of p was appended and end is set it ends our side of the stream.
func (c *Conn) Data(s *Stream, p []byte, end bool) int {
	n := min(len(p), c.Sendable(s), MaxFrame)
	if s.closed || n == 0 && (len(p) > 0 || !end) {
		return 0
	}
	flags := uint8(0)
	if end = end && n == len(p); end {
		flags = flagEndStream
	}
	c.Out = append(appendHeader(c.Out, frameData, flags, s.ID, n), p[:n]...)
	s.send -= int64(n)
	c.send -= int64(n)
	c.transferred(n)
	if end {
		c.endLocal(s)
	}
	return n
}

// Reset resets a stream.
func (c *Conn) Reset(s *Stream, code Code) {
	if s.closed {
		return
	}
	c.Out = appendUint32(appendHeader(c.Out, frameReset, 0, s.ID, 4), uint32(code))
	c.close(s, true)
}

// Consumed returns n bytes of a body to the windows.
func (c *Conn) Consumed(s *Stream, n int) {
	c.consumed(n)
	c.consumedBy(s, n)
}

// consumed returns bytes to the window of the connection. The client is notified when it has
// used half of the window.
func (c *Conn) consumed(n int) {
	if c.pending += int64(n); c.pending >= c.cfg.ConnWindow/2 {
		c.Out = appendUint32(appendHeader(c.Out, frameWindow, 0, 0, 4), uint32(c.pending))
		c.receive += c.pending
		c.pending = 0
	}
}

func (c *Conn) consumedBy(s *Stream, n int) {
	if s.closed || s.remoteEnd {
		return
	}
	if s.pending += int64(n); s.pending >= c.cfg.Window/2 {
		c.Out = appendUint32(appendHeader(c.Out, frameWindow, 0, s.ID, 4), uint32(s.pending))
		s.receive += s.pending
		s.pending = 0
	}
}

// GoAway appends a GOAWAY with the last stream that was opened. Later ones are ignored.
func (c *Conn) GoAway(code Code) {
	c.refusing = true
	c.goAway(c.lastID, code)
}

func (c *Conn) goAway(last uint32, code Code) {
	c.Out = appendUint32(appendUint32(appendHeader(c.Out, frameGoAway, 0, 0, 8), last), uint32(code))
}

// Drain announces that the connection ends: a GOAWAY with the highest id and a PING. When the
// client has answered that it has received the GOAWAY, so the second one has the id of the
// last stream, and an event Drained is returned.
func (c *Conn) Drain() {
	if c.draining || c.refusing {
		return
	}
	c.draining = true
	c.goAway(maxStreamID, NoError)
	c.Out = append(appendHeader(c.Out, framePing, 0, 0, 8), drainPing...)
}

// Refusing reports whether new streams are ignored.
func (c *Conn) Refusing() bool { return c.refusing }
