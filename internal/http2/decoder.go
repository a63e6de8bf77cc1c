package http2

import (
	"errors"
	"sync"
)

// Decoder decodes header blocks (RFC 7541). It allocates nothing once its buffers have grown.
type Decoder struct {
	table   dynamicTable
	huffman *huffmanDecoder
	static  *staticFields
	text    []byte // of the fields of the current block
	begun   bool   // a field of the block was decoded
	brief   bool   // only the table is updated
}

// NewDecoder returns a decoder whose peer may use a dynamic table of 4096 bytes, the default.
func NewDecoder() *Decoder {
	return &Decoder{huffman: huffman(), static: staticBytes(), table: dynamicTable{limit: tableSize}, text: make([]byte, 0, 256)}
}

// Errors of header blocks, after which the connection can't be used.
var (
	errShort   = errors.New("http2: the header block ends within a field")
	errInteger = errors.New("http2: an integer of the header block is too large")
	errIndex   = errors.New("http2: the header block has an index beyond the tables")
	errUpdate  = errors.New("http2: the header block has an invalid size of the table")
)

// Start begins with another block. The fields of the previous one are no longer valid.
func (d *Decoder) Start() { d.text, d.begun, d.brief = d.text[:0], false, false }

// Brief makes Next return no more fields with text, for a block whose fields are over a
// limit. The block must still be decoded, because later ones depend on it.
func (d *Decoder) Brief() { d.brief = true }

// Next decodes the first field of b, which is not empty, and returns the bytes behind it. The
// name and the value are valid until Start is called and b changes. After a change of the
// table's size at the end of a block the name is nil.
func (d *Decoder) Next(b []byte) (name, value, rest []byte, err error) {
	for len(b) > 0 && b[0]&0xe0 == 0x20 {
		if b, err = d.update(b); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(b) == 0 {
		return nil, nil, nil, nil
	}
	d.begun = true
	if b[0]&0x80 != 0 {
		index, rest, err := integer(b, 7)
		if err != nil {
			return nil, nil, nil, err
		}
		name, value, err = d.indexed(index)
		return name, value, rest, err
	}
	return d.literal(b)
}

// update handles a change of the table's size.
func (d *Decoder) update(b []byte) ([]byte, error) {
	size, rest, err := integer(b, 5)
	if err != nil {
		return nil, err
	}
	if d.begun || size > tableSize {
		return nil, errUpdate
	}
	d.table.resize(size)
	return rest, nil
}

// indexed returns a field of one of the tables.
func (d *Decoder) indexed(index int) (name, value []byte, err error) {
	switch {
	case index == 0:
		return nil, nil, errIndex
	case index < len(staticTable):
		return d.static[index].name, d.static[index].value, nil
	}
	name, value, ok := d.table.get(index - len(staticTable))
	if !ok {
		return nil, nil, errIndex
	}
	if d.brief {
		return name, value, nil
	}
	return d.keep(name), d.keep(value), nil
}

// staticBytes returns the static table as bytes, which are never changed.
var staticBytes = sync.OnceValue(func() *staticFields {
	t := new(staticFields)
	for i := range t {
		t[i].name, t[i].value = []byte(staticTable[i].name), []byte(staticTable[i].value)
	}
	return t
})

type staticFields [len(staticTable)]struct{ name, value []byte }

// literal decodes a field with a value of its own.
func (d *Decoder) literal(b []byte) (name, value, rest []byte, err error) {
	prefix, add := uint8(4), b[0]&0x40 != 0
	if add {
		prefix = 6
	}
	index, b, err := integer(b, prefix)
	if err != nil {
		return nil, nil, nil, err
	}
	if index == 0 {
		name, b, err = d.readText(b)
	} else if name, _, err = d.indexed(index); err == nil && d.brief && index >= len(staticTable) {
		name = d.keep(name) // the table may change below
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if value, b, err = d.readText(b); err != nil {
		return nil, nil, nil, err
	}
	if add {
		d.table.add(name, value)
	}
	if d.brief {
		d.text = d.text[:0]
	}
	return name, value, b, nil
}

// readText decodes a text.
func (d *Decoder) readText(b []byte) (text, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errShort
	}
	coded := b[0]&0x80 != 0
	n, b, err := integer(b, 7)
	if err != nil {
		return nil, nil, err
	}
	if n > len(b) {
		return nil, nil, errShort
	}
	if !coded {
		return b[:n:n], b[n:], nil
	}
	start := len(d.text)
	d.text, err = d.huffman.append(d.text, b[:n])
	return d.text[start:len(d.text):len(d.text)], b[n:], err
}

// keep returns a copy of a text of the dynamic table, which may change.
func (d *Decoder) keep(text []byte) []byte {
	start := len(d.text)
	d.text = append(d.text, text...)
	return d.text[start:len(d.text):len(d.text)]
}

// maxInteger bounds the integers of header blocks.
const maxInteger = 1 << 24

// integer decodes an integer that begins in the low bits of the first byte.
func integer(b []byte, prefix uint8) (n int, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, errShort
	}
	limit := 1<<prefix - 1
	if n = int(b[0]) & limit; n < limit {
		return n, b[1:], nil
	}
	for i, shift := 1, 0; i < len(b); i, shift = i+1, shift+7 {
		if n += int(b[i]&0x7f) << shift; n > maxInteger || shift > 21 {
			return 0, nil, errInteger
		}
		if b[i]&0x80 == 0 {
			return n, b[i+1:], nil
		}
	}
	return 0, nil, errShort
}
