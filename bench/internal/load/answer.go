package load

import (
	"bytes"
	"errors"
	"fmt"
)

const maxHead = 64 << 10

var errHead = errors.New("load: answer's head is longer than 64 KiB")

// answer is the framing of a response: where it ends, and whether the connection can be used
// again.
type answer struct {
	status int
	head   int // length of the header, including the blank line
	length int // length of the body as transferred
	chunks bool
	close  bool
}

// parseAnswer parses the header at the start of buf. It reports false if more bytes are
// needed. It supports what the measured servers send: a body with a Content-Length, in
// chunks, or none. A chunked body must be complete.
func parseAnswer(buf []byte) (a answer, ok bool, err error) {
	end := bytes.Index(buf, []byte("\r\n\r\n"))
	if end < 0 {
		if len(buf) > maxHead {
			return a, false, errHead
		}
		return a, false, nil
	}
	a.head = end + 4
	line, rest, _ := bytes.Cut(buf[:end+2], []byte("\r\n"))
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return a, false, fmt.Errorf("load: not an HTTP/1 answer: %.40q", line)
	}
	a.close = line[7] == '0'
	if a.status, ok = decimal(line[9:12]); !ok {
		return a, false, fmt.Errorf("load: no status in %.40q", line)
	}
	a.length = -1
	if a.status == 204 || a.status == 304 {
		a.length = 0
	}
	if err := a.fields(rest); err != nil {
		return a, false, err
	}
	if a.chunks && a.length < 0 {
		a.length, ok, err = chunked(buf[a.head:])
		return a, ok, err
	}
	if a.length < 0 {
		return a, false, fmt.Errorf("load: answer of status %d has no Content-Length", a.status)
	}
	return a, true, nil
}

// fields parses the field lines that affect framing.
func (a *answer) fields(lines []byte) error {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		if value, ok := fieldValue(line, "content-length"); ok {
			n, ok := decimal(value)
			if !ok {
				return fmt.Errorf("load: bad Content-Length %.40q", value)
			}
			if a.status != 304 {
				a.length = n
			}
		} else if value, ok := fieldValue(line, "connection"); ok && bytes.EqualFold(value, []byte("close")) {
			a.close = true
		} else if value, ok := fieldValue(line, "transfer-encoding"); ok {
			a.chunks = bytes.EqualFold(value, []byte("chunked"))
		}
	}
	return nil
}

// body returns the body of a complete answer at the start of buf.
func (a *answer) body(buf []byte) []byte {
	body := buf[a.head : a.head+a.length]
	if a.chunks {
		return join(body)
	}
	return body
}

// fieldValue returns the value of a field line if its name is name, which must be in lower
// case.
func fieldValue(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || line[0]|0x20 != name[0] {
		return nil, false
	}
	for i := range len(name) {
		c := line[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != name[i] {
			return nil, false
		}
	}
	return bytes.Trim(line[len(name)+1:], " \t"), true
}

func decimal(text []byte) (n int, ok bool) {
	if len(text) == 0 || len(text) > 12 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
