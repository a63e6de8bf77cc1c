package expr

import (
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

var (
	errUpdatePath   = &Error{"The document path provided in the update expression is invalid for update"}
	errMissing      = &Error{"The provided expression refers to an attribute that does not exist in the item"}
	errOperandType  = &Error{"An operand in the update expression has an incorrect data type"}
	errTypeMismatch = &Error{"Type mismatch for attribute to update"}
	errNesting      = &Error{"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"}
)

// maxLevels is the maximum nesting of an item's documents.
const maxLevels = 32

// Apply returns the item after the update, nil if there is none. If item is nil, the new
// item begins with the attributes of key; an update that only removes then makes no item.
// The result shares unchanged values with item.
//
// Every action reads the item as it was before. Of several faults, the first action's is
// returned; a path that leads nowhere is reported before a fault of its value.
func (u *Update) Apply(item, key *value.Value) (*value.Value, error) {
	if item == nil {
		if u.onlyRemoves() {
			return nil, nil
		}
		item = key
	}
	var root change
	for i := range u.Actions {
		a := &u.Actions[i]
		if !a.Path.reachable(item) {
			return nil, errUpdatePath
		}
		v, err := u.result(a, item)
		if err != nil {
			return nil, err
		}
		root.add(a.Path, v)
	}
	return root.members(item), nil
}

// reachable reports whether the item has the parent of the path's last step.
func (p Path) reachable(item *value.Value) bool {
	last := len(p) - 1
	parent := p[:last].In(item)
	switch {
	case parent == nil:
		return false
	case p[last].Index < 0:
		return parent.Type == value.Map
	}
	return parent.Type == value.List
}

// onlyRemoves reports whether the update has an effect but never writes a value where there
// was none.
func (u *Update) onlyRemoves() bool {
	writes := func(a Action) bool { return a.Clause == Set || a.Clause == Add }
	return len(u.Actions) > 0 && !slices.ContainsFunc(u.Actions, writes)
}

// result returns the value at the action's path after the action, nil for none.
func (u *Update) result(a *Action, item *value.Value) (*value.Value, error) {
	switch a.Clause {
	case Remove:
		return nil, nil
	case Set:
		v, err := a.Value.compute(item)
		if err == nil && len(a.Path) > 1 && len(a.Path)-1+levels(v) > maxLevels {
			err = errNesting
		}
		return v, err
	}
	old := a.Path.In(item)
	var v *value.Value
	var ok bool
	var err error
	if a.Clause == Add {
		v, ok, err = u.sum(old, a.Value.Value)
	} else {
		v, ok = difference(old, a.Value.Value)
	}
	switch {
	case err != nil:
		return nil, err
	case ok:
		return v, nil
	case u.Legacy:
		return nil, errTypeMismatch
	}
	return nil, errOperandType
}

// levels returns the nesting depth of the value.
func levels(v *value.Value) int {
	deepest := 0
	if v.Type == value.List {
		for i := range v.Items {
			deepest = max(deepest, levels(&v.Items[i]))
		}
	}
	for i := range v.Members {
		deepest = max(deepest, levels(&v.Members[i].Value))
	}
	return 1 + deepest
}

// compute returns the operand's value in a SET.
func (o *Operand) compute(item *value.Value) (*value.Value, error) {
	switch o.Kind {
	case ValueOperand:
		return o.Value, nil
	case PathOperand:
		if v := o.Path.In(item); v != nil {
			return v, nil
		}
		return nil, errMissing
	case SumOperand, DifferenceOperand:
		return o.arithmetic(item)
	}
	if o.Function == ListAppend {
		return o.listAppend(item)
	}
	if v := o.Args[0].Path.In(item); v != nil { // if_not_exists
		return v, nil
	}
	return o.Args[1].compute(item)
}

func (o *Operand) arithmetic(item *value.Value) (*value.Value, error) {
	a, b, err := o.pair(item, value.Number)
	if err != nil {
		return nil, err
	}
	if o.Kind == DifferenceOperand {
		return number(value.Sub(a.Text, b.Text))
	}
	return number(value.Add(a.Text, b.Text))
}

func (o *Operand) listAppend(item *value.Value) (*value.Value, error) {
	a, b, err := o.pair(item, value.List)
	if err != nil {
		return nil, err
	}
	return joined(a, b), nil
}

// pair computes both arguments, which must have the same type.
func (o *Operand) pair(item *value.Value, typ value.Type) (a, b *value.Value, err error) {
	for i, dst := range []**value.Value{&a, &b} {
		v, err := o.Args[i].compute(item)
		if err != nil {
			return nil, nil, err
		}
		if v.Type != typ {
			return nil, nil, errOperandType
		}
		*dst = v
	}
	return a, b, nil
}

// number makes a Number of the result of arithmetic.
func number(text []byte, err error) (*value.Value, error) {
	if fault := validation(err); fault != nil {
		return nil, &Error{fault.Message}
	}
	return &value.Value{Type: value.Number, Text: text}, nil
}

// joined returns the list or set of the elements of a, followed by those of b.
func joined(a, b *value.Value) *value.Value {
	items := make([]value.Value, 0, len(a.Items)+len(b.Items))
	return &value.Value{Type: a.Type, Items: append(append(items, a.Items...), b.Items...)}
}

// sum returns the result of an ADD to the value old, nil for none. It returns ok == false
// for values that can't be added to each other.
func (u *Update) sum(old, v *value.Value) (sum *value.Value, ok bool, err error) {
	switch {
	case v.Type != value.Number && v.Type.Element() == 0 && (v.Type != value.List || !u.Legacy):
		return nil, false, nil
	case old == nil:
		return v, true, nil
	case old.Type != v.Type:
		return nil, false, nil
	case v.Type == value.Number:
		sum, err = number(value.Add(old.Text, v.Text))
		return sum, true, err
	case v.Type == value.List:
		return joined(old, v), true, nil
	}
	return joined(old, without(v, old)), true, nil
}

// difference returns the result of a DELETE from the value old, nil for none. It returns ok
// == false for values that can't be subtracted from each other.
func difference(old, v *value.Value) (left *value.Value, ok bool) {
	switch {
	case v.Type.Element() == 0:
		return nil, false
	case old == nil:
		return nil, true
	case old.Type != v.Type:
		return nil, false
	}
	if left = without(old, v); len(left.Items) == 0 {
		return nil, true
	}
	return left, true
}

// without returns the set a without the members of b.
func without(a, b *value.Value) *value.Value {
	gone := make(map[string]struct{}, len(b.Items))
	for i := range b.Items {
		gone[string(b.Items[i].Text)] = struct{}{}
	}
	left := &value.Value{Type: a.Type}
	for i := range a.Items {
		if _, found := gone[string(a.Items[i].Text)]; !found {
			left.Items = append(left.Items, a.Items[i])
		}
	}
	return left
}

// Updated returns the values at the update's paths, nil if there are none: of the item after
// the update for ReturnValues UPDATED_NEW, of the item before it for UPDATED_OLD.
func (u *Update) Updated(item *value.Value) *value.Value {
	if item == nil {
		return nil
	}
	shown := NewSelection(u.Paths()).Of(item)
	if len(shown.Members) == 0 {
		return nil
	}
	return &shown
}
