package tree

import (
	"fmt"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Limits of an expression. DynamoDB accepts 4 KiB of text and 300 operators, but an update
// may set attributes of up to the size of an item. The values of an expression are limited
// like items, the part before them separately.
const (
	maxBytes = 4 << 20
	maxTree  = 64 << 10
	maxDepth = 400
)

// Placeholders are the placeholders of one request: the names and values in its expressions.
// All expressions of the request share the names; the values of each have a prefix of their
// own. The zero value is ready for use, and Reset restores it. It references the given trees
// until then.
type Placeholders struct {
	names  [][]byte
	index  map[string]int // of names, if there are many
	values []value
	used   []bool // value numbers used by the current expression
	behind int    // minimum number of bytes after the current tree
	clause [4][]byte
}

// value is a value used by an expression: its placeholder's prefix and number, and its CBOR.
type value struct {
	prefix byte
	number int
	raw    []byte
}

// Limits of the memory that is reused: names and values, and bytes of each clause.
const (
	keepWords  = 1 << 10
	keepClause = 16 << 10
)

// Reset clears w and keeps its memory, unless it is large.
func (w *Placeholders) Reset() {
	if cap(w.names) > keepWords || cap(w.values) > keepWords || cap(w.used) > keepWords {
		*w = Placeholders{}
		return
	}
	for i := range w.clause {
		if cap(w.clause[i]) > keepClause {
			w.clause[i] = nil
		}
	}
	clear(w.names)
	clear(w.values)
	clear(w.index)
	w.names, w.values = w.names[:0], w.values[:0]
}

// HasNames reports whether an expression uses an attribute name.
func (w *Placeholders) HasNames() bool { return len(w.names) > 0 }

// HasValues reports whether an expression uses a value.
func (w *Placeholders) HasValues() bool { return len(w.values) > 0 }

// AppendNames appends ExpressionAttributeNames, a JSON object.
func (w *Placeholders) AppendNames(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range w.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendName(append(dst, '"'), i), '"', ':')
		dst = wire.AppendQuoted(dst, name)
	}
	return append(dst, '}')
}

// AppendValues appends ExpressionAttributeValues, a JSON object. It returns an error if one
// isn't a DynamoDB value.
func (w *Placeholders) AppendValues(dst []byte) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, v := range w.values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendValue(append(dst, '"'), v.prefix, v.number), '"', ':')
		r := cbor.NewReader(v.raw)
		if dst, err = attr.AppendJSON(dst, &r); err != nil {
			return dst, fmt.Errorf("a value of an expression: %w", err)
		}
	}
	return append(dst, '}'), nil
}

func appendName(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, "#n"...), int64(i), 10)
}

func appendValue(dst []byte, prefix byte, i int) []byte {
	return strconv.AppendInt(append(dst, ':', prefix), int64(i), 10)
}

// maxScanned is the maximum number of names that are searched linearly.
const maxScanned = 16

// name returns the number of a name's placeholder.
func (w *Placeholders) name(name []byte) int {
	if len(w.names) <= maxScanned {
		for i, n := range w.names {
			if string(n) == string(name) {
				return i
			}
		}
	} else if i, ok := w.index[string(name)]; ok {
		return i
	}
	w.names = append(w.names, name)
	switch n := len(w.names); {
	case n == maxScanned+1:
		if w.index == nil {
			w.index = make(map[string]int)
		}
		for i, name := range w.names {
			w.index[string(name)] = i
		}
	case n > maxScanned:
		w.index[string(name)] = n - 1
	}
	return len(w.names) - 1
}

// use marks a value as used and returns its number. The values follow the tree, and each has
// at least one byte.
func (w *Placeholders) use(r *cbor.Reader, number int64) int {
	if number < 0 || number >= int64(len(r.Rest())) {
		r.Fail("a reference to value %d", number)
		return 0
	}
	n := int(number)
	for len(w.used) <= n {
		w.used = append(w.used, false)
	}
	w.used[n] = true
	return n
}

// readValues reads the values after an expression and keeps the used ones.
func (w *Placeholders) readValues(r *cbor.Reader, prefix byte) {
	n, number := r.Array(), 0
	for ; r.More(&n); number++ {
		raw := r.Raw()
		if number < len(w.used) && w.used[number] {
			w.used[number] = false
			w.values = append(w.values, value{prefix, number, raw})
		}
	}
	for _, missing := range w.used {
		if missing {
			r.Fail("a reference to a value behind the last of %d", number)
		}
	}
}

// open begins to read an expression with the given number of parts and at most limit bytes.
func (w *Placeholders) open(container []byte, parts, limit int) cbor.Reader {
	r := cbor.NewReader(container)
	w.used, w.behind = w.used[:0], len(container)-maxTree
	if len(container) > limit {
		r.Fail("it has %d bytes, and the limit is %d", len(container), limit)
		return r
	}
	fixed(&r, parts)
	if format := r.Int(); format != 1 {
		r.Fail("its format is %d, and 1 is the one that is known", format)
	}
	return r
}

// checkLength limits the size of the tree. Whatever a tree repeats ends in paths and values,
// so that checking it at these is sufficient.
func (w *Placeholders) checkLength(r *cbor.Reader) {
	if len(r.Rest()) < w.behind {
		r.Fail("it has more than %d bytes before its values", maxTree)
	}
}

// fixed begins an array of exactly n items.
func fixed(r *cbor.Reader, n int) {
	if got := r.Array(); got != n {
		r.Fail("an array of %d items where %d belong", got, n)
	}
}
