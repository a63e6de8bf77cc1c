package item

import (
	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendProjected appends the values of paths from DynamoDB's response to the same
// projection, a JSON object. A path without a value is omitted.
//
// DynamoDB omits list elements that were not requested or don't exist, and closes the gaps,
// so the response doesn't contain the original indexes. An element is assigned the smallest
// index, greater than that of the previous element, whose paths account for everything in
// the element. If its original index was different, that path has the same values at the end
// of the same steps: the client closes the gaps as well and produces the same document as
// DynamoDB.
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

// projection finds values. Its methods concern the paths that share the first n steps of
// path i; because no path extends another one, the path is the only one if it has no more
// steps. They search the value at these steps, and report whether the paths account for all
// of it; if not, it must belong to other paths. A trial stops as soon as the answer is
// known, a final search finds as much as possible.
type projection struct {
	paths []Path
	found [][]byte // by position of the path
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
	return all && some // DynamoDB never returns a map without a requested member
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

// withName returns a path whose next step is the given name, as spelled in JSON, or -1 if
// there is none.
func (p *projection) withName(name []byte, i, n int) int {
	for k, path := range p.paths {
		if path.extends(p.paths[i], n) && path[n].Index < 0 && wire.NameIs(name, path[n].Name) {
			return k
		}
	}
	return -1
}

// withIndexAbove returns the path whose next step is the smallest index greater than last,
// or -1 if there is none.
func (p *projection) withIndexAbove(last, i, n int) int {
	best := -1
	for k, path := range p.paths {
		if path.extends(p.paths[i], n) && path[n].Index > last && (best < 0 || path[n].Index < p.paths[best][n].Index) {
			best = k
		}
	}
	return best
}

// clear discards the values found.
func (p *projection) clear(i, n int) {
	for k, path := range p.paths {
		if k == i || path.extends(p.paths[i], n) {
			p.found[k] = nil
		}
	}
}
