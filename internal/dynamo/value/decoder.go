package value

import (
	"sync"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// decoder reads one text from its beginning to its end. It keeps the first fault; after it
// there is no next element or member, and the results of its methods are undefined. items
// and members are stacks: they hold what was read of the lists and maps that are still open,
// innermost last.
type decoder struct {
	text    []byte
	pos     int
	strict  bool // check the text; if false, Append wrote it
	fault   *wire.Error
	arena   []byte // spare capacity for text that differs from its spelling
	items   []Value
	members []Member
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

const (
	// maxScratch is the maximum number of items or members that a pooled decoder keeps
	// memory for.
	maxScratch = 1024
	// arenaSize is the maximum room that the arena allocates beyond the requested bytes.
	arenaSize = 4096
)

// release clears the decoder and puts it back into the pool.
func (d *decoder) release() {
	if cap(d.items) > maxScratch || cap(d.members) > maxScratch {
		return
	}
	clear(d.items) // not empty after a fault
	clear(d.members)
	*d = decoder{items: d.items[:0], members: d.members[:0]}
	decoders.Put(d)
}

func (d *decoder) fail(fault *wire.Error) {
	if d.fault == nil {
		d.fault = fault
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (d *decoder) peek() byte {
	if d.pos = wire.SkipSpace(d.text, d.pos); d.pos < len(d.text) {
		return d.text[d.pos]
	}
	return 0
}

// accept skips c if it is next.
func (d *decoder) accept(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.pos++
	return true
}

// next moves to the next element of a list or member of an object, of which n have been
// read. It returns false after the last one.
func (d *decoder) next(n int, closing byte) bool {
	if d.fault != nil || d.accept(closing) {
		return false
	}
	if n > 0 && !d.accept(',') {
		d.fail(errSyntax)
	}
	return d.fault == nil
}

// literal skips word if it is next.
func (d *decoder) literal(word string) bool {
	rest := d.text[d.pos:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return false
	}
	d.pos += len(word)
	return true
}

// null skips a null if it is next.
func (d *decoder) null() bool { return d.peek() == 'n' && d.literal("null") }

// skip skips any value.
func (d *decoder) skip() {
	if end := wire.SkipValue(d.text, wire.SkipSpace(d.text, d.pos)); end >= 0 {
		d.pos = end
	} else {
		d.fail(errSyntax)
	}
}

// name reads a member's name and its colon.
func (d *decoder) name() []byte {
	d.peek()
	text := d.str()
	if !d.accept(':') {
		d.fail(errSyntax)
	}
	return text
}

// str reads the next string as UTF-8.
func (d *decoder) str() []byte {
	raw, next, escaped := wire.ReadString(d.text, d.pos)
	if next < 0 {
		d.fail(errSyntax)
		return nil
	}
	quoted := d.text[d.pos:next]
	d.pos = next
	if !escaped && (!d.strict || utf8.Valid(raw)) {
		return raw
	}
	first := d.reserve(len(raw))
	var ok bool
	if d.arena, ok = wire.AppendString(d.arena, quoted); !ok {
		d.fail(errSyntax)
	}
	return d.since(first)
}

// reserve makes room for n bytes after the arena's length, and returns that length.
func (d *decoder) reserve(n int) int {
	if cap(d.arena)-len(d.arena) < n {
		left := len(d.text) - d.pos
		d.arena = make([]byte, 0, n+min(left, arenaSize))
	}
	return len(d.arena)
}

// since returns the text that was appended to the arena after its length was first.
func (d *decoder) since(first int) []byte {
	return d.arena[first:len(d.arena):len(d.arena)]
}

// closeList pops the items from base on and returns a copy of them.
func (d *decoder) closeList(base int) []Value {
	open := d.items[base:]
	if len(open) == 0 {
		return nil
	}
	out := make([]Value, len(open))
	copy(out, open)
	clear(open)
	d.items = d.items[:base]
	return out
}

// closeMap pops the members from base on and returns a copy of them.
func (d *decoder) closeMap(base int) []Member {
	open := d.members[base:]
	n := len(open)
	if d.strict {
		n = dedupeMembers(open)
	}
	if n == 0 {
		return nil
	}
	out := make([]Member, n)
	copy(out, open)
	clear(open)
	d.members = d.members[:base]
	return out
}
