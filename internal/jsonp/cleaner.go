package jsonp

import "bytes"

// cleaner makes a body fit for a call, piece by piece: it removes a byte order mark and
// white space at the end, and escapes U+2028 and U+2029, which end a line in older scripts.
// It holds back at most maxHeld bytes whose treatment depends on the next bytes. White space
// beyond that is kept, which is harmless.
type cleaner struct {
	verbatim   bool  // for Legacy: nothing is changed
	marked     int8  // bytes of a mark seen so far; noMark: there is none
	partial    bool  // the held bytes begin a separator and are not white space
	n          int   // bytes in held
	separators int64 // number of separators escaped
	held       [maxHeld]byte
}

// sink receives cleaned bytes; p is valid only during the call.
type sink interface{ write(p []byte) error }

const (
	maxHeld = 64
	noMark  = 4
	mark    = "\xef\xbb\xbf"
	lead    = 0xe2 // the first byte of both separators, E2 80 A8 and E2 80 A9
	growth  = 3    // bytes added by escaping one separator
)

var (
	markBytes      = []byte(mark)
	lineSeparator  = []byte(`\u2028`)
	paragraphBreak = []byte(`\u2029`)
)

func escaped(last byte) []byte {
	if last == 0xa8 {
		return lineSeparator
	}
	return paragraphBreak
}

// clean cleans the next piece.
func (c *cleaner) clean(p []byte, to sink) error {
	if c.verbatim {
		return to.write(p)
	}
	p, err := c.stripMark(p, to)
	for err == nil && len(p) > 0 {
		if c.partial {
			p, err = c.resume(p, to)
			continue
		}
		i := find(p)
		if i == len(p) {
			return c.writeText(p, to)
		}
		if err = c.writeThrough(p[:i], to); err != nil {
			return err
		}
		p = p[i:]
		if m := match(p); m < 3 {
			c.partial, c.n = true, copy(c.held[:], p)
			return nil
		}
		c.separators++
		err, p = to.write(escaped(p[2])), p[3:]
	}
	return err
}

// stripMark removes a byte order mark from the beginning of the body.
func (c *cleaner) stripMark(p []byte, to sink) ([]byte, error) {
	for len(p) > 0 && c.marked < int8(len(mark)) {
		if p[0] != mark[c.marked] {
			n := c.marked
			c.marked = noMark
			return p, writeAll(markBytes[:n], to)
		}
		c.marked++
		p = p[1:]
	}
	return p, nil
}

// hasMark reports whether the body began with a byte order mark.
func (c *cleaner) hasMark() bool { return c.marked == int8(len(mark)) }

// find returns the index of the first separator, or of bytes that may begin one at the end of p.
// It returns len(p) if there is neither.
func find(p []byte) int {
	for i := 0; ; i++ {
		k := bytes.IndexByte(p[i:], lead)
		if k < 0 {
			return len(p)
		}
		i += k
		if m := match(p[i:]); m == 3 || i+m == len(p) {
			return i
		}
	}
}

// match returns the number of bytes at the start of p that match a separator. p begins with
// lead.
func match(p []byte) int {
	switch {
	case len(p) == 1 || p[1] != 0x80:
		return 1
	case len(p) == 2 || p[2]&^1 != 0xa8:
		return 2
	}
	return 3
}

// resume continues where a separator may be split between two pieces.
func (c *cleaner) resume(p []byte, to sink) ([]byte, error) {
	had := c.n
	n := had + copy(c.held[had:3], p)
	m := match(c.held[:n])
	switch {
	case m == 3:
		c.partial, c.n = false, 0
		c.separators++
		return p[3-had:], to.write(escaped(c.held[2]))
	case m == n:
		c.n = n
		return nil, nil
	}
	c.partial = false
	return p, c.release(to)
}

// writeText writes a piece without separators, and holds back white space at its end.
func (c *cleaner) writeText(p []byte, to sink) error {
	k := len(p)
	for k > 0 && isSpace(p[k-1]) {
		k--
	}
	k = max(k, len(p)-maxHeld)
	if k > 0 {
		if err := c.writeThrough(p[:k], to); err != nil {
			return err
		}
	} else if over := c.n + len(p) - maxHeld; over > 0 {
		if err := to.write(c.held[:over]); err != nil {
			return err
		}
		c.n = copy(c.held[:], c.held[over:c.n])
	}
	c.n += copy(c.held[c.n:], p[k:])
	return nil
}

// writeThrough writes the held bytes, then p.
func (c *cleaner) writeThrough(p []byte, to sink) error {
	if err := c.release(to); err != nil {
		return err
	}
	return writeAll(p, to)
}

func (c *cleaner) release(to sink) error {
	n := c.n
	c.n = 0
	return writeAll(c.held[:n], to)
}

// finish writes the held bytes, except trailing white space, which it returns.
func (c *cleaner) finish(to sink) (space []byte, err error) {
	if c.marked < int8(len(mark)) {
		err = writeAll(markBytes[:c.marked], to)
		c.marked = noMark
	}
	if c.partial {
		c.partial = false
		err = c.release(to)
	}
	return c.held[:c.n], err
}

func writeAll(p []byte, to sink) error {
	if len(p) == 0 {
		return nil
	}
	return to.write(p)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
