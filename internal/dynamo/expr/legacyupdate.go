package expr

import (
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// LegacyUpdates reads the object AttributeUpdates.
func LegacyUpdates(obj []byte) (*Update, error) {
	u := &Update{Legacy: true}
	err := legacyMap(obj, func(name string, v []byte) error {
		a := Action{Path: Path{{Name: name, Index: -1}}}
		if err := a.legacy(v); err != nil {
			return err
		}
		u.Actions = append(u.Actions, a)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

var updateMembers = []string{"Action", "Value"}

var legacyClauses = map[string]Clause{"PUT": Set, "ADD": Add, "DELETE": Delete}

// legacy reads {"Action":"PUT","Value":{"S":"x"}}.
func (a *Action) legacy(update []byte) error {
	var m [2][]byte
	if !wire.Collect(update, updateMembers, m[:]) {
		return &Error{"Not an update: " + a.Path[0].Name}
	}
	verb := []byte("PUT")
	if m[0] != nil {
		verb, _ = wire.AppendString(nil, m[0])
	}
	a.Clause = legacyClauses[string(verb)]
	if m[1] == nil {
		return a.withoutValue(verb)
	}
	v, err := legacyValue(m[1])
	if err != nil {
		return err
	}
	a.Value = &Operand{Kind: ValueOperand, Value: v, Text: m[1]}
	isSet := v.Type.Element() != 0
	switch {
	case a.Clause == 0:
		return a.badVerb(verb)
	case a.Clause == Delete && !isSet:
		return &Error{invalidParameter + "DELETE action with value is not supported for the type " + v.Type.String()}
	case a.Clause == Add && !isSet && v.Type != value.Number && v.Type != value.List:
		return &Error{invalidParameter + "ADD action is not supported for the type " + v.Type.String()}
	}
	return nil
}

// withoutValue completes an action that has no value, which only DELETE allows.
func (a *Action) withoutValue(verb []byte) error {
	switch a.Clause {
	case 0:
		return a.badVerb(verb)
	case Delete:
		a.Clause = Remove
		return nil
	}
	return &Error{invalidParameter + "Only DELETE action is allowed when no attribute value is specified"}
}

func (a *Action) badVerb(verb []byte) error {
	return &Error{"1 validation error detected: Value '" + string(verb) + "' at 'attributeUpdates." + a.Path[0].Name +
		".member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]"}
}
