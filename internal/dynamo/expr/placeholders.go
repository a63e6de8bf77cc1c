package expr

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	maxPlaceholder = 255
	// maxPlaceholders is the maximum length of all keys and their texts together.
	maxPlaceholders = 2 << 20
	// fewPlaceholders is the maximum number that is searched linearly. More are sorted, so
	// that a large map can't slow down the proxy.
	fewPlaceholders = 12
)

// placeholders is the common part of Names and Values: the members of a map in the order of
// the request, or sorted by key if there are many.
type placeholders struct {
	list []placeholder
	text []byte // decoded texts
}

type placeholder struct {
	key, value []byte
	tree       *value.Value // of a value that has been read
	used       bool
}

// reset reads the members of raw. parse converts a member's value to the text that the
// placeholder refers to.
func (p *placeholders) reset(raw []byte, prefix byte, kind string, parse func(*placeholders, []byte, []byte) ([]byte, *Error)) *Error {
	clear(p.list)
	p.list, p.text = p.list[:0], p.text[:0]
	if raw == nil {
		return nil
	}
	it := wire.Object(raw)
	for it.Next() {
		key, ok := p.decodeName(it.Name())
		if !ok {
			key = it.Name()
		}
		if fault := keyFault(key, prefix); fault != "" {
			return &Error{kind + " contains invalid key: " + fault}
		}
		v, err := parse(p, key, it.Value())
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

// keyFault returns the reason why a text can't be a placeholder, empty if it can.
func keyFault(key []byte, prefix byte) string {
	if len(key) > maxPlaceholder {
		fault := "The expression attribute map contains a key that is too long;"
		if prefix == '#' {
			fault += " size of key: " + strconv.Itoa(len(key))
		}
		return fault
	}
	if len(key) == 0 {
		return "The expression attribute map contains an empty key;"
	}
	if len(key) < 2 || key[0] != prefix || slices.ContainsFunc(key[1:], notWord) {
		return `Syntax error; key: "` + string(key) + `"`
	}
	return ""
}

func notWord(c byte) bool { return !isWord(c) }

// decodeName returns the text of a member's name.
func (p *placeholders) decodeName(raw []byte) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true // the caller checks each byte
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

// distinct reports whether all keys differ. It sorts the members if there are more than a
// few.
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

// lookup returns the placeholder called key and marks it as used, or nil if there is none.
func (p *placeholders) lookup(key []byte) *placeholder {
	if len(p.list) > fewPlaceholders {
		i, ok := slices.BinarySearchFunc(p.list, placeholder{key: key}, byKey)
		if !ok {
			return nil
		}
		p.list[i].used = true
		return &p.list[i]
	}
	for i := range p.list {
		if bytes.Equal(p.list[i].key, key) {
			p.list[i].used = true
			return &p.list[i]
		}
	}
	return nil
}

func (p *placeholders) allUsed() bool {
	return !slices.ContainsFunc(p.list, func(e placeholder) bool { return !e.used })
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
