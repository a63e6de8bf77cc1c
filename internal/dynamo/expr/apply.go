package expr

import "github.com/kasoku/kasoku/internal/dynamo/value"

var (
	errUpdatePath   = &Error{"The document path provided in the update expression is invalid for update"}
	errMissing      = &Error{"The provided expression refers to an attribute that does not exist in the item"}
	errOperandType  = &Error{"An operand in the update expression has an incorrect data type"}
	errTypeMismatch = &Error{"Type mismatch for attribute to update"}
	errNesting      = &Error{"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"}
)

// maxLevels is how deep an item's documents nest.
const maxLevels = 32

// Apply returns what the update makes of an item, nil if it makes none. Where
// there is no item (nil), key has the attributes that a new one begins with, and
// an update which only removes makes none. What it doesn't change, the result
// shares with item.
//
// Every action reads the item as it was. Of several faults the first action's is
// reported, and of an action that its path leads nowhere before what is wrong
// with its value.
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

// reachable reports whether the item has what the path's last step starts from.
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

// onlyRemoves reports whether the update does something, but never writes a
// value where there was none.
func (u *Update) onlyRemoves() bool {
	writes, removes := u.Counts()
	return writes == 0 && removes > 0
}

// Counts says how many actions write a value and how many remove one.
func (u *Update) Counts() (writes, removes int) {
	for i := range u.Actions {
		if c := u.Actions[i].Clause; c == Set || c == Add {
			writes++
		} else {
			removes++
		}
	}
	return writes, removes
}

// result is the value that an action leaves at its path, nil for none.
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

// levels is how many levels of an item the value takes.
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

// compute is the operand's value in a SET.
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

// pair computes both arguments, which have to be of one type.
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

// number makes a value of what arithmetic has given.
func number(text []byte, err error) (*value.Value, error) {
	if text, ok := validation(err); ok {
		return nil, &Error{text}
	}
	return &value.Value{Type: value.Number, Text: text}, nil
}

// joined is the list or set of the elements of a and then of b.
func joined(a, b *value.Value) *value.Value {
	items := make([]value.Value, 0, len(a.Items)+len(b.Items))
	return &value.Value{Type: a.Type, Items: append(append(items, a.Items...), b.Items...)}
}

// sum is what ADD makes of the value old, nil for none; ok is false for values
// that can't be added to each other.
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

// difference is what DELETE makes of the value old, nil for none; ok is false
// for values of which one can't be taken from the other.
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

// without is the set a less the members of b.
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

// Updated is what ReturnValues UPDATED_NEW shows of the item after the update,
// UPDATED_OLD of the item before it: the values at the update's paths, nil if
// there is none.
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
