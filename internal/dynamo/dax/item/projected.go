package item

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendProjected appends the values that paths lead to in what DynamoDB has answered to
// the same projection, a JSON object. Where there is none the path is left out.
//
// DynamoDB leaves out of a list what was not asked for and what is not there, and closes
// the gaps, so that the answer does not say which index an element had. An element is
// taken for the one with the smallest index, behind that of the element before, whose
// paths account for all that is in it. If it was another one, then one with the same
// values at the end of the same steps: the client closes the gaps as well, and comes to
// the document that DynamoDB has answered.
func AppendProjected(dst []byte, paths []Path, item []byte) (_ []byte, err error) {
	var buf [32][]byte
	found := buf[:]
	if len(paths) > len(buf) {
		found = make([][]byte, len(paths))
	}
	p := projection{paths, found[:len(paths)]}
	p.members(item, 0, 0, false)
	start := len(dst)
	dst = cbor.AppendMapOpen(dst)
	for i, v := range p.found {
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

// projection finds values. Its methods are about the paths that share the first n steps
// of path i; as none goes on behind another's end, it is alone if it has no more steps.
// They look at what these steps lead to, and tell whether all of it was found by the
// paths: if it is not, it is something else. Where that is only tried they end as soon as
// they know; else they find what they can.
type projection struct {
	paths []Path
	found [][]byte // by the position of the path
}

func (p *projection) value(v []byte, i, n int, try bool) (exact bool) {
	if len(p.paths[i]) == n {
		p.found[i] = v
		return true
	}
	typ, inner, ok := wire.Attribute(v)
	switch {
	case ok && string(typ) == "M":
		return p.members(inner, i, n, try)
	case ok && string(typ) == "L":
		return p.elements(inner, i, n, try)
	}
	return false
}

func (p *projection) members(object []byte, i, n int, try bool) (exact bool) {
	all, some := true, false
	for it := wire.Object(object); it.Next(); some = true {
		next := p.withName(it.Name(), i, n)
		if next < 0 || !p.value(it.Value(), next, n+1, try) {
			all = false
		}
		if try && !all {
			return false
		}
	}
	return all && some // DynamoDB answers no map of which nothing was asked for
}

func (p *projection) elements(list []byte, i, n int, try bool) (exact bool) {
	all, some, last := true, false, -1
	for it := wire.Array(list); it.Next(); some = true {
		first := p.withIndexAbove(last, i, n)
		if first < 0 {
			return false
		}
		next := first
		for next >= 0 && !p.value(it.Value(), next, n+1, true) {
			p.clear(next, n+1)
			next = p.withIndexAbove(p.paths[next][n].Index, i, n)
		}
		if next < 0 && try {
			return false
		}
		if next < 0 {
			all, next = false, first
			p.value(it.Value(), next, n+1, false)
		}
		last = p.paths[next][n].Index
	}
	return all && some
}

// withName returns a path whose next step is a name, as it is spelt in JSON; -1 if there is
// none.
func (p *projection) withName(name []byte, i, n int) int {
	for k, path := range p.paths {
		if path.extends(p.paths[i], n) && path[n].Index < 0 && wire.NameIs(name, path[n].Name) {
			return k
		}
	}
	return -1
}

// withIndexAbove returns a path whose next step is the smallest index greater than last; -1 if
// there is none.
func (p *projection) withIndexAbove(last, i, n int) int {
	best := -1
	for k, path := range p.paths {
		if path.extends(p.paths[i], n) && path[n].Index > last && (best < 0 || path[n].Index < p.paths[best][n].Index) {
			best = k
		}
	}
	return best
}

// clear drops what was found.
func (p *projection) clear(i, n int) {
	for k, path := range p.paths {
		if k == i || path.extends(p.paths[i], n) {
			p.found[k] = nil
		}
	}
}
