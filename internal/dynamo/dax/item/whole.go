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

// maxBytes limits the length of item bytes. DynamoDB accepts items of 400 KB; item bytes of
// any such item are shorter than this limit, however its numbers are written, and its text
// is longer.
const maxBytes = 4 << 20

// AppendJSON appends the item encoded by key bytes and item bytes as a JSON object.
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

// readList reads the number of a list and returns its names.
func readList(r *cbor.Reader, l Lists) ([]string, error) {
	id, negative := r.Uint()
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("an item's attribute list: %w", err)
	}
	names, ok := l.Names(id)
	if !ok || negative {
		return nil, fmt.Errorf("an item has the attribute list %d, which is not defined here; a restarted client defines its lists again", id)
	}
	return names, nil
}

// AppendBytes appends the item bytes of a JSON object: its attributes except the key.
func AppendBytes(dst []byte, l Lists, s *key.Schema, item []byte) ([]byte, error) {
	m := acquire()
	defer m.release()
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

// AppendPartial appends the attributes that an update changed, a JSON object in DynamoDB's
// response. Its values may be parts of values and are copied. The map has indefinite length,
// because the Java client accepts no other.
func AppendPartial(dst []byte, l Lists, s *key.Schema, attributes []byte) ([]byte, error) {
	m := acquire()
	defer m.release()
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

// members holds the attributes of an item except its key, by name. Its memory is reused.
type members struct {
	members []member
	names   [][]byte
}

type member struct{ name, value []byte }

var memberPool = sync.Pool{New: func() any { return new(members) }}

func acquire() *members { return memberPool.Get().(*members) }

// maxPooledMembers is the maximum number of members whose memory is reused.
const maxPooledMembers = 1 << 10

func (m *members) release() {
	clear(m.members)
	clear(m.names)
	if cap(m.members) <= maxPooledMembers {
		m.members, m.names = m.members[:0], m.names[:0]
		memberPool.Put(m)
	}
}

// collect collects the members of a JSON object in the order of lists: sorted by the bytes
// of their names.
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

// list returns the number of the list of names.
func (m *members) list(l Lists) (uint64, error) {
	for i := range m.members {
		m.names = append(m.names, m.members[i].name)
	}
	return l.ID(m.names)
}
