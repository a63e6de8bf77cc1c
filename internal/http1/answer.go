package http1

import (
	"github.com/kasoku/kasoku/internal/ascii"
)

// AnswerLimits bound the answers that are accepted from an origin. The zero value is the
// strictest reading with the default bounds.
type AnswerLimits struct {
	// Head is the size of one head in bytes, status line included. Default 64 KiB.
	Head int
	// Fields is the number of header lines. Default 256.
	Fields int
	// ForeignCoding accepts an answer whose Transfer-Encoding names only codings other than
	// chunked, and announces no length: its body ends with the connection (RFC 9112, 6.3),
	// and remains in those codings. A coding that compresses, or has a name like chunked, is
	// never accepted.
	ForeignCoding bool
	// BothFramings accepts an answer with both chunks and a Content-Length as one with
	// chunks (RFC 9112, 6.3), drops the length, and closes the connection afterwards.
	BothFramings bool
}

var (
	errStatusLine = &Error{502, "malformed status line"}
	errStatus     = &Error{502, "malformed status"}
	errLengths    = &Error{502, "different Content-Lengths"}
	errInterim    = &Error{502, "interim answer with a body"}
)

// Response is the parsed head of one answer, including interim ones. All slices alias the
// buffer passed to ParseAnswer.
type Response struct {
	// Status is from 100 to 999.
	Status int
	// Reason is the text behind the status, which may be missing.
	Reason []byte
	// Minor is 0 for HTTP/1.0 and 1 for every later HTTP/1.
	Minor int
	// Fields are the header lines in their order. A repeated Content-Length, or one that
	// chunks overrule, is omitted.
	Fields Fields
	// ContentLength is the announced length, or -1 if none was.
	ContentLength int64
	// Chunked is set if the body is chunked.
	Chunked bool
	// Close is set if the connection can't be used after this answer.
	Close bool

	scan scanState
}

// Framing is how the body of an answer ends.
type Framing uint8

const (
	NoBody Framing = iota // only a head
	// Length means that the body has ContentLength bytes.
	Length
	// Chunks means that the body is to be decoded by Chunked.
	Chunks
	// UntilClose means that the body ends with the connection: with its orderly
	// end, for otherwise it was cut.
	UntilClose
)

// Body returns how the body ends. Where no body is allowed, after a HEAD request and with
// 1xx, 204 and 304, the announced one does not count.
func (r *Response) Body(head bool) Framing {
	switch {
	case head || !BodyAllowed(r.Status) || r.ContentLength == 0:
		return NoBody
	case r.Chunked:
		return Chunks
	case r.ContentLength > 0:
		return Length
	}
	return UntilClose
}

// Reset clears the head, even if it is partly parsed, but keeps the storage of Fields.
func (r *Response) Reset() { *r = Response{Fields: r.Fields[:0], ContentLength: -1} }

// ParseAnswer reads the head at the beginning of buf as ParseRequest does, with the same
// rules for further calls. Every error is an *Error with the status 502.
func ParseAnswer(buf []byte, lim *AnswerLimits, r *Response) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	if r.scan.base != &buf[0] {
		r.Reset()
		r.scan.base = &buf[0]
	}
	n, err = r.parse(buf, lim)
	if n != 0 || err != nil {
		r.scan.base = nil
	}
	if e, ok := err.(*Error); ok && e.Status != 502 {
		err = &Error{502, e.Reason}
	}
	return n, err
}

// parse handles the complete lines.
func (r *Response) parse(buf []byte, lim *AnswerLimits) (int, error) {
	s := &r.scan
	maxHead := or(lim.Head, 64<<10)
	b := buf[:min(len(buf), maxHead)]
	for {
		line := s.next(b)
		switch {
		case line == nil && !s.begun && !hasPrefix(b, "HTTP/"):
			return 0, errStatusLine
		case line == nil && len(b) == maxHead:
			return 0, errHeadSize
		case line == nil:
			return 0, nil
		case !s.begun:
			if err := r.statusLine(line); err != nil {
				return 0, err
			}
			s.begun = true
		case len(line) == 2 && line[0] == '\r':
			if err := r.finish(lim); err != nil {
				return 0, err
			}
			return s.line, nil
		default:
			if err := r.field(line, lim); err != nil {
				return 0, err
			}
		}
	}
}

// hasPrefix reports whether b, or its beginning if it is shorter, equals prefix.
func hasPrefix(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

// statusLine parses "HTTP/1.1 200 OK"; reason and the blank before it may be
// missing.
func (r *Response) statusLine(line []byte) (err error) {
	end := len(line) - 2
	switch {
	case !hasPrefix(line, "HTTP/"):
		return errStatusLine
	case line[end] != '\r':
		return errLineEnd
	case end < versionIs+4 || line[versionIs] != ' ':
		return errStatusLine
	}
	if r.Minor, err = minorOf(line[:versionIs]); err != nil {
		return err
	}
	code, rest := line[versionIs+1:versionIs+4], line[versionIs+4:end]
	if !allOf(code, isDigit) || code[0] == '0' || len(rest) > 0 && rest[0] != ' ' {
		return errStatus
	}
	r.Status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	if !ValidValue(rest) {
		return errStatusLine
	}
	r.Reason = ascii.Trim(rest)
	return nil
}

// field parses one header line.
func (r *Response) field(line []byte, lim *AnswerLimits) error {
	f, err := parseField(line)
	if err == errFieldName {
		f, err = spacedField(line)
	}
	if err != nil {
		return err
	}
	if len(r.Fields) >= or(lim.Fields, 256) {
		return errFieldCount
	}
	again := r.scan.head.hasLength
	if err := r.note(f); err != nil || again && ascii.EqualFold(f.Name, "content-length") {
		return err
	}
	r.Fields = append(r.Fields, f)
	return nil
}

// spacedField parses a line with white space between name and colon, which is to
// be taken out of answers (RFC 9112, 5.1), and refused in requests.
func spacedField(line []byte) (Field, error) {
	i := tokenEnd(line)
	colon := i
	for line[colon] == ' ' || line[colon] == '\t' {
		colon++
	}
	if i == 0 || line[colon] != ':' {
		return Field{}, errFieldName
	}
	v, err := valueOf(line[colon+1:])
	return Field{Name: line[:i], Value: v}, err
}

// note handles the fields that http1 itself needs.
func (r *Response) note(f Field) error {
	switch len(f.Name) {
	case 10:
		if ascii.EqualFold(f.Name, "connection") {
			r.noteConnection(f.Value)
		}
	case 14:
		if ascii.EqualFold(f.Name, "content-length") {
			return r.noteLength(f.Value)
		}
	case 17:
		if ascii.EqualFold(f.Name, "transfer-encoding") {
			return r.scan.head.noteCoding(f.Value)
		}
	}
	return nil
}

// noteLength accepts repeated lengths if they are equal.
func (r *Response) noteLength(v []byte) error {
	n, ok := lengthOf(v)
	switch {
	case !ok:
		return errLength
	case r.scan.head.hasLength && n != r.ContentLength:
		return errLengths
	}
	r.scan.head.hasLength, r.ContentLength = true, n
	return nil
}

func (r *Response) noteConnection(v []byte) {
	for more := true; more; {
		var t []byte
		t, v, more = cutList(v)
		r.Close = r.Close || ascii.EqualFold(t, "close")
		r.scan.head.keepAlive = r.scan.head.keepAlive || ascii.EqualFold(t, "keep-alive")
	}
}

// finish checks the complete head.
func (r *Response) finish(lim *AnswerLimits) error {
	h := &r.scan.head
	switch {
	case h.coded && r.Minor == 0:
		return errCodingOld
	case h.foreign && (h.chunked || h.hasLength || h.altered || !lim.ForeignCoding):
		return errCodingOther
	case h.coded && h.hasLength && !lim.BothFramings:
		return errBothFramings
	}
	if h.coded && h.hasLength {
		r.Fields = r.Fields.without("content-length")
		r.ContentLength, r.Close = -1, true
	}
	r.Chunked = h.chunked
	announced := h.coded || r.ContentLength > 0
	if announced && r.Status < 200 {
		return errInterim
	}
	// After a 204 that announces a body, the body may follow or not.
	r.Close = r.Close || r.Minor == 0 && !h.keepAlive || announced && r.Status == 204
	return nil
}
