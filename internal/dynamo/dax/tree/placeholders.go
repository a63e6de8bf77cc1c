package tree

import (
	"fmt"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Bounds of an expression. DynamoDB takes 4 KiB of text and 300 operators, but an update
// may set attributes of which one alone is as large as an item may be: what the values of
// an expression take is bounded as items are, and what stands before them by itself.
const (
	maxBytes = 4 << 20
	maxTree  = 64 << 10
	maxDepth = 400
)

// Placeholders is the placeholders of one request: what its expressions name, and the values
// that they refer to. All expressions of the request share the names; the values of each
// are told apart by a prefix. The zero value is ready, and Reset makes it so again. It
// refers to the trees that it was given until then.
type Placeholders struct {
	names  [][]byte
	index  map[string]int // of names, once they are many
	values []value
	used   []bool // of the expression at hand, by the number of the value
	behind int    // how many bytes there are at least behind the tree at hand
	clause [4][]byte
}

// value is one that an expression refers to: what its placeholder is made of, and CBOR.
type value struct {
	prefix byte
	number int
	raw    []byte
}

// Memory of a request that is kept for the next ones: that many names and values, and so
// many bytes of each clause.
const (
	keepWords  = 1 << 10
	keepClause = 16 << 10
)

// Reset forgets everything but the memory, unless that is much.
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

// HasNames tells whether an expression has named an attribute.
func (w *Placeholders) HasNames() bool { return len(w.names) > 0 }

// HasValues tells whether an expression refers to a value.
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

// AppendValues appends ExpressionAttributeValues, a JSON object. It fails if a value is
// none that DynamoDB has.
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

// maxScanned is how many names are looked for one by one.
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

// use notes that an expression refers to a value. The values are still to come, and each
// of them has a byte at least.
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

// readValues reads the values behind an expression and keeps those that it refers to.
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

// open begins to read an expression of so many parts, which has no more bytes than most.
func (w *Placeholders) open(container []byte, parts, most int) cbor.Reader {
	r := cbor.NewReader(container)
	w.used, w.behind = w.used[:0], len(container)-maxTree
	if len(container) > most {
		r.Fail("it has %d bytes, and %d are the most", len(container), most)
		return r
	}
	fixed(&r, parts)
	if format := r.Int(); format != 1 {
		r.Fail("its format is %d, and 1 is the one that is known", format)
	}
	return r
}

// checkLength looks how far the tree goes. Whatever a tree repeats ends in paths and values,
// so that it is enough to look behind those.
func (w *Placeholders) checkLength(r *cbor.Reader) {
	if len(r.Rest()) < w.behind {
		r.Fail("it has more than %d bytes before its values", maxTree)
	}
}

// fixed begins an array of so many items.
func fixed(r *cbor.Reader, n int) {
	if got := r.Array(); got != n {
		r.Fail("an array of %d items where %d belong", got, n)
	}
}
