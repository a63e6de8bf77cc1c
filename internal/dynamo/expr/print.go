package expr

import "strings"

var nodeNames = [...]string{And: "and", Or: "or", Not: "not", Between: "between", In: "in"}

// String formats the condition with all parentheses, for tests and logs.
func (c *Condition) String() string {
	var b strings.Builder
	c.Root.write(&b)
	return b.String()
}

// write prints the node as a list in parentheses, its operator first.
func (n *Node) write(b *strings.Builder) {
	b.WriteByte('(')
	switch n.Kind {
	case Compare:
		b.WriteString(string(n.Op))
	case Call:
		b.WriteString(string(n.Function))
	default:
		b.WriteString(nodeNames[n.Kind])
	}
	for _, sub := range n.Nodes {
		b.WriteByte(' ')
		sub.write(b)
	}
	writeArgs(b, n.Args)
}

// writeArgs prints operands and the parenthesis that closes their list.
func writeArgs(b *strings.Builder, args []*Operand) {
	for _, arg := range args {
		b.WriteByte(' ')
		arg.write(b)
	}
	b.WriteByte(')')
}

func (o *Operand) write(b *strings.Builder) {
	switch o.Kind {
	case PathOperand:
		b.WriteString(o.Path.String())
		return
	case ValueOperand:
		b.Write(o.Value.Append(nil))
		return
	case ConditionOperand:
		o.Node.write(b)
		return
	case CallOperand:
		b.WriteString("(" + string(o.Function))
	case SumOperand:
		b.WriteString("(+")
	case DifferenceOperand:
		b.WriteString("(-")
	}
	writeArgs(b, o.Args)
}
