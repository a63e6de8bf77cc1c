package item

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxBytes bounds item bytes. DynamoDB takes items of 400 KB, of which the items of these
// bytes are multiples however their numbers are written; the text is longer still.
const maxBytes = 4 << 20

// AppendJSON appends the item that key bytes and item bytes are, as a JSON object.
func AppendJSON(dst []byte, l Lists, s *key.Schema, keyBytes, item []byte) (_ []byte, err error) {
	if len(item) > maxBytes {
		return dst, fmt.Errorf("an item of %d bytes: DynamoDB takes no more than 400 KB", len(item))
	}
	if dst, err = s.AppendJSON(append(dst, '{'), keyBytes); err != nil {
		return dst, err
	}
	r := cbor.NewReader(item)
	names, err := readList(&r, l)
	if err != nil {
		return dst, err
	}
	for _, name := range names {
		if s.Has([]byte(name)) {
			return dst, fmt.Errorf("an item has its key attribute %s a second time", name)
		}
		dst = append(wire.AppendQuoted(append(dst, ','), []byte(name)), ':')
		if dst, err = attr.AppendJSON(dst, &r); err != nil {
			return dst, fmt.Errorf("an item's attribute %s: %w", name, err)
		}
	}
	if err := r.Close(); err != nil {
		return dst, fmt.Errorf("an item: %w", err)
	}
	return append(dst, '}'), nil
}

// readList reads the number of a list and finds its names.
func readList(r *cbor.Reader, l Lists) ([]string, error) {
	id, negative := r.Uint()
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("an item's attribute list: %w", err)
	}
	names, ok := l.Names(id)
	if !ok || negative {
		return nil, fmt.Errorf("an item has the attribute list %d, which nobody has defined here; a client that is started anew defines its lists again", id)
	}
	return names, nil
}

// AppendBytes appends the item bytes of a JSON object: what is in it beside the key.
func AppendBytes(dst []byte, l Lists, s *key.Schema, item []byte) ([]byte, error) {
	m := take()
	defer m.give()
	m.collect(item, s)
	id, err := m.list(l)
	if err != nil {
		return dst, err
	}
	dst = cbor.AppendUint(dst, id)
	for i := range m.members {
		if dst, err = attr.AppendCBOR(dst, m.members[i].value); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendPartial appends what DynamoDB says that an update changed, or found changed, a
// JSON object. Its values may be parts of values: they are passed on. The map's length is
// left open: Java's client reads no other.
func AppendPartial(dst []byte, l Lists, s *key.Schema, attributes []byte) ([]byte, error) {
	m := take()
	defer m.give()
	m.collect(attributes, s)
	id, err := m.list(l)
	if err != nil {
		return dst, err
	}
	dst = cbor.AppendMapOpen(cbor.AppendUint(dst, id))
	for i := range m.members {
		dst = cbor.AppendUint(dst, uint64(i))
		if dst, err = attr.AppendCBOR(dst, m.members[i].value); err != nil {
			return dst, err
		}
	}
	return cbor.AppendBreak(dst), nil
}

// members is the attributes of an item beside its key, by name, with room that is used
// again.
type members struct {
	members []member
	names   [][]byte
}

type member struct{ name, value []byte }

var rooms = sync.Pool{New: func() any { return new(members) }}

func take() *members { return rooms.Get().(*members) }

// maxPooledMembers is how many members' room is kept.
const maxPooledMembers = 1 << 10

func (m *members) give() {
	clear(m.members)
	clear(m.names)
	if cap(m.members) <= maxPooledMembers {
		m.members, m.names = m.members[:0], m.names[:0]
		rooms.Put(m)
	}
}

// collect finds the members of a JSON object in the order that clients have lists in: that
// of the bytes of names.
func (m *members) collect(object []byte, s *key.Schema) {
	sorted := true
	for it := wire.Object(object); it.Next(); {
		name, plain := wire.Plain(it.QuotedName())
		if !plain {
			name, _ = wire.AppendString(nil, it.QuotedName())
		}
		if s.Has(name) {
			continue
		}
		if n := len(m.members); n > 0 && bytes.Compare(m.members[n-1].name, name) > 0 {
			sorted = false
		}
		m.members = append(m.members, member{name, it.Value()})
	}
	if !sorted {
		slices.SortFunc(m.members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	}
}

// list returns the number of the names' list.
func (m *members) list(l Lists) (uint64, error) {
	for i := range m.members {
		m.names = append(m.names, m.members[i].name)
	}
	return l.ID(m.names)
}
