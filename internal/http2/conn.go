// Package http2 is the server's side of HTTP/2 (RFC 9113) as a state machine: bytes that were
// received become events, and methods append the frames that are to be sent to a buffer. The
// package has no connections, goroutines, locks or clocks; its caller has them.
//
//	c := http2.NewConn(http2.Config{MaxStreams: 250, HeaderList: 32 << 10, Window: 1 << 18, ConnWindow: 1 << 20})
//	for {
//		n, event, err := c.Next(received)
//		received = received[n:]
//		// On an error: c.GoAway(code), send c.Out, close the connection.
//		// Event None: send c.Out, and receive more.
//	}
//
// Whatever a client sends, a Conn has bounded memory: a table of header fields, one header
// block, and MaxStreams streams without their bodies, which the caller holds within the windows
// of flow control. Frames that carry no part of a request, and resets, are counted, and a
// client that sends too many of them is disconnected.
package http2

import (
	"encoding/binary"
	"time"
)

// Config describes a Conn.
type Config struct {
	MaxStreams int
	// HeaderList bounds the fields of a request as SETTINGS_MAX_HEADER_LIST_SIZE does.
	HeaderList int
	// Window and ConnWindow are how many bytes of a request's body, and of all of them, the
	// client may send before they are consumed.
	Window, ConnWindow int64
}

// Kind is the kind of an event.
type Kind uint8

// Kinds of events.
const (
	// None asks for more bytes.
	None Kind = iota
	// Handled is returned for a frame that needs nothing from the caller.
	Handled
	// Request is the head of a request. End is set if the request has no body.
	Request
	// Data is a part of a body, which is not empty unless End is set.
	Data
	// Trailer is the end of a body with fields behind it.
	Trailer
	// Reset ends a stream that the client has reset, or that was reset because of an error
	// of the client's.
	Reset
	// Window is returned when more can be sent, on Stream, or on all of them if that is nil.
	Window
	// Drained follows Drain: no more streams will be opened.
	Drained
)

// Event is the result of Next.
type Event struct {
	Kind   Kind
	Stream *Stream
	// Data is a slice of the bytes passed to Next.
	Data []byte
	Head *Head
	End  bool
	Code Code // of Reset
}

// Conn is the state of a connection.
type Conn struct {
	// Out has the frames to be sent. The caller removes them.
	Out []byte
	// Now is the time, from any moment on. The caller sets it before calling Next.
	Now time.Duration
	// Flood is the reason for which Next has returned EnhanceYourCalm.
	Flood string

	cfg     Config
	dec     *Decoder
	head    Head
	block   []byte // of header fields, with its CONTINUATION frames
	opening frame  // the HEADERS frame of an incomplete block; its id is 0 if there is none
	ended   endedStreams

	streams []*Stream // the open ones, by id
	free    []*Stream
	lastID  uint32

	greeted, settled bool // the preface has arrived; the first SETTINGS have
	draining         bool // Drain was called
	refusing         bool // the last GOAWAY was sent: streams above lastID are ignored

	send       int64 // what the peer's window of the connection allows
	receive    int64
	pending    int64 // bytes consumed that the window does not have back yet
	peerWindow int64 // of new streams

	data    dataFrame
	skip    int // bytes of padding
	partial bool

	controls, resets bucket
}

// dataFrame is a DATA frame of which a part has arrived.
type dataFrame struct {
	stream *Stream // nil if its bytes are dropped
	left   int
	pad    int
	end    bool
}

// NewConn returns a connection whose Out begins with the server's SETTINGS.
func NewConn(cfg Config) *Conn {
	c := &Conn{cfg: cfg, dec: NewDecoder(), send: defaultWindow, receive: cfg.ConnWindow, peerWindow: defaultWindow}
	c.controls = bucket{burst: controlBurst, perSecond: controlPerSecond}
	c.resets = bucket{burst: resetBurst, perSecond: resetPerSecond}
	c.Out = appendHeader(c.Out, frameSettings, 0, 0, 4*6)
	c.Out = appendSetting(c.Out, settingStreams, uint32(cfg.MaxStreams))
	c.Out = appendSetting(c.Out, settingWindow, uint32(cfg.Window))
	c.Out = appendSetting(c.Out, settingHeaderList, uint32(cfg.HeaderList))
	c.Out = appendSetting(c.Out, settingNoPriorities, 1)
	if more := cfg.ConnWindow - defaultWindow; more > 0 {
		c.Out = appendUint32(appendHeader(c.Out, frameWindow, 0, 0, 4), uint32(more))
	}
	return c
}

// Streams returns the number of open streams.
func (c *Conn) Streams() int { return len(c.streams) }

// Partial reports whether a frame that is not DATA, or a header block, is incomplete.
func (c *Conn) Partial() bool { return c.partial || c.opening.id != 0 }

// InBlock reports whether a header block is incomplete.
func (c *Conn) InBlock() bool { return c.opening.id != 0 }

// Settled reports whether the client's first frame has arrived, before which nothing needs to
// be sent.
func (c *Conn) Settled() bool { return c.settled }

// Next handles the first bytes of p and returns how many it has used. An error is a Code and
// ends the connection.
func (c *Conn) Next(p []byte) (n int, e Event, err error) {
	c.partial = false
	if !c.greeted {
		return c.greet(p)
	}
	switch {
	case c.data.left > 0:
		return c.nextData(p)
	case c.skip > 0:
		n = min(c.skip, len(p))
		c.skip -= n
		return n, Event{Kind: handledIf(n)}, nil
	case len(p) < headerSize:
		c.partial = len(p) > 0
		return 0, Event{}, nil
	}
	f := parseHeader(p)
	switch {
	case f.length > MaxFrame:
		return 0, e, FrameSizeError
	case !c.settled && (f.kind != frameSettings || f.has(flagAck)):
		return 0, e, ProtocolError
	case c.opening.id != 0 && (f.kind != frameContinuation || f.id != c.opening.id):
		return 0, e, ProtocolError
	case f.kind == frameData:
		return c.beginData(p, f)
	case len(p) < headerSize+f.length:
		c.partial = true
		return 0, e, nil
	}
	n = headerSize + f.length
	f.payload = p[headerSize:n:n]
	e.Kind = Handled
	err = c.dispatch(&f, &e)
	return n, e, err
}

func handledIf(n int) Kind {
	if n > 0 {
		return Handled
	}
	return None
}

// greet checks the preface.
func (c *Conn) greet(p []byte) (int, Event, error) {
	n := min(len(p), len(preface))
	if string(p[:n]) != preface[:n] {
		return 0, Event{}, ProtocolError
	}
	if c.partial = n < len(preface); c.partial {
		return 0, Event{}, nil
	}
	c.greeted = true
	return n, Event{Kind: Handled}, nil
}

// dispatch handles a frame that is not DATA.
func (c *Conn) dispatch(f *frame, e *Event) error {
	switch f.kind {
	case frameHeaders:
		return c.headers(f, e)
	case frameContinuation:
		return c.continuation(f, e)
	case frameReset:
		return c.reset(f, e)
	case frameSettings:
		return c.settings(f, e)
	case framePing:
		return c.ping(f, e)
	case frameWindow:
		return c.window(f, e)
	case framePriority:
		return c.priority(f, e)
	case framePriorityUpdate:
		return c.priorityUpdate(f)
	case framePush:
		return ProtocolError
	case frameGoAway:
		if f.id != 0 {
			return ProtocolError
		}
		if len(f.payload) < 8 {
			return FrameSizeError
		}
	}
	return c.control(1) // also for unknown types
}

// settings applies the settings of the peer.
func (c *Conn) settings(f *frame, e *Event) error {
	switch {
	case f.id != 0:
		return ProtocolError
	case f.has(flagAck) && len(f.payload) > 0, len(f.payload)%6 != 0:
		return FrameSizeError
	case f.has(flagAck):
		return c.control(1)
	}
	c.settled = true
	window := c.peerWindow
	for p := f.payload; len(p) > 0; p = p[6:] {
		v := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case settingPush:
			if v > 1 {
				return ProtocolError
			}
		case settingWindow:
			if v > maxWindow {
				return FlowControlError
			}
			window = int64(v)
		case settingFrameSize:
			if v < MaxFrame || v > largestFrameSettable {
				return ProtocolError
			}
		}
	}
	if change := window - c.peerWindow; change != 0 {
		c.peerWindow = window
		for _, s := range c.streams {
			if s.send += change; s.send > maxWindow {
				return FlowControlError
			}
		}
		e.Kind = Window
	}
	c.Out = appendHeader(c.Out, frameSettings, flagAck, 0, 0)
	return c.control(1 + len(f.payload)/64)
}

// drainPing is the payload of the PING that follows the first GOAWAY of Drain.
const drainPing = "drain..."

// ping answers a PING.
func (c *Conn) ping(f *frame, e *Event) error {
	switch {
	case f.id != 0:
		return ProtocolError
	case len(f.payload) != 8:
		return FrameSizeError
	case f.has(flagAck):
		if c.draining && !c.refusing && string(f.payload) == drainPing {
			c.GoAway(NoError)
			e.Kind = Drained
			return nil
		}
		return c.control(1)
	}
	c.Out = append(appendHeader(c.Out, framePing, flagAck, 0, 8), f.payload...)
	return c.control(1)
}

// window applies a WINDOW_UPDATE.
func (c *Conn) window(f *frame, e *Event) error {
	if len(f.payload) != 4 {
		return FrameSizeError
	}
	n := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if err := c.control(1); err != nil {
		return err
	}
	if f.id == 0 {
		if n == 0 {
			return ProtocolError
		}
		if c.send += n; c.send > maxWindow {
			return FlowControlError
		}
		e.Kind = Window
		return nil
	}
	s := c.stream(f.id)
	switch {
	case s == nil && c.idle(f.id):
		return ProtocolError
	case s == nil:
		return nil // closed a short time ago
	case n == 0:
		return c.fail(s, ProtocolError, e)
	}
	if s.send += n; s.send > maxWindow {
		return c.fail(s, FlowControlError, e)
	}
	e.Kind, e.Stream = Window, s
	return nil
}

// idle reports whether no stream of that id was ever opened.
func (c *Conn) idle(id uint32) bool { return id > c.lastID || id%2 == 0 }

// priority checks a PRIORITY frame, which has no effect.
func (c *Conn) priority(f *frame, e *Event) error {
	if f.id == 0 {
		return ProtocolError
	}
	if len(f.payload) != 5 {
		return c.failID(f.id, FrameSizeError, e)
	}
	if binary.BigEndian.Uint32(f.payload)&maxStreamID == f.id {
		return c.failID(f.id, ProtocolError, e)
	}
	return c.control(1)
}

// priorityUpdate applies a PRIORITY_UPDATE to an open stream.
func (c *Conn) priorityUpdate(f *frame) error {
	if f.id != 0 {
		return ProtocolError
	}
	if len(f.payload) < 4 {
		return FrameSizeError
	}
	id := binary.BigEndian.Uint32(f.payload) & maxStreamID
	if id == 0 {
		return ProtocolError
	}
	if s := c.stream(id); s != nil {
		s.Incremental = incremental(f.payload[4:])
	}
	return c.control(1)
}

// reset handles a stream that the client has reset.
func (c *Conn) reset(f *frame, e *Event) error {
	switch {
	case f.id == 0:
		return ProtocolError
	case len(f.payload) != 4:
		return FrameSizeError
	}
	s := c.stream(f.id)
	if s == nil {
		if c.idle(f.id) {
			return ProtocolError
		}
		return c.control(1)
	}
	c.close(s, false)
	*e = Event{Kind: Reset, Stream: s, Code: Code(binary.BigEndian.Uint32(f.payload))}
	return c.countReset()
}

// fail resets a stream because of an error of the client's.
func (c *Conn) fail(s *Stream, code Code, e *Event) error {
	c.Reset(s, code)
	*e = Event{Kind: Reset, Stream: s, Code: code}
	return c.countReset()
}

// failID is fail for a stream that may not be open.
func (c *Conn) failID(id uint32, code Code, e *Event) error {
	if s := c.stream(id); s != nil {
		return c.fail(s, code, e)
	}
	c.Out = appendUint32(appendHeader(c.Out, frameReset, 0, id, 4), uint32(code))
	return c.countReset()
}
