package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// FeedForm is the format of a feed.
type FeedForm uint8

// The formats of feeds. ContinuousFeed has one JSON object per line, an empty line as a
// heartbeat, and a last line with "last_seq" if the node ends it. NormalFeed is one JSON
// object with the changes in "results"; a long poll's heartbeats are newlines between them.
const (
	ContinuousFeed FeedForm = iota // feed=continuous
	NormalFeed                     // feed=normal and feed=longpoll
)

// EventKind is the kind of an event in a feed.
type EventKind uint8

// The kinds of events.
const (
	HeartbeatEvent EventKind = iota // no change; a sign of life from the node
	ChangeEvent                     // a change
	EndEvent                        // an orderly end with "last_seq"
)

// MaxChange is the maximum size of a change in bytes.
const MaxChange = 1 << 20

// ErrTooLong is returned for a change longer than MaxChange.
var ErrTooLong = errors.New("a change is longer than the limit")

// ErrMalformed is returned for data that a node would not write.
var ErrMalformed = errors.New("not a feed of changes")

// FeedReader parses a feed while it arrives. It buffers at most one object.
type FeedReader struct {
	src  io.Reader
	form FeedForm
	buf  []byte // unread data is buf[at:]
	at   int
	err  error // of src

	inResults bool // NormalFeed: between the brackets
	ended     bool
}

// NewFeedReader returns a reader for a feed of the given form.
func NewFeedReader(src io.Reader, form FeedForm) *FeedReader {
	return &FeedReader{src: src, form: form, buf: make([]byte, 0, 4096)}
}

// Next returns the next event. object is its JSON, which is valid until the next call; nil
// for a HeartbeatEvent. After an EndEvent, Next returns io.EOF. If the feed ends without
// one, it returns io.ErrUnexpectedEOF.
func (r *FeedReader) Next() (kind EventKind, object []byte, err error) {
	switch {
	case r.ended:
		return 0, nil, io.EOF
	case r.form == ContinuousFeed:
		return r.nextLine()
	case !r.inResults:
		if err := r.readOpening(); err != nil {
			return 0, nil, err
		}
	}
	return r.nextResult()
}

// Waiting reports whether all data received so far is consumed, so that Next would have to
// wait for the node.
func (r *FeedReader) Waiting() bool { return r.at == len(r.buf) }

// nextLine reads one line of a continuous feed.
func (r *FeedReader) nextLine() (EventKind, []byte, error) {
	text, err := r.readUntil('\n')
	if err != nil {
		return 0, nil, err
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return HeartbeatEvent, nil, nil
	}
	if text[0] != '{' || !json.Valid(text) {
		return 0, nil, fmt.Errorf("%w: line %.40q", ErrMalformed, text)
	}
	if isEnd(text) {
		r.ended = true
		return EndEvent, text, nil
	}
	return ChangeEvent, text, nil
}

// readUntil consumes the data up to the next c, and returns it without c.
func (r *FeedReader) readUntil(c byte) ([]byte, error) {
	for from := r.at; ; {
		if i := bytes.IndexByte(r.buf[from:], c); i >= 0 {
			text := r.buf[r.at : from+i]
			r.at = from + i + 1
			return text, nil
		}
		seen := len(r.buf) - r.at
		if err := r.fill(); err != nil {
			return nil, err
		}
		from = r.at + seen
	}
}

// readOpening consumes the beginning of a NormalFeed.
func (r *FeedReader) readOpening() error {
	for _, want := range []string{"{", `"results"`, ":", "["} {
		if _, err := r.skipToToken(); err != nil {
			return err
		}
		for len(r.buf)-r.at < len(want) {
			if err := r.fill(); err != nil {
				return err
			}
		}
		if got := r.buf[r.at : r.at+len(want)]; string(got) != want {
			return fmt.Errorf("%w: %.40q where %s should be", ErrMalformed, got, want)
		}
		r.at += len(want)
	}
	r.inResults = true
	return nil
}

// skipToToken skips white space and returns the next byte without consuming it.
func (r *FeedReader) skipToToken() (byte, error) {
	for {
		for ; r.at < len(r.buf); r.at++ {
			if c := r.buf[r.at]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return c, nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// nextResult reads the next event between the brackets of a NormalFeed.
func (r *FeedReader) nextResult() (EventKind, []byte, error) {
	for {
		if r.takeHeartbeat() {
			return HeartbeatEvent, nil, nil
		}
		c, err := r.skipToToken()
		switch {
		case err != nil:
			return 0, nil, err
		case c == ',':
			r.at++
		case c == ']':
			return r.readClosing()
		case c == '{':
			text, err := r.readObject()
			return ChangeEvent, text, err
		default:
			return 0, nil, fmt.Errorf("%w: %q among the results", ErrMalformed, c)
		}
	}
}

// takeHeartbeat consumes white space at the end of the data, and reports whether there is
// any: it is a heartbeat.
func (r *FeedReader) takeHeartbeat() bool {
	rest := r.buf[r.at:]
	if len(rest) == 0 || rest[len(rest)-1] != '\n' || len(bytes.TrimSpace(rest)) > 0 {
		return false
	}
	r.at = len(r.buf)
	return true
}

// readClosing reads the members after the results.
func (r *FeedReader) readClosing() (EventKind, []byte, error) {
	r.at++
	c, err := r.skipToToken()
	switch {
	case err != nil:
		return 0, nil, err
	case c == '}':
		r.ended = true
		return EndEvent, []byte("{}"), nil
	case c != ',':
		return 0, nil, fmt.Errorf("%w: %q after the results", ErrMalformed, c)
	}
	r.buf[r.at] = '{' // makes an object of the rest
	text, err := r.readObject()
	r.ended = err == nil
	return EndEvent, text, err
}

// readObject consumes the object that begins at r.at.
func (r *FeedReader) readObject() ([]byte, error) {
	depth, quoted, escaped := 0, false, false
	for i := 0; ; i++ {
		for r.at+i >= len(r.buf) {
			if err := r.fill(); err != nil {
				return nil, err
			}
		}
		switch c := r.buf[r.at+i]; {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > 0 {
			continue
		}
		text := r.buf[r.at : r.at+i+1]
		r.at += i + 1
		if !json.Valid(text) {
			return nil, fmt.Errorf("%w: %.40q", ErrMalformed, text)
		}
		return text, nil
	}
}

// fill reads more data into the buffer.
func (r *FeedReader) fill() error {
	if r.err != nil {
		return r.endError()
	}
	if r.at > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
		r.at = 0
	}
	if len(r.buf) == cap(r.buf) {
		if len(r.buf) >= MaxChange {
			return ErrTooLong
		}
		r.buf = append(make([]byte, 0, min(2*cap(r.buf), MaxChange)), r.buf...)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	r.err = err
	if n == 0 && err != nil {
		return r.endError()
	}
	return nil
}

// endError returns the error for a feed that ended without an EndEvent.
func (r *FeedReader) endError() error {
	if r.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return r.err
}
