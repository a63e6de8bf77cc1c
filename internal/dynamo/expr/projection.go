package expr

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	maxPathSteps = 32
	// maxProjectionNodes bounds the work per member of an item; larger
	// projections are the origin's.
	maxProjectionNodes = 256
	maxIndex           = 1<<31 - 1
)

// Projection is the tree of the paths of a ProjectionExpression, the first node
// being the item itself. It owns its memory, may be parsed into again and again,
// and may be read concurrently between. The zero value keeps nothing of an item.
type Projection struct {
	nodes []node
	names []byte // texts of the nodes' names
}

// node is a step of one or more paths. The links are indexes into nodes; 0, the
// root, ends a list.
type node struct {
	first, next  int32 // child, sibling
	name, length int32 // in names
	index        int32 // list index, or -1 for a name
	children     int32
	leaf         bool // a path ends here: the value is kept whole
}

// emptyProjection stands in for the zero value.
var emptyProjection = Projection{nodes: []node{{index: -1}}}

func (p *Projection) reset() {
	p.nodes = append(p.nodes[:0], node{index: -1})
	p.names = p.names[:0]
}

// Parse reads an expression, its string already decoded. It returns false, and
// leaves a projection that keeps nothing, if the expression isn't understood or
// DynamoDB would refuse it: bad syntax, reserved words, placeholders without a
// definition, paths that overlap or conflict, too long, too deep, too many.
func (p *Projection) Parse(text []byte, names *Names) bool {
	p.reset()
	l := lexer{text: text}
	if len(text) > maxText || !p.paths(&l, names) {
		p.reset()
		return false
	}
	return true
}

func (p *Projection) paths(l *lexer, names *Names) bool {
	t := l.next()
	for {
		at, ok := p.nameStep(l, t, names, 0)
		if !ok {
			return false
		}
		if at, t, ok = p.steps(l, names, at); !ok || !p.end(at) {
			return false
		}
		switch t.kind {
		case tokenEnd:
			return true
		case tokenComma:
			t = l.next()
		default:
			return false
		}
	}
}

// steps reads the steps of a path behind its first, which ended at the node at;
// t is the token after the path.
func (p *Projection) steps(l *lexer, names *Names, at int32) (end int32, t token, ok bool) {
	for depth := 1; ; depth++ {
		t = l.next()
		switch t.kind {
		case tokenDot:
			at, ok = p.nameStep(l, l.next(), names, at)
		case tokenOpenIndex:
			at, ok = p.indexStep(l, at)
		default:
			return at, t, depth <= maxPathSteps
		}
		if !ok {
			return 0, t, false
		}
	}
}

// nameStep goes from the node at to its child that the token names.
func (p *Projection) nameStep(l *lexer, t token, names *Names, at int32) (child int32, ok bool) {
	name, ok := resolveName(l.bytes(t), t.kind, names)
	if !ok {
		return 0, false
	}
	return p.child(at, name, -1)
}

// resolveName returns the attribute name that a token stands for.
func resolveName(text []byte, kind tokenKind, names *Names) ([]byte, bool) {
	switch kind {
	case tokenName:
		return text, !reserved.has(text)
	case tokenNameRef:
		return names.Lookup(text)
	}
	return nil, false
}

// indexStep reads "n]".
func (p *Projection) indexStep(l *lexer, at int32) (child int32, ok bool) {
	t := l.next()
	if t.kind != tokenDigits || l.next().kind != tokenCloseIndex {
		return 0, false
	}
	index, ok := parseIndex(l.bytes(t))
	if !ok {
		return 0, false
	}
	return p.child(at, nil, int32(index))
}

func parseIndex(digits []byte) (n int, ok bool) {
	for _, c := range digits {
		if n = n*10 + int(c-'0'); n > maxIndex {
			return 0, false
		}
	}
	return n, true
}

// child returns the node's child with the name or index, which it makes if need
// be. It returns false if the node is the end of a path (overlap), has children
// of the other sort (conflict), or if there are too many nodes.
func (p *Projection) child(at int32, name []byte, index int32) (int32, bool) {
	if p.nodes[at].leaf {
		return 0, false
	}
	first := p.nodes[at].first
	for c := first; c != 0; c = p.nodes[c].next {
		n := &p.nodes[c]
		if n.index < 0 != (index < 0) {
			return 0, false
		}
		if n.index == index && bytes.Equal(p.nameOf(n), name) {
			return c, true
		}
	}
	if len(p.nodes) == maxProjectionNodes {
		return 0, false
	}
	made := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{next: first, name: int32(len(p.names)), length: int32(len(name)), index: index})
	p.names = append(p.names, name...)
	p.nodes[at].first = made
	p.nodes[at].children++
	return made, true
}

func (p *Projection) nameOf(n *node) []byte { return p.names[n.name : n.name+n.length] }

// end marks the end of a path; false if another path goes through the node or
// ends there.
func (p *Projection) end(at int32) bool {
	n := &p.nodes[at]
	if n.leaf || n.first != 0 {
		return false
	}
	n.leaf = true
	return true
}

// FromAttributesToGet reads the legacy list of top-level attribute names; false
// if it isn't understood or DynamoDB would refuse it.
func (p *Projection) FromAttributesToGet(list []byte) bool {
	p.reset()
	if !p.attributes(list) {
		p.reset()
		return false
	}
	return true
}

func (p *Projection) attributes(list []byte) bool {
	it := wire.Array(list)
	for it.Next() {
		name, ok := wire.Plain(it.Value())
		if !ok || len(name) == 0 || len(name) > maxName {
			return false
		}
		at, ok := p.child(0, name, -1)
		if !ok || !p.end(at) {
			return false
		}
	}
	return !it.Err() && len(p.nodes) > 1
}

// fromPaths takes over paths that have been checked against each other.
func (p *Projection) fromPaths(paths []Path) bool {
	p.reset()
	for _, path := range paths {
		at, ok := int32(0), true
		for _, s := range path {
			if at, ok = p.child(at, []byte(s.Name), int32(s.Index)); !ok {
				return false
			}
		}
		if !p.end(at) {
			return false
		}
	}
	return true
}

// LeadsInto reports whether a path goes on behind the attribute called name.
func (p *Projection) LeadsInto(name string) bool {
	if len(p.nodes) == 0 {
		return false
	}
	for c := p.nodes[0].first; c != 0; c = p.nodes[c].next {
		if n := &p.nodes[c]; !n.leaf && string(p.nameOf(n)) == name {
			return true
		}
	}
	return false
}

// Append appends what the projection keeps of an item, as an object: members
// in the item's order, maps rebuilt, lists closed up. Values that are kept stay
// byte for byte as they are. An item of which nothing is left gives {}. It
// returns false if the text is no item.
func (p *Projection) Append(dst, item []byte) (out []byte, ok bool) {
	if len(p.nodes) == 0 {
		p = &emptyProjection // not p.reset(): others may be reading it
	}
	w := writer{Projection: p, out: dst}
	if _, ok = w.members(item, 0); !ok {
		return dst, false
	}
	return w.out, true
}

// writer is one evaluation. Its methods return kept = false, and leave out as
// it was, if nothing of a value is left.
type writer struct {
	*Projection
	out []byte
}

// members writes the object m of attributes as far as the children of the node
// at keep it; the braces always.
func (w *writer) members(m []byte, at int32) (kept, ok bool) {
	w.out = append(w.out, '{')
	left := w.nodes[at].children
	it := wire.Object(m)
	for left > 0 && it.Next() {
		c := w.find(at, it.Name())
		if c == 0 {
			continue
		}
		left--
		undo := len(w.out)
		if kept {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, '"')
		w.out = append(w.out, it.Name()...)
		w.out = append(w.out, '"', ':')
		some, ok := w.value(it.Value(), c)
		if !ok {
			return false, false
		}
		if some {
			kept = true
		} else {
			w.out = w.out[:undo]
		}
	}
	w.out = append(w.out, '}')
	return kept, !it.Err()
}

// find returns the child of the node that a member's name as written means.
func (w *writer) find(at int32, raw []byte) int32 {
	escaped := bytes.IndexByte(raw, '\\') >= 0
	for c := w.nodes[at].first; c != 0; c = w.nodes[c].next {
		n := &w.nodes[c]
		if n.index >= 0 {
			return 0
		}
		name := w.nameOf(n)
		if escaped && wire.NameIs(raw, string(name)) || !escaped && bytes.Equal(raw, name) {
			return c
		}
	}
	return 0
}

// value writes what the node at keeps of an attribute value.
func (w *writer) value(v []byte, at int32) (kept, ok bool) {
	if w.nodes[at].leaf {
		w.out = append(w.out, v...)
		return true, true
	}
	typ, inner, ok := wire.Attribute(v)
	if !ok {
		return false, false
	}
	byName := w.nodes[w.nodes[at].first].index < 0
	undo := len(w.out)
	switch {
	case string(typ) == "M" && byName:
		w.out = append(w.out, `{"M":`...)
		kept, ok = w.members(inner, at)
	case string(typ) == "L" && !byName:
		w.out = append(w.out, `{"L":`...)
		kept, ok = w.elements(inner, at)
	}
	if !kept {
		w.out = w.out[:undo]
		return false, ok
	}
	w.out = append(w.out, '}')
	return true, ok
}

// elements writes the list as far as the children of the node at keep it.
func (w *writer) elements(list []byte, at int32) (kept, ok bool) {
	w.out = append(w.out, '[')
	left := w.nodes[at].children
	it := wire.Array(list)
	for i := int32(0); left > 0 && it.Next(); i++ {
		c := w.nodes[at].first
		for c != 0 && w.nodes[c].index != i {
			c = w.nodes[c].next
		}
		if c == 0 {
			continue
		}
		left--
		undo := len(w.out)
		if kept {
			w.out = append(w.out, ',')
		}
		some, ok := w.value(it.Value(), c)
		if !ok {
			return false, false
		}
		if some {
			kept = true
		} else {
			w.out = w.out[:undo]
		}
	}
	w.out = append(w.out, ']')
	return kept, !it.Err()
}
