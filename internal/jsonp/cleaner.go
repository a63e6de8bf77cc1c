package jsonp

import "bytes"

// cleaner makes of a body, piece by piece, what is put into a call: without a byte
// order mark, without white space at its end, and with U+2028 and U+2029 escaped, which
// end a line in scripts of old. It holds back what it can't know yet: at most maxHeld
// bytes. White space beyond that stays, as it does no harm.
type cleaner struct {
	verbatim   bool  // as it is: nothing of that
	marked     int8  // bytes of a mark that have come; noMark: there is none
	partial    bool  // what is held is the beginning of a separator, not white space
	n          int   // how much is held
	separators int64 // that were escaped
	held       [maxHeld]byte
}

// sink takes what a cleaner has done with; p is valid during the call only.
type sink interface{ write(p []byte) error }

const (
	maxHeld = 64
	noMark  = 4
	mark    = "\xef\xbb\xbf"
	lead    = 0xe2 // the first byte of both separators, E2 80 A8 and E2 80 A9
	growth  = 3    // what escaping one adds
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

// clean takes the next piece.
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

// stripMark takes a byte order mark off the beginning.
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

// hasMark tells whether the body began with a byte order mark.
func (c *cleaner) hasMark() bool { return c.marked == int8(len(mark)) }

// find is where the first separator begins, or what may be the beginning of one at the
// end of p; len(p) if there is none.
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

// match is how much of a separator p, which begins with lead, begins with.
func match(p []byte) int {
	switch {
	case len(p) == 1 || p[1] != 0x80:
		return 1
	case len(p) == 2 || p[2]&^1 != 0xa8:
		return 2
	}
	return 3
}

// resume goes on where a separator may have been cut in two.
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

// writeText takes a piece without separators, which may be the last.
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

// writeThrough lets p pass behind what was held.
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

// finish lets pass what is still held but white space, which is returned.
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
