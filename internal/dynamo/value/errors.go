package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const invalid = "One or more parameter values were invalid: "

var (
	errSyntax  = serialization("")
	errNoType  = wire.Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errTypes   = wire.Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	errNull    = wire.Invalid(invalid + "Null attribute value types must have the value of true")
	errNesting = wire.NestingError()
	errNoName  = wire.Invalid("Empty attribute name")
	errName    = wire.Invalid("Attribute name is too large, must be less than %d bytes", maxName+1)

	// The double space in the first two is the service's.
	errNoStrings  = wire.Invalid(invalid + "An string set  may not be empty")
	errNoNumbers  = wire.Invalid(invalid + "An number set  may not be empty")
	errNoBinaries = wire.Invalid(invalid + "Binary sets should not be empty")
	errNullString = wire.Invalid(invalid + "An string set may not have a null string as a member")
	errNullBinary = wire.Invalid(invalid + "Binary sets may not contain null or empty values")
	errNumbers    = worded("Input collection contains duplicates", invalid+"Input collection contains duplicates.")
)

func serialization(message string) *wire.Error {
	return &wire.Error{Type: "SerializationException", Message: message}
}

// worded returns an error whose message differs in the service's two wordings.
func worded(older, newer string) *wire.Error {
	e := wire.Invalid("%s", older)
	e.Newer = newer
	return e
}

func checkName(name []byte) *wire.Error {
	switch {
	case len(name) == 0:
		return errNoName
	case len(name) > maxName:
		return errName
	}
	return nil
}

// nullElement is the error for a null in a set.
func nullElement(set Type) *wire.Error {
	switch set {
	case StringSet:
		return errNullString
	case NumberSet:
		return malformed(nil)
	}
	return errNullBinary
}

// checkSet checks the rules that need the whole set.
func checkSet(typ Type, items []Value) *wire.Error {
	if len(items) == 0 {
		switch typ {
		case StringSet:
			return errNoStrings
		case NumberSet:
			return errNoNumbers
		}
		return errNoBinaries
	}
	if !hasDuplicates(items) {
		return nil
	}
	return duplicates(typ, items)
}

func hasDuplicates(items []Value) bool {
	if len(items) <= fewMembers {
		for i := range items {
			for j := range i {
				if bytes.Equal(items[i].Text, items[j].Text) {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[string]struct{}, len(items))
	for i := range items {
		seen[string(items[i].Text)] = struct{}{}
	}
	return len(seen) < len(items)
}
