package embedded

import (
	"encoding/binary"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// image is an item, or an index entry, in stored form: its size as DynamoDB counts it, and
// its JSON text. The zero image means no item.
type image struct {
	there bool
	size  int
	text  []byte       // nil if only the size is needed
	tree  *value.Value // nil until it is needed
}

func (m *image) exists() bool { return m.there }

// need is the part of the old item that a write needs.
type need uint8

const (
	needSize need = iota
	needText
	needTree
)

// appendImage appends the stored form of an image.
func appendImage(dst []byte, size int, text []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(size))
	return append(dst, text...)
}

// splitImage reads a stored image. The text aliases stored.
func splitImage(stored []byte) (size int, text []byte, err error) {
	n, width := binary.Uvarint(stored)
	if width <= 0 || len(stored) == width {
		return 0, nil, damaged(stored)
	}
	return int(n), stored[width:], nil
}

func damaged(stored []byte) error {
	return fmt.Errorf("a stored item is damaged: %q", stored[:min(len(stored), 32)])
}

// parse makes the tree of an image that exists.
func (m *image) parse() error {
	if m.tree != nil {
		return nil
	}
	tree, err := value.Stored(m.text)
	if err != nil {
		return fmt.Errorf("a stored item is damaged: %w", err)
	}
	m.tree = &tree
	return nil
}

// readImage reads the item under key into new memory. It returns the zero image if there is
// none.
func readImage(r kv.Reader, key []byte, n need) (m image, err error) {
	v, ok, err := r.Get(key)
	if !ok || err != nil {
		return image{}, err
	}
	defer v.Close()
	size, text, err := splitImage(v.Bytes)
	if err != nil {
		return image{}, err
	}
	m = image{there: true, size: size}
	if n > needSize {
		m.text = append([]byte(nil), text...)
	}
	if n == needTree {
		err = m.parse()
	}
	return m, err
}
