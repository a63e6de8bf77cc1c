package value

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// Add returns the normalized text of a+b, both given as the text of numbers.
func Add(a, b []byte) ([]byte, error) { return sum(a, b, false) }

// Sub returns the normalized text of a-b, both given as the text of numbers.
func Sub(a, b []byte) ([]byte, error) { return sum(a, b, true) }

func sum(a, b []byte, negate bool) ([]byte, error) {
	var m, n wire.Number
	if fault := m.Parse(a); fault != wire.NumberFine {
		return nil, wire.Invalid("%s", fault.Message(a))
	}
	if fault := n.Parse(b); fault != wire.NumberFine {
		return nil, wire.Invalid("%s", fault.Message(b))
	}
	if negate {
		n.Negate()
	}
	if fault := m.Add(&m, &n); fault != wire.NumberFine {
		return nil, wire.Invalid("%s", fault.Message(nil))
	}
	return m.Append(nil), nil
}
