package tree

import (
	"fmt"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// Condition appends the text of a condition, a filter or a key condition. Placeholders of
// its values begin with prefix, a different letter for each expression.
func (w *Placeholders) Condition(dst, container []byte, prefix byte) ([]byte, error) {
	r := w.open(container, 3, maxBytes)
	p := printer{w: w, prefix: prefix}
	dst = p.condition(dst, &r, holdsOr, maxDepth)
	w.readValues(&r, prefix)
	if err := r.Close(); err != nil {
		return dst, fmt.Errorf("an expression can't be read: %w", err)
	}
	return dst, nil
}

// printer writes one expression. An error in it makes the reader fail.
type printer struct {
	w      *Placeholders
	prefix byte
}

// condition writes a condition. need is the precedence required by its context.
func (p *printer) condition(dst []byte, r *cbor.Reader, need, depth int) []byte {
	ahead := *r
	ahead.Array()
	op := ahead.Int()
	if depth == 0 {
		r.Fail("more than %d levels", maxDepth)
	}
	if holds(op) < need {
		return append(p.junction(append(dst, '('), r, op, depth), ')')
	}
	return p.junction(dst, r, op, depth)
}

// junction writes AND, OR or NOT with its operands, or an atom.
func (p *printer) junction(dst []byte, r *cbor.Reader, op int64, depth int) []byte {
	if r.Err() != nil {
		return dst
	}
	switch op {
	case opAnd, opOr:
		p.begin(r, 3)
		dst = p.condition(dst, r, holds(op)+1, depth-1)
		return p.condition(append(dst, infix[op]...), r, holds(op), depth-1)
	case opNot:
		p.begin(r, 2)
		return p.condition(append(dst, "NOT "...), r, holdsNot, depth-1)
	}
	return p.atom(dst, r)
}

// begin reads the head of an operation with the given number of items, including itself.
func (p *printer) begin(r *cbor.Reader, items int) (op int64) {
	fixed(r, items)
	return r.Int()
}

// atom writes a condition without nested conditions.
func (p *printer) atom(dst []byte, r *cbor.Reader) []byte {
	n := r.Array()
	switch op := r.Int(); {
	case op >= opEqual && op <= opLessOrEqual && n == 3:
		dst = append(p.operand(dst, r), infix[op]...)
		return p.operand(dst, r)
	case op == opBetween && n == 4:
		dst = append(p.operand(dst, r), " BETWEEN "...)
		dst = append(p.operand(dst, r), " AND "...)
		return p.operand(dst, r)
	case op == opIn && n == 3:
		return p.in(append(p.operand(dst, r), " IN ("...), r)
	case (op == opExists || op == opNotExists) && n == 2:
		return p.call(dst, r, op, 1)
	case (op == opType || op == opBeginsWith || op == opContains) && n == 3:
		return p.call(dst, r, op, 2)
	default:
		r.Fail("operation %d of %d items is no condition", op, n)
	}
	return dst
}

func (p *printer) in(dst []byte, r *cbor.Reader) []byte {
	n, first := r.Array(), true
	for r.More(&n) {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = p.operand(dst, r)
	}
	return append(dst, ')')
}

func (p *printer) call(dst []byte, r *cbor.Reader, op int64, operands int) []byte {
	dst = append(append(dst, function[op]...), '(')
	for i := range operands {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = p.operand(dst, r)
	}
	return append(dst, ')')
}

// operand writes an operand of a condition: a path, its size or a value.
func (p *printer) operand(dst []byte, r *cbor.Reader) []byte {
	n := r.Array()
	switch op := r.Int(); {
	case op == opPath:
		return p.path(dst, r, n-1)
	case op == opValue && n == 2:
		return p.value(dst, r)
	case op == opSize && n == 2:
		dst = append(append(dst, function[op]...), '(')
		n := r.Array()
		if r.Int() != opPath {
			r.Fail("the size of something other than a path")
		}
		return append(p.path(dst, r, n-1), ')')
	default:
		r.Fail("operation %d of %d items is no operand", op, n)
	}
	return dst
}

func (p *printer) value(dst []byte, r *cbor.Reader) []byte {
	number := p.w.use(r, r.Int())
	p.w.checkLength(r)
	return appendValue(dst, p.prefix, number)
}

// path writes a path of the given number of parts, whose head has been read.
func (p *printer) path(dst []byte, r *cbor.Reader, parts int) []byte {
	if parts < 1 {
		r.Fail("a path of %d parts", parts)
	}
	for i := 0; i < parts && r.Err() == nil; i++ {
		switch {
		case i > 0 && r.Kind() == cbor.Tag:
			dst = strconv.AppendInt(append(dst, '['), int64(readIndex(r)), 10)
			dst = append(dst, ']')
		case i > 0:
			dst = append(dst, '.')
			fallthrough
		default:
			dst = appendName(dst, p.w.name(r.Text()))
		}
		p.w.checkLength(r)
	}
	return dst
}

// readIndex reads the index of an element.
func readIndex(r *cbor.Reader) int {
	if tag := r.Tag(); tag != tagIndex {
		r.Fail("the tag %d in a path", tag)
	}
	i := r.Int()
	if i < 0 || i > 1<<31-1 {
		r.Fail("the index %d in a path", i)
		return 0
	}
	return int(i)
}
