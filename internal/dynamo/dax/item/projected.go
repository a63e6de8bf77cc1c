package item

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendProjected appends the values that paths lead to in what DynamoDB has answered to
// the same projection, a JSON object. Where there is none the path is left out.
//
// DynamoDB has put the elements of a list that were asked for next to each other, in
// their order. As lists have no gaps, the first of them is the one with the smallest
// index asked for, and so on. If a path leads to nothing within an element, that one is
// missing and the next ones move up; the client puts its elements together in the same
// way, and comes to the same document.
func AppendProjected(dst []byte, paths []Path, item []byte) (_ []byte, err error) {
	start := len(dst)
	dst = cbor.AppendMapOpen(dst)
	for i, p := range paths {
		v := find(item, paths, p)
		if v == nil {
			continue
		}
		dst = cbor.AppendUint(dst, uint64(i))
		if dst, err = attr.AppendCBOR(dst, v); err != nil {
			return dst, err
		}
	}
	if len(dst) == start+1 {
		return cbor.AppendMap(dst[:start], 0), nil
	}
	return cbor.AppendBreak(dst), nil
}

// find walks along p; nil if it does not get to its end.
func find(item []byte, paths []Path, p Path) []byte {
	if len(p) == 0 {
		return nil
	}
	v := memberOf(item, p[0].Name)
	for n := 1; n < len(p) && v != nil; n++ {
		typ, inner, ok := wire.Attribute(v)
		switch {
		case !ok:
			return nil
		case p[n].Index < 0 && string(typ) == "M":
			v = memberOf(inner, p[n].Name)
		case p[n].Index >= 0 && string(typ) == "L":
			v = element(inner, rank(paths, p, n))
		default:
			return nil
		}
	}
	return v
}

func memberOf(object []byte, name string) []byte {
	for it := wire.Object(object); it.Next(); {
		if wire.NameIs(it.Name(), name) {
			return it.Value()
		}
	}
	return nil
}

func element(list []byte, n int) []byte {
	for it := wire.Array(list); it.Next(); n-- {
		if n == 0 {
			return it.Value()
		}
	}
	return nil
}

// rank is how many smaller indexes than that of p's step n are asked for in its list.
func rank(paths []Path, p Path, n int) int {
	var buf [16]int
	seen := buf[:0]
next:
	for _, other := range paths {
		if !other.begins(p, n) {
			continue
		}
		index := other[n].Index
		if index < 0 || index >= p[n].Index {
			continue
		}
		for _, s := range seen {
			if s == index {
				continue next
			}
		}
		seen = append(seen, index)
	}
	return len(seen)
}
