package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// FeedForm is how a feed is written.
type FeedForm uint8

// The forms of feeds.
const (
	ContinuousFeed FeedForm = iota // feed=continuous
	NormalFeed                     // feed=normal and feed=longpoll
)

// EventKind says what Next has found.
type EventKind uint8

// Kind can be found in a feed.
const (
	HeartbeatEvent EventKind = iota // nothing has changed, and the node is there
	ChangeEvent                     // a change
	EndEvent                        // the end, as the node meant it, with "last_seq"
)

// MaxChange is the longest change that is read, in bytes.
const MaxChange = 1 << 20

// ErrTooLong says that a change is longer than MaxChange.
var ErrTooLong = errors.New("a change is longer than the limit")

// ErrMalformed says that a feed is not what a node would write.
var ErrMalformed = errors.New("not a feed of changes")

// FeedReader takes a feed apart as it comes. It holds no more of it than one object.
type FeedReader struct {
	src  io.Reader
	form FeedForm
	buf  []byte // what was read and not yet given out is buf[at:]
	at   int
	err  error // of src

	inResults bool // Results: between the brackets
	ended     bool
}

// NewFeedReader reads a feed of the given form.
func NewFeedReader(src io.Reader, form FeedForm) *FeedReader {
	return &FeedReader{src: src, form: form, buf: make([]byte, 0, 4096)}
}

// Next returns the next thing in the feed; object is its JSON, valid until the
// next call, and nil for a Beat. After Last, and after an end that the node did
// not announce, it returns io.EOF or io.ErrUnexpectedEOF.
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

// Waiting tells whether Next would have to wait for the node: nothing is left of
// what has come so far.
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

// readUntil returns what comes up to the next c, and takes that off as well.
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

// readOpening takes the beginning of a feed with results off.
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

// skipToToken returns the first byte that is no white space, without taking it.
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

// nextResult reads what comes next between the brackets of a feed with results.
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

// takeHeartbeat takes white space that is all there is: the node has nothing to tell.
func (r *FeedReader) takeHeartbeat() bool {
	rest := r.buf[r.at:]
	if len(rest) == 0 || rest[len(rest)-1] != '\n' || len(bytes.TrimSpace(rest)) > 0 {
		return false
	}
	r.at = len(r.buf)
	return true
}

// readClosing reads what follows the results: the members of the feed's own object.
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
	r.buf[r.at] = '{' // with it the rest is an object again
	text, err := r.readObject()
	r.ended = err == nil
	return EndEvent, text, err
}

// readObject takes the object that begins at r.at.
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

// fill reads on, behind what is not yet given out.
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

// endError is the error for a feed that is over before the node said so.
func (r *FeedReader) endError() error {
	if r.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return r.err
}
