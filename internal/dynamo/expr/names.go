package expr

// Error is a ValidationException of DynamoDB with this text.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

const (
	maxName     = 65535
	nameTooLong = "Attribute name is too large, must be less than 65536 bytes"
)

// Names is a request's ExpressionAttributeNames. The zero value is an empty map, as is a nil
// *Names. Reset makes it ready for the next request.
type Names struct{ placeholders }

const namesMember = "ExpressionAttributeNames"

// Reset reads the object raw, which must be valid as long as n is used; nil means a
// request without names. DynamoDB refuses a request for which Reset returns an error.
func (n *Names) Reset(raw []byte) error {
	if err := n.reset(raw, '#', namesMember, nameOf); err != nil {
		return err
	}
	size := 0
	for i := range n.list {
		size += len(n.list[i].key) + len(n.list[i].value)
	}
	if size > maxPlaceholders {
		return &Error{namesMember + " exceeds max size"}
	}
	return nil
}

func nameOf(p *placeholders, key, v []byte) ([]byte, *Error) {
	name, ok := p.decodeString(v)
	switch {
	case !ok:
		return nil, &Error{namesMember + " contains invalid value: not a string for key " + string(key)}
	case len(name) == 0:
		return nil, &Error{namesMember + " contains invalid value: Empty attribute name for key " + string(key)}
	case len(name) > maxName:
		return nil, &Error{namesMember + " contains invalid value: " + nameTooLong + " for key " + string(key)}
	}
	return name, nil
}

// Lookup returns the name that a placeholder ("#n") refers to and marks it as used.
func (n *Names) Lookup(placeholder []byte) (name []byte, ok bool) {
	if n == nil {
		return nil, false
	}
	p := n.lookup(placeholder)
	if p == nil {
		return nil, false
	}
	return p.value, true
}

// AllUsed reports whether each name has been looked up since Reset. DynamoDB refuses a
// request with unused names.
func (n *Names) AllUsed() bool { return n == nil || n.allUsed() }

// Unused is AllUsed with DynamoDB's error.
func (n *Names) Unused() error {
	if n == nil {
		return nil
	}
	return n.unused(namesMember)
}
