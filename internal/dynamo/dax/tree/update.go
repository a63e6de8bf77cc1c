package tree

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// clauses are the keywords of an update, in the order of the text. Their order doesn't
// affect the result.
var clauses = [...]struct {
	op   int64
	word string
}{{opSet, "SET "}, {opRemove, "REMOVE "}, {opAdd, "ADD "}, {opDelete, "DELETE "}}

// Update appends the text of an update. Placeholders of its values begin with 'u'.
func (w *Placeholders) Update(dst, container []byte) ([]byte, error) {
	for i := range w.clause {
		w.clause[i] = w.clause[i][:0]
	}
	r := w.open(container, 3, maxBytes)
	p := printer{w: w, prefix: 'u'}
	n := r.Array()
	for r.More(&n) {
		p.action(&r)
	}
	w.readValues(&r, p.prefix)
	if err := r.Close(); err != nil {
		return dst, fmt.Errorf("an update expression can't be read: %w", err)
	}
	start := len(dst)
	for i, c := range clauses {
		if len(w.clause[i]) == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, c.word...), w.clause[i]...)
	}
	return dst, nil
}

// action adds one action to its clause.
func (p *printer) action(r *cbor.Reader) {
	n, op := r.Array(), int64(0)
	op = r.Int()
	for i, c := range clauses {
		if c.op != op {
			continue
		}
		if want := 3; op == opRemove && n != 2 || op != opRemove && n != want {
			break
		}
		b := p.w.clause[i]
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = p.target(b, r)
		switch op {
		case opSet:
			b = p.source(append(b, " = "...), r, maxDepth)
		case opAdd, opDelete:
			b = p.source(append(b, ' '), r, 1)
		}
		p.w.clause[i] = b
		return
	}
	r.Fail("operation %d of %d items is no action of an update", op, n)
}

// target writes the path that an action changes.
func (p *printer) target(dst []byte, r *cbor.Reader) []byte {
	n := r.Array()
	if op := r.Int(); op != opPath {
		r.Fail("operation %d where a path belongs", op)
	}
	return p.path(dst, r, n-1)
}

// source writes the value that an attribute is set to.
func (p *printer) source(dst []byte, r *cbor.Reader, depth int) []byte {
	if depth == 0 {
		r.Fail("more than %d levels", maxDepth)
	}
	n := r.Array()
	op := r.Int()
	if r.Err() != nil {
		return dst
	}
	switch {
	case op == opPath:
		return p.path(dst, r, n-1)
	case op == opValue && n == 2:
		return p.value(dst, r)
	case op == opIfNotExists && n == 3:
		dst = append(p.target(append(append(dst, function[op]...), '('), r), ", "...)
		return append(p.source(dst, r, depth-1), ')')
	case op == opListAppend && n == 3:
		dst = append(p.source(append(append(dst, function[op]...), '('), r, depth-1), ", "...)
		return append(p.source(dst, r, depth-1), ')')
	case (op == opPlus || op == opMinus) && n == 3:
		dst = append(p.source(dst, r, depth-1), infix[op]...)
		return p.source(dst, r, depth-1)
	}
	r.Fail("operation %d of %d items is nothing that an attribute can be set to", op, n)
	return dst
}
