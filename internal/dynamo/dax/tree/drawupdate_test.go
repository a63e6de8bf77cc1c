package tree

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
)

// action generates an action of an update and returns its clause and its form.
func (d *randomTree) action() (expr.Clause, string) {
	switch d.pick(4) {
	case 0:
		d.op(opRemove, 2)
		return expr.Remove, d.target()
	case 1:
		d.op(opDelete, 3)
		a := d.target()
		return expr.Delete, a + " " + d.set()
	case 2:
		d.op(opAdd, 3)
		a := d.target()
		return expr.Add, a + " " + d.set()
	}
	d.op(opSet, 3)
	a := d.target()
	return expr.Set, a + " " + d.source()
}

// set refers to a new value, which is a set.
func (d *randomTree) set() string {
	d.values++
	d.op(opValue, 2)
	d.tree = cbor.AppendUint(d.tree, uint64(d.values-1))
	return fmt.Sprintf("set%d", d.values-1)
}

// source generates the value that an attribute is set to. The operands of a sum are not sums.
func (d *randomTree) source() string {
	if k := d.pick(4); k < 2 {
		d.op([]int{opPlus, opMinus}[k], 3)
		a := d.term(1)
		return "(" + []string{"+", "-"}[k] + " " + a + " " + d.path() + ")"
	}
	return d.term(2)
}

// term generates an operand of an update.
func (d *randomTree) term(depth int) string {
	switch k := d.pick(4); {
	case k == 0 && depth > 0:
		d.op(opIfNotExists, 3)
		a := d.target() // otherwise its placeholder could be drawn, which DynamoDB rejects
		return "(if_not_exists " + a + " " + d.term(depth-1) + ")"
	case k == 1 && depth > 1:
		d.op(opListAppend, 3)
		a := d.path()
		return "(list_append " + a + " " + d.path() + ")"
	case k == 2 && depth > 1:
		return d.set()
	}
	return d.path()
}

// sourceForm returns an operand parsed by package expr in the form of randomTree.source.
func sourceForm(o *expr.Operand) string {
	word := string(o.Function)
	switch o.Kind {
	case expr.PathOperand:
		return pathForm(o.Path)
	case expr.ValueOperand:
		return strings.TrimSuffix(strings.TrimPrefix(string(o.Text), `{"SS":["`), `"]}`)
	case expr.SumOperand:
		word = "+"
	case expr.DifferenceOperand:
		word = "-"
	}
	return "(" + word + " " + sourceForm(o.Args[0]) + " " + sourceForm(o.Args[1]) + ")"
}

// TestSameUpdate parses the text of generated updates: each clause has its actions, in order.
func TestSameUpdate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &randomTree{t: t}
		n := 1 + d.pick(5)
		d.tree = cbor.AppendArray(cbor.AppendUint(cbor.AppendArray(nil, 3), 1), n)
		var want, got [expr.Delete + 1]string
		for range n {
			clause, form := d.action()
			want[clause] += form + "; "
		}
		d.tree = cbor.AppendArray(d.tree, d.values)
		for i := range d.values {
			d.tree = cbor.AppendText(append(d.tree, 0xd9, 0x0c, 0xf9, 0x81), fmt.Sprint("set", i))
		}
		var w Placeholders
		text, err := w.Update(nil, d.tree)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		names, values := loadPlaceholders(t, &w)
		u, err := expr.ParseUpdate(text, names, values)
		if err != nil {
			t.Fatalf("%s became %s: %v", want, text, err)
		}
		for _, a := range u.Actions {
			got[a.Clause] += pathForm(a.Path)
			if a.Value != nil {
				got[a.Clause] += " " + sourceForm(a.Value)
			}
			got[a.Clause] += "; "
		}
		if got != want || !names.AllUsed() || !values.AllUsed() {
			t.Fatalf("%s became %s, which is %s", want, text, got)
		}
	})
}

// TestSameProjection parses the text of generated projections, and compares the paths.
func TestSameProjection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &randomTree{t: t}
		n := 1 + d.pick(5)
		d.tree = cbor.AppendArray(cbor.AppendUint(cbor.AppendArray(nil, 2), 1), n)
		var want, got, returned string
		for range n {
			want += d.target() + "; "
		}
		var w Placeholders
		text, paths, err := w.Projection(nil, d.tree)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		names, _ := loadPlaceholders(t, &w)
		read, err := expr.ParsePaths(text, names)
		if err != nil {
			t.Fatalf("%s became %s: %v", want, text, err)
		}
		for i, p := range read {
			got += pathForm(p) + "; "
			var same expr.Path
			for _, s := range paths[i] {
				same = append(same, expr.Step(s))
			}
			returned += pathForm(same) + "; "
		}
		if got != want || returned != want || !names.AllUsed() {
			t.Fatalf("%s became %s, which is %s; the paths are %s", want, text, got, returned)
		}
	})
}
