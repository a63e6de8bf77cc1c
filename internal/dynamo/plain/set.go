package plain

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// member is an element of a set.
type member struct {
	raw    []byte      // as written: a quoted string, or the text of a number
	text   []byte      // equal for equal members: a string's text, or a canonical number
	number wire.Number // for sorting numbers
}

// typedSet appends the array of scalars at i as the members of a set, without duplicates and
// in order. Invalid numbers are left for DynamoDB to reject.
func (c *converter) typedSet(dst, b []byte, i int, numbers bool) ([]byte, int) {
	c.members, c.text, c.seen = c.members[:0], c.text[:0], nil
	dst = append(dst, '[')
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != ']' {
		if at(b, i) == ',' {
			i = wire.SkipSpace(b, i+1)
		}
		next := wire.SkipValue(b, i)
		if next < 0 {
			return dst, -1
		}
		if raw := b[i:next]; c.isNew(raw, numbers) {
			dst = appendComma(dst)
			if numbers {
				dst = append(append(append(dst, '"'), raw...), '"')
			} else {
				dst = append(dst, raw...)
			}
		}
		i = wire.SkipSpace(b, next)
	}
	return append(dst, ']'), i + 1
}

// Up to maxScannedMembers members are compared one by one, more are looked up in a map. No
// valid item has more than maxMembers, so that further duplicates need not be removed.
const (
	maxScannedMembers = 16
	maxMembers        = 400 << 10 / 2
)

// isNew reports whether no earlier member equals raw, and remembers raw.
func (c *converter) isNew(raw []byte, number bool) bool {
	mark, ok := len(c.text), false
	if number {
		c.text, ok = wire.AppendNumber(c.text, raw)
	} else {
		c.text, ok = wire.AppendExact(c.text, raw)
	}
	if !ok {
		c.text = append(c.text[:mark], raw...)
	}
	text := c.text[mark:len(c.text):len(c.text)]
	if c.seen == nil && len(c.members) < maxScannedMembers {
		for k := range c.members {
			if bytes.Equal(c.members[k].text, text) {
				return false
			}
		}
		c.members = append(c.members, member{text: text})
		return true
	}
	if c.seen == nil {
		c.seen = make(map[string]bool)
		for k := range c.members {
			c.seen[string(c.members[k].text)] = true
		}
	}
	c.text = c.text[:mark]
	if c.seen[string(text)] {
		return false
	}
	if len(c.seen) < maxMembers {
		c.seen[string(text)] = true
	}
	return true
}

// plainSet appends the members of the set at i in sorted order, numbers by value and strings
// by text, so that equal sets have equal text.
func (c *converter) plainSet(dst, b []byte, i int, numbers bool) ([]byte, int) {
	if at(b, i) != '[' {
		return dst, -1
	}
	c.members, c.text = c.members[:0], c.text[:0]
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != ']' {
		if at(b, i) == ',' {
			i = wire.SkipSpace(b, i+1)
		}
		_, next, escaped := wire.ReadString(b, i)
		if next < 0 || !c.addPlain(b[i:next], escaped, numbers) {
			return dst, -1
		}
		i = wire.SkipSpace(b, next)
	}
	c.sort(numbers)
	dst = append(dst, '[')
	for k := range c.members {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.members[k].raw...)
	}
	return append(dst, ']'), i + 1
}

// addPlain adds a member of a DynamoDB set.
func (c *converter) addPlain(quoted []byte, escaped, number bool) bool {
	m := member{raw: quoted, text: quoted[1 : len(quoted)-1]}
	mark, ok := len(c.text), true
	switch {
	case number:
		if ok = m.number.Parse(m.text) == wire.NumberFine; ok {
			c.text, ok = appendNumber(c.text, m.text)
			m.raw = c.text[mark:len(c.text):len(c.text)]
		}
	case escaped:
		c.text, ok = wire.AppendString(c.text, quoted)
		m.text = c.text[mark:len(c.text):len(c.text)]
	}
	c.members = append(c.members, m)
	return ok
}

func (c *converter) sort(numbers bool) {
	if numbers {
		slices.SortFunc(c.members, byNumber)
	} else {
		slices.SortFunc(c.members, byText)
	}
}

func byNumber(a, b member) int { return a.number.Compare(&b.number) }
func byText(a, b member) int   { return bytes.Compare(a.text, b.text) }
