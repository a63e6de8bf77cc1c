package embedded

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// An item's entry in a vector index has the projected attributes, as in other indexes, and
// always the vector, as a binary of 32-bit floating-point numbers.

// vectorInvalid begins the errors for items that do not fit a vector index.
const vectorInvalid = "One or more parameter values were invalid. "

// checkVectors checks an item's attributes against the table's vector indexes. u is the
// update that has changed the item, of which only the written attributes are checked; it is
// nil for a put.
func checkVectors(t *catalog.Table, item *value.Value, u *expr.Update) error {
	if len(t.Vectors) == 0 {
		return nil
	}
	byName := slices.Clone(t.Vectors)
	slices.SortFunc(byName, func(a, b *catalog.Index) int { return strings.Compare(a.Name, b.Name) })
	written := func(name string) *value.Value {
		if u != nil && !slices.ContainsFunc(u.Actions, func(a expr.Action) bool { return a.Path[0].Name == name }) {
			return nil
		}
		return item.Get(name)
	}
	for _, x := range byName {
		if v := written(x.Vector.Attribute); v != nil {
			if err := checkVector(x, v); err != nil {
				return err
			}
		}
		for _, a := range x.Vector.Schema {
			v := written(a.Attribute.Name)
			switch {
			case v == nil:
			case v.Type != a.Attribute.Type:
				return wire.Invalid(vectorInvalid+"Attribute '%s' type mismatch. Expected: %s, Actual: %s. IndexName: %s",
					a.Attribute.Name, a.Attribute.Type, v.Type, x.Name)
			case a.Hash && isEmpty(v) && u != nil:
				return emptyIndexUpdate(v)
			case a.Hash && isEmpty(v):
				return emptyIndexKey(v, x.Name, a.Attribute.Name)
			case a.Hash && keyLength(v) > maxHashKey:
				return errHashSize
			}
		}
	}
	return nil
}

// checkVector checks that a value is a vector of the index.
func checkVector(x *catalog.Index, v *value.Value) error {
	name := x.Vector.Attribute
	switch {
	case v.Type != value.List:
		return wire.Invalid(vectorInvalid+"Invalid type for parameter %s, Expected: 32-bit floating point number list IndexName: %s", name, x.Name)
	case len(v.Items) != x.Vector.Dimensions:
		return wire.Invalid(vectorInvalid+"Invalid size for parameter %s, Expected: %d, Actual: %d IndexName: %s", name, x.Vector.Dimensions, len(v.Items), x.Name)
	}
	for i := range v.Items {
		n := &v.Items[i]
		if n.Type != value.Number {
			return wire.Invalid(vectorInvalid+"Invalid type for parameter %s[%d], Expected: 32-bit floating point number, Actual: %s. IndexName: %s", name, i, n.Type, x.Name)
		}
		if _, ok := float(n); !ok {
			return wire.Invalid(vectorInvalid+"Invalid value for parameter %s[%d], Value: %s is outside valid range [-3.4028235E38, 3.4028235E38]. IndexName: %s",
				name, i, n.Text, x.Name)
		}
	}
	return nil
}

// float converts a number to 32-bit precision. It returns false if it is out of range.
func float(v *value.Value) (float32, bool) {
	f, err := strconv.ParseFloat(string(v.Text), 32)
	return float32(f), err == nil
}

// appendFloats appends the vector of an item. It returns false if the item has none that
// fits the index. Such items are older than the index.
func appendFloats(dst []byte, x *catalog.Index, item *value.Value) ([]byte, bool) {
	v := item.Get(x.Vector.Attribute)
	if v == nil || checkVector(x, v) != nil {
		return dst, false
	}
	for i := range v.Items {
		f, _ := float(&v.Items[i])
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(f))
	}
	return dst, true
}

// vectorEntry returns the entry of an existing item in a vector index, as entry does for
// other indexes.
func (t *table) vectorEntry(x *catalog.Index, m *image) ([]byte, image) {
	for _, a := range x.Vector.Schema {
		if v := m.tree.Get(a.Attribute.Name); v != nil && v.Type != a.Attribute.Type {
			return nil, image{}
		}
	}
	key, ok := appendEntryKey(nil, t.info, x, m.tree)
	if !ok {
		return nil, image{}
	}
	vector, ok := appendFloats(nil, x, m.tree)
	if !ok {
		return nil, image{}
	}
	tree := &value.Value{Type: value.Map}
	for i := range m.tree.Members {
		member := m.tree.Members[i]
		switch {
		case member.Name == x.Vector.Attribute:
			member.Value = value.Value{Type: value.Binary, Text: vector}
		case !x.Projects(t.info, member.Name):
			continue
		}
		tree.Members = append(tree.Members, member)
	}
	return key, image{there: true, size: tree.ItemSize(), text: tree.AppendItem(nil), tree: tree}
}

// minVectorBytes is the minimum cost in bytes of a search of or a write to a vector index.
const minVectorBytes = 1024

// vectorBytes returns the cost of writing an entry of a vector index.
func vectorBytes(size int) float64 { return float64(max(minVectorBytes, size)) }

// vectorList returns the vector of an entry as a list of numbers, as clients see it.
func vectorList(floats []byte) value.Value {
	list := value.Value{Type: value.List, Items: make([]value.Value, 0, len(floats)/4)}
	for ; len(floats) >= 4; floats = floats[4:] {
		f := math.Float32frombits(binary.BigEndian.Uint32(floats)) + 0 // converts -0 to 0
		list.Items = append(list.Items, value.Value{Type: value.Number, Text: strconv.AppendFloat(nil, float64(f), 'f', -1, 32)})
	}
	return list
}

// score compares two vectors; the second one is an entry's. Sums have 64 bits, but the
// result is within the range of 32 bits.
func score(by catalog.Distance, query []float32, floats []byte) float64 {
	var dot, squares, difference, querySquares float64
	same := true
	for i, q := range query {
		f := math.Float32frombits(binary.BigEndian.Uint32(floats[4*i:]))
		a, b := float64(q), float64(f)
		dot += a * b
		querySquares += a * a
		squares += b * b
		difference += (a - b) * (a - b)
		same = same && q == f
	}
	out := dot
	switch {
	case by == catalog.Euclidean:
		out = math.Sqrt(difference)
	case by == catalog.Cosine && (querySquares == 0 || squares == 0):
		out = 1
	case by == catalog.Cosine && same:
		out = 0
	case by == catalog.Cosine:
		out = min(max(1-dot/(math.Sqrt(querySquares)*math.Sqrt(squares)), 0), 2)
	}
	return min(max(out, -math.MaxFloat32), math.MaxFloat32)
}
