package expr

import (
	"cmp"
	"errors"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Values is a request's ExpressionAttributeValues, used like Names.
type Values struct{ placeholders }

const valuesMember = "ExpressionAttributeValues"

// Reset reads the object raw, which must be valid as long as v is used; nil means a
// request without values. It checks only the outermost type of each value, which is enough
// for a proxy that forwards the request. DynamoDB refuses a request for which Reset returns
// an error.
func (v *Values) Reset(raw []byte) error {
	if err := v.reset(raw, ':', valuesMember, valueOf); err != nil {
		return err
	}
	return nil
}

// Load is Reset for a store: it finds all faults of the values, whether an expression uses
// them or not.
func (v *Values) Load(raw []byte) error {
	if err := v.reset(raw, ':', valuesMember, unread); err != nil {
		return err
	}
	size := 0
	for i := range v.list {
		if err := v.list[i].read(); err != nil {
			return err
		}
		size += len(v.list[i].key) + v.list[i].tree.Size()
	}
	if size > maxPlaceholders {
		return &Error{valuesMember + " exceeds max size"}
	}
	return nil
}

func unread(_ *placeholders, _, v []byte) ([]byte, *Error) { return v, nil }

// invalidValue adds the value's key to an error, unless the fault is in the JSON itself. The
// newer wording is without the key.
func invalidValue(key []byte, err error) error {
	fault := validation(err)
	if fault == nil {
		return err
	}
	wrapped := wire.Invalid("%s contains invalid value: %s for key %s", valuesMember, fault.Message, key)
	wrapped.Newer = cmp.Or(fault.Newer, fault.Message)
	return wrapped
}

// validation returns an error of package value that is a ValidationException; nil for
// another.
func validation(err error) *wire.Error {
	var fault *wire.Error
	if errors.As(err, &fault) && fault.Type == "ValidationException" {
		return fault
	}
	return nil
}

func valueOf(_ *placeholders, key, v []byte) ([]byte, *Error) {
	if _, _, ok := wire.Attribute(v); ok {
		return v, nil
	}
	return nil, &Error{valuesMember + " contains invalid value: " + attributeFault(v) + " for key " + string(key)}
}

// attributeFault returns DynamoDB's text for a value that wire.Attribute has refused.
func attributeFault(v []byte) string {
	members := 0
	var null, set []byte
	for it := wire.Object(v); it.Next(); members++ {
		switch {
		case wire.NameIs(it.Name(), "NULL"):
			null = it.Value()
		case len(it.Name()) == 2:
			set = it.Value()
		}
	}
	switch {
	case members == 0:
		return "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	case members > 1:
		return "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	case wire.Kind(null) == 'f':
		return "One or more parameter values were invalid: Null attribute value types must have the value of true"
	case set != nil && wire.Kind(set) != '[':
		return "Unexpected field type"
	}
	return "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
}

// Lookup returns the attribute value that a placeholder (":v") refers to and marks it as
// used.
func (v *Values) Lookup(placeholder []byte) (value []byte, ok bool) {
	if v == nil {
		return nil, false
	}
	p := v.lookup(placeholder)
	if p == nil {
		return nil, false
	}
	return p.value, true
}

// constant is Lookup for a syntax tree, which needs the value in both forms.
func (v *Values) constant(ref []byte) (text []byte, tree *value.Value, err error) {
	var p *placeholder
	if v != nil {
		p = v.lookup(ref)
	}
	if p == nil {
		return nil, nil, &Error{"An expression attribute value used in expression is not defined; attribute value: " + string(ref)}
	}
	if err := p.read(); err != nil {
		return nil, nil, err
	}
	return p.value, p.tree, nil
}

// read makes the tree of a value, which all its uses share.
func (p *placeholder) read() error {
	if p.tree != nil {
		return nil
	}
	tree, err := value.Parse(p.value)
	if err != nil {
		return invalidValue(p.key, err)
	}
	p.tree = &tree
	return nil
}

// AllUsed reports whether each value has been looked up since Reset.
func (v *Values) AllUsed() bool { return v == nil || v.allUsed() }

// Unused is AllUsed with DynamoDB's error.
func (v *Values) Unused() error {
	if v == nil {
		return nil
	}
	return v.unused(valuesMember)
}
