package expr

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Error is a request that DynamoDB refuses with a ValidationException of this
// text.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

const (
	maxPlaceholder = 255
	maxName        = 65535
	// fewPlaceholders are searched one by one; more are sorted, so that a large
	// map can't be used to make the proxy slow.
	fewPlaceholders = 12
)

// placeholders is what Names and Values share.
type placeholders struct {
	list []placeholder
	text []byte // texts that had to be decoded
}

type placeholder struct {
	key, value []byte
	used       bool
}

// reset reads the members of raw; value turns a member's value into what the
// placeholder stands for.
func (p *placeholders) reset(raw []byte, prefix byte, kind string, value func(*placeholders, []byte, []byte) ([]byte, *Error)) *Error {
	clear(p.list)
	p.list, p.text = p.list[:0], p.text[:0]
	if raw == nil {
		return nil
	}
	it := wire.Object(raw)
	for it.Next() {
		key, ok := p.decodeName(it.Name())
		if !ok || !isPlaceholder(key, prefix) {
			return &Error{kind + ` contains invalid key: Syntax error; key: "` + string(it.Name()) + `"`}
		}
		v, err := value(p, key, it.Value())
		if err != nil {
			return err
		}
		p.list = append(p.list, placeholder{key: key, value: v})
	}
	switch {
	case it.Err():
		return &Error{kind + " is not an object"}
	case len(p.list) == 0:
		return &Error{kind + " must not be empty"}
	case !p.distinct():
		return &Error{kind + " contains a key twice"}
	}
	return nil
}

func isPlaceholder(key []byte, prefix byte) bool {
	if len(key) < 2 || len(key) > maxPlaceholder || key[0] != prefix {
		return false
	}
	for _, c := range key[1:] {
		if !isWord(c) {
			return false
		}
	}
	return true
}

// decodeName returns the text of a member's name.
func (p *placeholders) decodeName(raw []byte) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true // the caller looks at each byte
	}
	first := len(p.text)
	var ok bool
	p.text, ok = wire.AppendName(p.text, raw)
	return p.text[first:len(p.text):len(p.text)], ok
}

// decodeString returns the text of a JSON string.
func (p *placeholders) decodeString(quoted []byte) ([]byte, bool) {
	if text, ok := wire.Plain(quoted); ok {
		return text, true
	}
	first := len(p.text)
	var ok bool
	p.text, ok = wire.AppendExact(p.text, quoted)
	return p.text[first:len(p.text):len(p.text)], ok
}

func byKey(a, b placeholder) int { return bytes.Compare(a.key, b.key) }

// distinct reports whether no key occurs twice; it leaves more than a few
// sorted.
func (p *placeholders) distinct() bool {
	if len(p.list) > fewPlaceholders {
		slices.SortFunc(p.list, byKey)
		for i := 1; i < len(p.list); i++ {
			if bytes.Equal(p.list[i-1].key, p.list[i].key) {
				return false
			}
		}
		return true
	}
	for i := range p.list {
		for j := range i {
			if bytes.Equal(p.list[i].key, p.list[j].key) {
				return false
			}
		}
	}
	return true
}

func (p *placeholders) lookup(key []byte) ([]byte, bool) {
	if len(p.list) > fewPlaceholders {
		i, ok := slices.BinarySearchFunc(p.list, placeholder{key: key}, byKey)
		if !ok {
			return nil, false
		}
		p.list[i].used = true
		return p.list[i].value, true
	}
	for i := range p.list {
		if bytes.Equal(p.list[i].key, key) {
			p.list[i].used = true
			return p.list[i].value, true
		}
	}
	return nil, false
}

func (p *placeholders) allUsed() bool {
	for i := range p.list {
		if !p.list[i].used {
			return false
		}
	}
	return true
}

func (p *placeholders) unused(kind string) error {
	var keys []string
	for i := range p.list {
		if !p.list[i].used {
			keys = append(keys, string(p.list[i].key))
		}
	}
	if keys == nil {
		return nil
	}
	return &Error{"Value provided in " + kind + " unused in expressions: keys: {" + strings.Join(keys, ", ") + "}"}
}

// Names is a request's ExpressionAttributeNames. The zero value is an empty
// map. It is reused from request to request by Reset; a nil *Names is empty too.
type Names struct{ placeholders }

const namesMember = "ExpressionAttributeNames"

// Reset reads the object raw, which must live as long as n is used; nil stands
// for a request without names. Any error is a request that DynamoDB refuses.
func (n *Names) Reset(raw []byte) error {
	if err := n.reset(raw, '#', namesMember, nameOf); err != nil {
		return err
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
		return nil, &Error{namesMember + " contains invalid value: Attribute name is longer than 65535 bytes for key " + string(key)}
	}
	return name, nil
}

// Lookup returns the name that a placeholder ("#n") stands for and notes that
// it is used.
func (n *Names) Lookup(placeholder []byte) (name []byte, ok bool) {
	if n == nil {
		return nil, false
	}
	return n.lookup(placeholder)
}

// AllUsed reports whether each name has been looked up since Reset: DynamoDB
// refuses a request with names that no expression uses.
func (n *Names) AllUsed() bool { return n == nil || n.allUsed() }

// Unused is AllUsed with DynamoDB's text.
func (n *Names) Unused() error {
	if n == nil {
		return nil
	}
	return n.unused(namesMember)
}

// Values is a request's ExpressionAttributeValues, used like Names.
type Values struct{ placeholders }

const valuesMember = "ExpressionAttributeValues"

// Reset reads the object raw, which must live as long as v is used; nil stands
// for a request without values. It looks at the outermost type of each value
// only. Any error is a request that DynamoDB refuses.
func (v *Values) Reset(raw []byte) error {
	if err := v.reset(raw, ':', valuesMember, valueOf); err != nil {
		return err
	}
	return nil
}

func valueOf(_ *placeholders, key, v []byte) ([]byte, *Error) {
	if _, _, ok := wire.Attribute(v); ok {
		return v, nil
	}
	return nil, &Error{valuesMember + " contains invalid value: " + attributeFault(v) + " for key " + string(key)}
}

// attributeFault finds the words for what wire.Attribute has refused.
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

// Lookup returns the attribute value that a placeholder (":v") stands for and
// notes that it is used.
func (v *Values) Lookup(placeholder []byte) (value []byte, ok bool) {
	if v == nil {
		return nil, false
	}
	return v.lookup(placeholder)
}

// AllUsed reports whether each value has been looked up since Reset.
func (v *Values) AllUsed() bool { return v == nil || v.allUsed() }

// Unused is AllUsed with DynamoDB's text.
func (v *Values) Unused() error {
	if v == nil {
		return nil
	}
	return v.unused(valuesMember)
}
