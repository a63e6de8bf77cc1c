package expr

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// LegacyExpected reads the object Expected, nil if the request has none, and
// ConditionalOperator, empty for none. The condition is nil if the request expects nothing.
func LegacyExpected(obj []byte, operator string) (*Condition, error) {
	return legacyConditions(obj, operator, (*legacyCondition).readExpected)
}

var expectedMembers = []string{"ComparisonOperator", "AttributeValueList", "Value", "Exists"}

// readExpected reads a condition in any of Expected's forms.
func (c *legacyCondition) readExpected(obj []byte) (err error) {
	var m [4][]byte
	if !wire.Collect(obj, expectedMembers, m[:]) {
		return &Error{"Not a condition: " + c.name}
	}
	operator, list, single, exists := m[0], m[1], m[2], m[3]
	forAttribute := " for Attribute: " + c.name
	switch {
	case list != nil && single != nil:
		return &Error{invalidParameter + "Value and AttributeValueList cannot be used together" + forAttribute}
	case operator != nil && exists != nil:
		return &Error{invalidParameter + "Exists and ComparisonOperator cannot be used together" + forAttribute}
	case operator == nil && list != nil:
		return &Error{invalidParameter + "AttributeValueList can only be used with a ComparisonOperator" + forAttribute}
	case operator == nil:
		return c.readExists(single, exists)
	}
	if name, _ := wire.AppendString(nil, operator); list == nil && single == nil && legacyOperators[string(name)].minValues > 0 {
		return &Error{invalidParameter + "Value or AttributeValueList must be used with ComparisonOperator: " + string(name) + forAttribute}
	}
	if list != nil {
		c.values, err = legacyValues(list)
	} else if single != nil {
		c.values, err = oneValue(single)
	}
	if err != nil {
		return err
	}
	return c.setOperator(operator)
}

func oneValue(text []byte) ([]*value.Value, error) {
	v, err := legacyValue(text)
	return []*value.Value{v}, err
}

// readExists reads the oldest form: Value, or Exists, or both.
func (c *legacyCondition) readExists(single, exists []byte) (err error) {
	forAttribute := " for Attribute: " + c.name
	state := "null"
	if exists != nil {
		state = "true"
		if !isTrue(exists) {
			state = "false"
		}
	}
	switch {
	case state == "false" && single != nil:
		return &Error{invalidParameter + "Value cannot be used when Exists is false" + forAttribute}
	case state == "false":
		c.legacyOperator = legacyOperators["NULL"]
		return nil
	case single == nil:
		return &Error{invalidParameter + "Value must be provided when Exists is " + state + forAttribute}
	}
	c.legacyOperator = legacyOperators["EQ"]
	c.values, err = oneValue(single)
	return err
}

// isTrue reads a boolean. Like the service, it also accepts words for it.
func isTrue(text []byte) bool {
	if wire.Kind(text) != '"' {
		return wire.Kind(text) == 't'
	}
	word, _ := wire.AppendString(nil, text)
	switch string(bytes.ToLower(word)) {
	case "true", "1", "yes":
		return true
	}
	return false
}
