package wire

import (
	"bytes"
	"slices"
	"sync"
)

const (
	// maxLevels is DynamoDB's nesting limit for documents. An attribute's value is at the
	// first level, its elements are at the second.
	maxLevels = 32
	// maxName is the maximum length of an attribute name.
	maxName = 65535
	// maxItemText exceeds the text of any item of 400 KB, even with every character escaped.
	// Documents are scanned once per level, so scanning larger ones would be costly and
	// useless.
	maxItemText = 4 << 20
)

// ItemSize returns the size in bytes that DynamoDB counts for an item. It returns false if
// the text isn't an item. It doesn't detect duplicates in maps and sets.
func ItemSize(item []byte) (n int, ok bool) {
	if len(item) > maxItemText {
		return 0, false
	}
	n, _, ok = mapSize(item, maxLevels)
	return n, ok
}

// mapSize returns the total size of names and values of a map whose values may nest levels
// deep.
func mapSize(m []byte, levels int) (n, members int, ok bool) {
	it := Object(m)
	for it.Next() {
		name, ok := textLen(it.Name())
		if !ok || name == 0 || name > maxName {
			return 0, 0, false
		}
		value, ok := valueSize(it.Value(), levels)
		if !ok {
			return 0, 0, false
		}
		n += name + value
		members++
	}
	return n, members, !it.Err()
}

func valueSize(v []byte, levels int) (n int, ok bool) {
	typ, value, ok := Attribute(v)
	if !ok || levels == 0 {
		return 0, false
	}
	switch string(typ) {
	case "S", "N", "B":
		return scalarSize(value, typ[0])
	case "SS", "NS", "BS":
		return setSize(value, typ[0])
	case "L":
		return listSize(value, levels-1)
	case "M":
		n, members, ok := mapSize(value, levels-1)
		return 3 + members + n, ok
	}
	return 1, true // BOOL, NULL
}

func listSize(list []byte, levels int) (n int, ok bool) {
	n = 3
	it := Array(list)
	for it.Next() {
		size, ok := valueSize(it.Value(), levels)
		if !ok {
			return 0, false
		}
		n += 1 + size
	}
	return n, !it.Err()
}

func setSize(set []byte, typ byte) (n int, ok bool) {
	members := 0
	it := Array(set)
	for it.Next() {
		if Kind(it.Value()) != '"' {
			return 0, false
		}
		size, ok := scalarSize(it.Value(), typ)
		if !ok {
			return 0, false
		}
		n += size
		members++
	}
	return n, members > 0 && !it.Err()
}

// scalarSize returns the size of a string, number or binary given as a JSON string.
func scalarSize(quoted []byte, typ byte) (n int, ok bool) {
	raw, ok := unquote(quoted)
	if !ok {
		return 0, false
	}
	switch typ {
	case 'S':
		return textLen(raw)
	case 'N':
		var num Number
		fault := num.Parse(raw)
		return num.Size(), fault == NumberFine
	}
	if bytes.IndexByte(raw, '\\') >= 0 { // a slash may be escaped
		var buf [64]byte
		if raw, ok = AppendExact(buf[:0], quoted); !ok {
			return 0, false
		}
	}
	return binaryLen(raw)
}

// ReadsBackAs reports whether DynamoDB, after storing the item, returns it with the same
// values: numbers in canonical form, no sets (DynamoDB reorders them), no duplicate members.
// Such an item can be cached as written. It returns false for text that isn't an item.
func ReadsBackAs(item []byte) bool {
	if len(item) > maxItemText {
		return false
	}
	names := namesPool.Get().(*[][]byte)
	ok := mapReadsBack(item, maxLevels, names)
	clear(*names)
	*names = (*names)[:0]
	namesPool.Put(names)
	return ok
}

// namesPool holds the scratch of ReadsBackAs: the names in the open maps, innermost last.
var namesPool = sync.Pool{New: func() any { return new([][]byte) }}

func mapReadsBack(m []byte, levels int, names *[][]byte) bool {
	base := len(*names)
	it := Object(m)
	for it.Next() {
		name := it.Name()
		if len(name) == 0 || len(name) > maxName || !isPlain(name) {
			return false // an escaped name may duplicate another one
		}
		*names = append(*names, name)
		if !valueReadsBack(it.Value(), levels, names) {
			return false
		}
	}
	own := (*names)[base:]
	slices.SortFunc(own, bytes.Compare)
	for i := 1; i < len(own); i++ {
		if bytes.Equal(own[i-1], own[i]) {
			return false
		}
	}
	*names = (*names)[:base]
	return !it.Err()
}

func valueReadsBack(v []byte, levels int, names *[][]byte) bool {
	typ, value, ok := Attribute(v)
	if !ok || levels == 0 {
		return false
	}
	switch string(typ) {
	case "S":
		_, ok = scalarSize(value, 'S')
		return ok
	case "B":
		raw, _ := unquote(value)
		_, ok = binaryLen(raw)
		return ok
	case "N":
		var buf [256]byte
		raw, _ := unquote(value)
		text, ok := AppendNumber(buf[:0], raw)
		return ok && bytes.Equal(text, raw)
	case "BOOL", "NULL":
		return true
	case "M":
		return mapReadsBack(value, levels-1, names)
	case "L":
		it := Array(value)
		for it.Next() {
			if !valueReadsBack(it.Value(), levels-1, names) {
				return false
			}
		}
		return !it.Err()
	}
	return false
}
