package tree

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
)

// randomTree is a generated tree: its bytes, its form for comparisons, and its values.
type randomTree struct {
	t      *rapid.T
	tree   []byte
	values int
	// targets is the number of paths of an update or a projection.
	targets int
}

func (d *randomTree) op(op, items int) {
	d.tree = cbor.AppendUint(cbor.AppendArray(d.tree, items), uint64(op))
}

func (d *randomTree) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

// condition generates a condition and returns its form.
func (d *randomTree) condition(depth int) string {
	kinds := 12
	if depth == 0 {
		kinds = 9
	}
	switch k := d.pick(kinds); k {
	case 9, 10:
		d.op([]int{opAnd, opOr}[k-9], 3)
		a := d.condition(depth - 1)
		return fmt.Sprintf("(%s %s %s)", []string{"and", "or"}[k-9], a, d.condition(depth-1))
	case 11:
		d.op(opNot, 2)
		return "(not " + d.condition(depth-1) + ")"
	case 0:
		op := d.pick(opLessOrEqual + 1)
		d.op(op, 3)
		a := d.path()
		return fmt.Sprintf("(%s %s %s)", strings.TrimSpace(infix[op]), a, d.operand())
	case 1:
		d.op(opBetween, 4)
		a := d.path()
		return "(between " + a + " " + d.value() + " " + d.value() + ")"
	case 2:
		d.op(opIn, 3)
		form := "(in " + d.path()
		n := 1 + d.pick(3)
		d.tree = cbor.AppendArray(d.tree, n)
		for range n {
			form += " " + d.operand()
		}
		return form + ")"
	case 3, 4:
		op := []int{opExists, opNotExists}[k-3]
		d.op(op, 2)
		return "(" + function[op] + " " + d.path() + ")"
	case 5:
		d.op(opBeginsWith, 3)
		a := d.path()
		return "(begins_with " + a + " " + d.value() + ")"
	case 6:
		d.op(opContains, 3)
		a := d.path()
		return "(contains " + a + " " + d.operand() + ")"
	case 7:
		d.op(opLess, 3)
		a := d.value()
		return "(< " + a + " " + d.path() + ")"
	default:
		d.op(opGreater, 3)
		d.op(opSize, 2)
		a := d.path()
		return "(> (size " + a + ") " + d.value() + ")"
	}
}

func (d *randomTree) operand() string {
	if d.pick(2) == 0 {
		return d.path()
	}
	return d.value()
}

// value refers to a new value, or to one that was referred to before. The values are the texts
// v0, v1 and so on.
func (d *randomTree) value() string {
	n := d.pick(d.values + 1)
	d.values = max(d.values, n+1)
	d.op(opValue, 2)
	d.tree = cbor.AppendUint(d.tree, uint64(n))
	return fmt.Sprintf("v%d", n)
}

func (d *randomTree) path() string {
	n := 1 + d.pick(3)
	d.op(opPath, n+1)
	return d.parts(0, n)
}

// target generates a path that overlaps with none of the others.
func (d *randomTree) target() string {
	d.targets++
	name, n := fmt.Sprint("target", d.targets), 1+d.pick(3)
	d.op(opPath, n+1)
	d.tree = cbor.AppendText(d.tree, name)
	return "/" + name + d.parts(1, n)
}

// parts generates the parts of a path from number from to the last.
func (d *randomTree) parts(from, n int) (form string) {
	for i := from; i < n; i++ {
		if i > 0 && d.pick(3) == 0 {
			index := d.pick(4)
			d.tree = cbor.AppendUint(cbor.AppendTag(d.tree, tagIndex), uint64(index))
			form += fmt.Sprintf("[%d]", index)
			continue
		}
		name := rapid.SampledFrom([]string{"a", "b", "size", "a.b", "#x", "é"}).Draw(d.t, "name")
		d.tree = cbor.AppendText(d.tree, name)
		form += "/" + name
	}
	return form
}

// form returns an expression parsed by package expr in the form of randomTree.
func form(n *expr.Node) string {
	switch n.Kind {
	case expr.And, expr.Or:
		// Consecutive ones of one kind are parsed as one, nested from the right.
		word := map[expr.NodeKind]string{expr.And: "and", expr.Or: "or"}[n.Kind]
		last := len(n.Nodes) - 1
		text := form(n.Nodes[last])
		for i := last - 1; i >= 0; i-- {
			text = fmt.Sprintf("(%s %s %s)", word, form(n.Nodes[i]), text)
		}
		return text
	case expr.Not:
		return "(not " + form(n.Nodes[0]) + ")"
	case expr.Compare:
		return fmt.Sprintf("(%s %s %s)", n.Op, operandForm(n.Args[0]), operandForm(n.Args[1]))
	}
	word := map[expr.NodeKind]string{expr.Between: "between", expr.In: "in", expr.Call: string(n.Function)}[n.Kind]
	text := "(" + word
	for _, a := range n.Args {
		text += " " + operandForm(a)
	}
	return text + ")"
}

func operandForm(o *expr.Operand) string {
	switch o.Kind {
	case expr.PathOperand:
		return pathForm(o.Path)
	case expr.ValueOperand:
		return strings.TrimSuffix(strings.TrimPrefix(string(o.Text), `{"S":"`), `"}`)
	}
	return "(" + string(o.Function) + " " + operandForm(o.Args[0]) + ")"
}

func pathForm(p expr.Path) (text string) {
	for _, s := range p {
		if s.Index >= 0 {
			text += fmt.Sprintf("[%d]", s.Index)
		} else {
			text += "/" + s.Name
		}
	}
	return text
}

// loadPlaceholders returns the names and values of w as package expr loads them.
func loadPlaceholders(t *rapid.T, w *Placeholders) (*expr.Names, *expr.Values) {
	names, values := new(expr.Names), new(expr.Values)
	if w.HasNames() {
		if err := names.Reset(w.AppendNames(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if w.HasValues() {
		b, err := w.AppendValues(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := values.Load(b); err != nil {
			t.Fatal(err)
		}
	}
	return names, values
}

// flat reports whether an AND is the first operand of an AND, or an OR of an OR: parsing
// makes it the second operand, which is equivalent.
func flat(form string) bool {
	return strings.Contains(form, "(and (and") || strings.Contains(form, "(or (or")
}

// TestSameTree parses the text of generated conditions, and compares the trees.
func TestSameTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &randomTree{t: t}
		d.tree = cbor.AppendUint(cbor.AppendArray(nil, 3), 1)
		want := d.condition(4)
		d.tree = cbor.AppendArray(d.tree, d.values+1)
		for i := range d.values + 1 { // one more than are used
			d.tree = cbor.AppendText(d.tree, fmt.Sprint("v", i))
		}
		var w Placeholders
		text, err := w.Condition(nil, d.tree, 'f')
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		names, values := loadPlaceholders(t, &w)
		c, err := expr.ParseCondition("FilterExpression", text, names, values)
		if err != nil {
			if strings.Contains(err.Error(), "overlap") || strings.Contains(err.Error(), "operands") || strings.Contains(err.Error(), "distinct") || strings.Contains(err.Error(), "The BETWEEN") {
				return // nothing that a client's own check of its text would have let pass
			}
			t.Fatalf("%s became %s: %v", want, text, err)
		}
		if !names.AllUsed() || !values.AllUsed() {
			t.Fatalf("%s became %s, and not all of %s are used", want, text, w.AppendNames(nil))
		}
		if got := form(c.Root); got != want && !flat(want) {
			t.Fatalf("%s became %s, which is %s", want, text, got)
		}
	})
}
