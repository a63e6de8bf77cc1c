package plain

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// member is an element of a set.
type member struct {
	raw    []byte      // as it is written: a string with its quotes, a number's text
	text   []byte      // of equal members equal: a string's text, a number in canonical form
	number wire.Number // of a number
}

// typedSet appends the array of scalars at i as the members of a set: the first of
// equal ones, in their order. What is no number to DynamoDB is left to it to refuse.
func (c *converter) typedSet(dst, b []byte, i int, numbers bool) ([]byte, int) {
	c.members, c.text = c.members[:0], c.text[:0]
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != ']' {
		if at(b, i) == ',' {
			i = wire.SkipSpace(b, i+1)
		}
		next := wire.SkipValue(b, i)
		if next < 0 {
			return dst, -1
		}
		c.addTyped(b[i:next], numbers)
		i = wire.SkipSpace(b, next)
	}
	dst = append(dst, '[')
	first := true
	for _, k := range c.distinct() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if numbers {
			dst = append(append(append(dst, '"'), c.members[k].raw...), '"')
		} else {
			dst = append(dst, c.members[k].raw...)
		}
	}
	return append(dst, ']'), i + 1
}

// addTyped notes a member of a set given in plain JSON.
func (c *converter) addTyped(raw []byte, number bool) {
	mark, ok := len(c.text), false
	if number {
		c.text, ok = wire.AppendNumber(c.text, raw)
	} else {
		c.text, ok = wire.AppendExact(c.text, raw)
	}
	if !ok {
		c.text = append(c.text[:mark], raw...)
	}
	c.members = append(c.members, member{raw: raw, text: c.text[mark:len(c.text):len(c.text)]})
}

// fewMembers are compared each with each; more are looked up.
const fewMembers = 16

// distinct returns the indexes of the members that equal none before them.
func (c *converter) distinct() []int {
	order := make([]int, 0, len(c.members))
	var seen map[string]bool
	if len(c.members) > fewMembers {
		seen = make(map[string]bool, len(c.members))
	}
	for k := range c.members {
		text := c.members[k].text
		if seen != nil {
			if !seen[string(text)] {
				seen[string(text)] = true
				order = append(order, k)
			}
			continue
		}
		if !slices.ContainsFunc(order, func(o int) bool { return bytes.Equal(c.members[o].text, text) }) {
			order = append(order, k)
		}
	}
	return order
}

// plainSet appends the members of the set at i in their own order: numbers by value,
// strings by their text, so that equal sets are equal text.
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

// addPlain notes a member of a set of DynamoDB's.
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
