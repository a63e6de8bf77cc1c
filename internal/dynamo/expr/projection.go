package expr

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	maxPathSteps = 32
	// maxProjectionNodes bounds the work per member of an item. Larger projections are left
	// to the origin.
	maxProjectionNodes = 256
	maxIndex           = 1<<31 - 1
)

// Projection is the tree of the paths of a ProjectionExpression; the first node is the item
// itself. It owns its memory and may be parsed into repeatedly. Between calls of Parse it
// may be read concurrently. The zero value selects nothing.
type Projection struct {
	nodes []node
	names []byte // names of the nodes
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

// emptyProjection replaces the zero value.
var emptyProjection = Projection{nodes: []node{{index: -1}}}

func (p *Projection) reset() {
	p.nodes = append(p.nodes[:0], node{index: -1})
	p.names = p.names[:0]
}

// Parse reads a decoded expression. If it doesn't understand the expression or DynamoDB
// would refuse it, it returns false and the projection selects nothing. Reasons are bad
// syntax, reserved words, undefined placeholders, paths that overlap or conflict, and
// expressions that are too long, too deep or have too many paths.
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

// steps reads the steps of a path after its first, which ended at the node at. t is the
// token after the path.
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

// nameStep moves from the node at to its child called like the token.
func (p *Projection) nameStep(l *lexer, t token, names *Names, at int32) (child int32, ok bool) {
	name, ok := resolveName(l.bytes(t), t.kind, names)
	if !ok {
		return 0, false
	}
	return p.child(at, name, -1)
}

// resolveName returns the attribute name that a token refers to.
func resolveName(text []byte, kind tokenKind, names *Names) ([]byte, bool) {
	switch kind {
	case tokenName:
		return text, !reserved().has(text)
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

// child returns the node's child with the name or index, and adds it if it is missing. It
// returns false if a path ends at the node (overlap), if the node has children of the other
// kind (conflict), or if there are too many nodes.
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

// end marks the end of a path. It returns false if another path continues or ends at the
// node.
func (p *Projection) end(at int32) bool {
	n := &p.nodes[at]
	if n.leaf || n.first != 0 {
		return false
	}
	n.leaf = true
	return true
}

// FromAttributesToGet reads the legacy list of top-level attribute names. It returns false
// if it doesn't understand the list or DynamoDB would refuse it.
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

// fromPaths adds paths that have been checked for conflicts.
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

// LeadsInto reports whether a path continues below the attribute called name.
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

// Append appends the selected part of an item as an object. Members keep the item's order,
// maps are rebuilt, and lists lose their unselected elements. Selected values are copied
// byte for byte. The result is {} if nothing is selected. Append returns false if the text
// is not an item.
func (p *Projection) Append(dst, item []byte) (out []byte, ok bool) {
	if len(p.nodes) == 0 {
		p = &emptyProjection // not p.reset(): it may be read concurrently
	}
	w := writer{Projection: p, out: dst}
	if _, ok = w.members(item, 0); !ok {
		return dst, false
	}
	return w.out, true
}

// writer is one evaluation. Its methods return kept == false, and don't change out, if no
// part of a value is selected.
type writer struct {
	*Projection
	out []byte
}

// members appends the object m of attributes, restricted to the children of the node at. It
// always appends the braces.
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

// find returns the child of the node with a member's name as written.
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

// value appends the part of an attribute value that the node at selects.
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

// elements appends the list, restricted to the children of the node at.
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
