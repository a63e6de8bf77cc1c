package expr

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// Match reports whether the item, nil for none, meets the condition. A parsed condition is
// true or false of every item; it never fails.
func (c *Condition) Match(item *value.Value) bool { return c.Root.match(item) }

func (n *Node) match(item *value.Value) bool {
	switch n.Kind {
	case And:
		return !slices.ContainsFunc(n.Nodes, func(sub *Node) bool { return !sub.match(item) })
	case Or:
		return slices.ContainsFunc(n.Nodes, func(sub *Node) bool { return sub.match(item) })
	case Not:
		return !n.Nodes[0].match(item)
	}
	a := n.Args[0].in(item)
	switch n.Kind {
	case Compare:
		return n.Op.holds(a, n.Args[1].in(item))
	case Between:
		return LessEqual.holds(n.Args[1].in(item), a) && LessEqual.holds(a, n.Args[2].in(item))
	case In:
		return slices.ContainsFunc(n.Args[1:], func(arg *Operand) bool { return Equal.holds(a, arg.in(item)) })
	}
	return n.call(a, item)
}

// holds compares two operands, nil for one without a value. Values that can't be compared
// are unequal and unordered.
func (op Comparator) holds(a, b *value.Value) bool {
	if a == nil || b == nil {
		return op == NotEqual
	}
	switch op {
	case Equal:
		return a.Equal(b)
	case NotEqual:
		return !a.Equal(b)
	}
	order, ok := value.Compare(a, b)
	switch op {
	case Less:
		return ok && order < 0
	case LessEqual:
		return ok && order <= 0
	case Greater:
		return ok && order > 0
	}
	return ok && order >= 0
}

// call evaluates a boolean function whose first argument is a.
func (n *Node) call(a, item *value.Value) bool {
	switch n.Function {
	case AttributeExists:
		return a != nil
	case AttributeNotExists:
		return a == nil
	}
	b := n.Args[1].in(item)
	if a == nil || b == nil {
		return false
	}
	switch n.Function {
	case AttributeType:
		return a.Type.String() == string(b.Text)
	case BeginsWith:
		return a.Type == b.Type && (a.Type == value.String || a.Type == value.Binary) && bytes.HasPrefix(a.Text, b.Text)
	}
	return contains(a, b)
}

// contains reports whether b is a substring of the text a or an element of the collection a.
func contains(a, b *value.Value) bool {
	switch a.Type {
	case value.String, value.Binary:
		return a.Type == b.Type && bytes.Contains(a.Text, b.Text)
	case value.StringSet, value.NumberSet, value.BinarySet, value.List:
		return value.Contains(a.Items, b)
	}
	return false
}

// in returns the operand's value for the item, nil if it has none.
func (o *Operand) in(item *value.Value) *value.Value {
	switch o.Kind {
	case PathOperand:
		return o.Path.In(item)
	case ValueOperand:
		return o.Value
	case ConditionOperand:
		return &value.Value{Type: value.Bool, Bool: o.Node.match(item)}
	case CallOperand: // of Size, the only function with a value in a condition
		return size(o.Args[0].in(item))
	}
	return nil
}

// In returns the value that the path leads to in the item, nil if there is none.
func (p Path) In(item *value.Value) *value.Value {
	v := item
	for i := range p {
		if v == nil {
			return nil
		}
		v = p[i].in(v)
	}
	return v
}

// in takes the step from v, which may be of any type.
func (s *Step) in(v *value.Value) *value.Value {
	if s.Index < 0 {
		return v.Get(s.Name)
	}
	if v.Type == value.List && s.Index < len(v.Items) {
		return &v.Items[s.Index]
	}
	return nil
}

// size returns the value of the function size, nil for a value without a size.
func size(v *value.Value) *value.Value {
	if v == nil {
		return nil
	}
	n := 0
	switch v.Type {
	case value.String:
		n = codeUnits(v.Text)
	case value.Binary:
		n = len(v.Text)
	case value.StringSet, value.NumberSet, value.BinarySet, value.List:
		n = len(v.Items)
	case value.Map:
		n = len(v.Members)
	default:
		return nil
	}
	return &value.Value{Type: value.Number, Text: strconv.AppendInt(nil, int64(n), 10)}
}

// codeUnits returns the length of a text in UTF-16, as the service measures it.
func codeUnits(text []byte) int {
	n := 0
	for len(text) > 0 {
		r, length := utf8.DecodeRune(text)
		if n++; r > 0xffff {
			n++
		}
		text = text[length:]
	}
	return n
}
