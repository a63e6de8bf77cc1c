package http2

import "encoding/binary"

// headers handles a HEADERS frame.
func (c *Conn) headers(f *frame, e *Event) error {
	if f.id%2 == 0 || !f.unpad() {
		return ProtocolError
	}
	if f.has(flagPriority) {
		if len(f.payload) < 5 {
			return FrameSizeError
		}
		if binary.BigEndian.Uint32(f.payload)&maxStreamID == f.id {
			return ProtocolError
		}
		f.payload = f.payload[5:]
	}
	if f.has(flagEndHeaders) {
		return c.fields(f, f.payload, e)
	}
	c.opening = *f
	c.opening.payload = nil
	c.block = append(c.block[:0], f.payload...)
	return c.control(1)
}

// continuation handles a CONTINUATION frame. A block can be larger than the limit of its
// decoded fields, which is answered, but not twice as large.
func (c *Conn) continuation(f *frame, e *Event) error {
	if c.opening.id == 0 {
		return ProtocolError
	}
	if len(c.block)+len(f.payload) > 2*c.cfg.HeaderList {
		return c.flood("header_block")
	}
	if err := c.control(1); err != nil {
		return err
	}
	c.block = append(c.block, f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	opening := c.opening
	c.opening = frame{}
	err := c.fields(&opening, c.block, e)
	if cap(c.block) > MaxFrame {
		c.block = nil // the fields have their own references
	}
	return err
}

// fields handles a complete header block. It is decoded in any case, because later blocks
// depend on it.
func (c *Conn) fields(f *frame, block []byte, e *Event) error {
	s := c.stream(f.id)
	if err := c.head.decode(c.dec, block, c.cfg.HeaderList, s != nil); err != nil {
		return err
	}
	if s != nil {
		return c.trailer(s, f, e)
	}
	if f.id <= c.lastID {
		found, byUs := c.ended.find(f.id)
		switch {
		case byUs:
			return c.control(1)
		case found:
			return StreamClosed
		}
		return ProtocolError
	}
	if c.refusing {
		return c.control(1)
	}
	c.lastID = f.id
	c.controls.add(perRequest)
	return c.request(f, e)
}

// request opens a stream.
func (c *Conn) request(f *frame, e *Event) error {
	refuse := NoError
	switch {
	case c.head.malformed:
		refuse = ProtocolError
	case len(c.streams) >= c.cfg.MaxStreams:
		refuse = RefusedStream
	case f.has(flagEndStream) && c.head.Length > 0 && !c.head.TooLarge:
		refuse = ProtocolError
	}
	if refuse != NoError {
		c.Out = appendUint32(appendHeader(c.Out, frameReset, 0, f.id, 4), uint32(refuse))
		c.ended.add(f.id, true)
		return c.countReset()
	}
	s := c.open(f.id)
	s.length = c.head.Length
	s.remoteEnd = f.has(flagEndStream)
	s.Incremental = incremental(c.head.Priority)
	*e = Event{Kind: Request, Stream: s, Head: &c.head, End: s.remoteEnd}
	return nil
}

// trailer handles the fields behind a body.
func (c *Conn) trailer(s *Stream, f *frame, e *Event) error {
	switch {
	case s.remoteEnd:
		return c.fail(s, StreamClosed, e)
	case !f.has(flagEndStream), c.head.malformed, s.length >= 0 && s.received != s.length:
		return c.fail(s, ProtocolError, e)
	}
	s.remoteEnd = true
	*e = Event{Kind: Trailer, Stream: s, Head: &c.head, End: true}
	return nil
}

// beginData handles the header of a DATA frame.
func (c *Conn) beginData(p []byte, f frame) (n int, e Event, err error) {
	n, size := headerSize, f.length
	pad := 0
	if f.has(flagPadded) {
		if f.length == 0 {
			return 0, e, FrameSizeError
		}
		if len(p) <= headerSize {
			return 0, e, nil
		}
		if pad = int(p[headerSize]); pad >= f.length {
			return 0, e, ProtocolError
		}
		n, size = n+1, f.length-1-pad
	}
	if f.id == 0 || c.idle(f.id) {
		return 0, e, ProtocolError
	}
	if c.receive -= int64(f.length); c.receive < 0 {
		return 0, e, FlowControlError
	}
	c.consumed(f.length - size)
	e.Kind = Handled
	s, err := c.accept(f, size, &e)
	if err != nil {
		return n, e, err
	}
	c.data = dataFrame{stream: s, left: size, pad: pad, end: f.has(flagEndStream)}
	switch {
	case size == 0:
		c.skip = pad
		if s != nil && c.data.end {
			s.remoteEnd = true
			e = Event{Kind: Data, Stream: s, End: true}
		} else {
			err = c.control(1)
		}
	case s == nil:
		err = c.control(1)
	}
	return n, e, err
}

// accept returns the stream of a DATA frame, or nil if its bytes are to be dropped.
func (c *Conn) accept(f frame, size int, e *Event) (*Stream, error) {
	s := c.stream(f.id)
	switch {
	case s == nil:
		found, byUs := c.ended.find(f.id)
		if byUs {
			return nil, nil
		}
		if found {
			return nil, StreamClosed
		}
		return nil, c.failID(f.id, StreamClosed, e)
	case s.remoteEnd:
		return nil, c.fail(s, StreamClosed, e)
	}
	if s.receive -= int64(f.length); s.receive < 0 {
		return nil, c.fail(s, FlowControlError, e)
	}
	if f.length > size { // padding is consumed at once
		c.consumedBy(s, f.length-size)
	}
	s.received += int64(size)
	if s.length >= 0 && (s.received > s.length || f.has(flagEndStream) && s.received != s.length) {
		return nil, c.fail(s, ProtocolError, e)
	}
	return s, nil
}

// nextData returns a part of a DATA frame.
func (c *Conn) nextData(p []byte) (n int, e Event, err error) {
	if len(p) == 0 {
		return 0, e, nil
	}
	d := &c.data
	n = min(d.left, len(p))
	if d.left -= n; d.left == 0 {
		c.skip = d.pad
	}
	if d.stream == nil || d.stream.closed {
		c.consumed(n)
		return n, Event{Kind: Handled}, nil
	}
	c.transferred(n)
	e = Event{Kind: Data, Stream: d.stream, Data: p[:n:n], End: d.end && d.left == 0}
	if e.End {
		d.stream.remoteEnd = true
	}
	if d.left == 0 {
		d.stream = nil
	}
	return n, e, nil
}
