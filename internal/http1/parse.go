package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Limits that are not configurable.
const (
	maxMethod = 32              // longest method name
	versionIs = len("HTTP/1.1") // length of every version
)

// The refusals that need no detail are made once.
var (
	errMethod      = &Error{400, "malformed method"}
	errLongMethod  = &Error{501, "method name too long"}
	errCaseMethod  = &Error{501, "method not in upper case"}
	errRequestLine = &Error{400, "malformed request line"}
	errVersion     = &Error{400, "malformed version"}
	errMajor       = &Error{505, "version is not HTTP/1"}
	errPreface     = &Error{400, "HTTP/2 without TLS is not spoken here"}
	errNotAllowed  = &Error{405, "method not allowed"}
	errLongTarget  = &Error{414, "request target too long"}
	errHeadSize    = &Error{431, "head too large"}
	errFieldCount  = &Error{431, "too many header fields"}
	errEmptyLines  = &Error{400, "empty lines before the request"}
	errLineEnd     = &Error{400, "line not ended by CRLF"}
	errFold        = &Error{400, "folded or indented header line"}
	errFieldName   = &Error{400, "malformed field name"}
	errFieldValue  = &Error{400, "control byte in a field value"}
)

// scanState is the progress of ParseRequest in an incomplete head.
type scanState struct {
	base  *byte // first byte of the buffer that the slices of Request alias
	line  int   // where the line starts that is not yet parsed
	seen  int   // no line feed between line and here
	begun bool  // the request line is parsed
	head  headState
}

// next returns the next line of b, or nil if it has not ended yet.
func (s *scanState) next(b []byte) (line []byte) {
	n := bytes.IndexByte(b[s.seen:], '\n') + 1
	if n == 0 {
		s.seen = len(b)
		return nil
	}
	line = b[s.line : s.seen+n]
	s.seen += n
	s.line = s.seen
	return line
}

// ParseRequest reads the head at the beginning of buf and returns its length. n == 0 without
// an error means that more bytes are needed: append them to buf and call again with the same
// r. As long as buf is not moved, each byte is scanned once, however slowly the head
// arrives; otherwise parsing starts over. A finished or refused r starts over with the next
// call.
//
// One empty line before the head is skipped and counted in n. Every error is an *Error, and
// the same bytes have the same result in however many pieces they arrive.
func ParseRequest(buf []byte, lim *Limits, r *Request) (n int, err error) {
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
	return n, err
}

// parse handles the complete lines.
func (r *Request) parse(buf []byte, lim *Limits) (int, error) {
	s := &r.scan
	maxHead := or(lim.Head, 32<<10)
	b := buf[:min(len(buf), maxHead)]
	for {
		start := s.line
		line := s.next(b)
		switch {
		case line == nil:
			return 0, r.incomplete(b, lim, maxHead)
		case !s.begun:
			if err := r.firstLine(line, start, lim); err != nil {
				return 0, err
			}
		case len(line) == 2 && line[0] == '\r':
			if err := r.finish(); err != nil {
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

// incomplete decides whether a line that has not ended yet can still become a
// good one, so that garbage without a line feed is answered at once.
func (r *Request) incomplete(b []byte, lim *Limits, maxHead int) error {
	s := &r.scan
	part := b[s.line:]
	if !s.begun && len(part) > 0 && !(part[0] == '\r' && len(part) == 1) {
		if _, err := methodOf(part); err != nil {
			return err
		}
		if len(part) > lineLimit(lim) {
			return errLongTarget
		}
	}
	if len(b) >= maxHead {
		return errHeadSize
	}
	return nil
}

// lineLimit is the longest request line, CRLF included.
func lineLimit(lim *Limits) int {
	return maxMethod + 1 + or(lim.Target, 8<<10) + 1 + versionIs + 2
}

// methodOf returns the method that b starts with. Without the blank after it b
// is taken for a beginning, which is well as long as it is not longer than a
// method may be.
func methodOf(b []byte) ([]byte, error) {
	for i, c := range b {
		if ascii.IsTokenByte(c) {
			if i == maxMethod {
				return nil, errLongMethod
			}
			continue
		}
		if c != ' ' || i == 0 {
			return nil, errMethod
		}
		return b[:i], nil
	}
	return nil, nil
}

// firstLine parses the request line, or skips one empty line before it.
func (r *Request) firstLine(line []byte, start int, lim *Limits) error {
	if len(line) == 2 && line[0] == '\r' {
		if start > 0 {
			return errEmptyLines
		}
		return nil
	}
	method, err := methodOf(line)
	if err != nil {
		return err
	}
	if len(line) > lineLimit(lim) {
		return errLongTarget
	}
	// At least "M / HTTP/1.1\r\n"; a line without a blank has no method.
	v := len(line) - 2 - versionIs
	if method == nil || v < len(method)+2 || line[len(line)-2] != '\r' || line[v-1] != ' ' {
		return errRequestLine
	}
	if r.Minor, err = minorOf(line[v : v+versionIs]); err != nil {
		if err == errMajor && string(method) == "PRI" {
			return errPreface
		}
		return err
	}
	r.Method = method
	r.Target = line[len(method)+1 : v-1]
	r.scan.begun = true
	return r.target(lim)
}

// minorOf reads the version: every HTTP/1 of a single digit is well, and all
// from 1.1 on are read as 1.1.
func minorOf(v []byte) (int, error) {
	if string(v[:5]) != "HTTP/" || v[6] != '.' || class[v[5]]&class[v[7]]&isDigit == 0 {
		return 0, errVersion
	}
	if v[5] != '1' {
		return 0, errMajor
	}
	return min(int(v[7]-'0'), 1), nil
}

// field parses one header line.
func (r *Request) field(line []byte, lim *Limits) error {
	f, err := parseField(line)
	if err != nil {
		return err
	}
	if lim.Drops(f.Name) {
		return nil
	}
	if len(r.Fields) >= or(lim.Fields, 128) {
		return errFieldCount
	}
	r.Fields = append(r.Fields, f)
	return r.note(f)
}

// parseField splits a line that ends with LF into name and value.
func parseField(line []byte) (Field, error) {
	if line[0] == ' ' || line[0] == '\t' {
		return Field{}, errFold
	}
	i := tokenEnd(line)
	if i == 0 || line[i] != ':' {
		return Field{}, errFieldName
	}
	v, err := valueOf(line[i+1:])
	return Field{Name: line[:i], Value: v}, err
}

// tokenEnd is the length of the token that a line starts with. The line feed ends
// it at the latest.
func tokenEnd(line []byte) int {
	i := 0
	for ascii.IsTokenByte(line[i]) {
		i++
	}
	return i
}

// valueOf returns the value in the bytes after the colon of a header line.
func valueOf(rest []byte) ([]byte, error) {
	end := len(rest) - 2
	if end < 0 || rest[end] != '\r' {
		return nil, errLineEnd
	}
	if !ValidValue(rest[:end]) {
		return nil, errFieldValue
	}
	return ascii.Trim(rest[:end]), nil
}

// or is v, or def if v is not set.
func or(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}
