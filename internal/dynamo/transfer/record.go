package transfer

import (
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// record is a change of a table: an item to put, or the key of an item to delete.
type record struct {
	item     value.Value
	deletion bool
}

// maxItem is the maximum size of an item.
const maxItem = 400 << 10

// parseRecord reads the text of a record of a table.
func parseRecord(text []byte, t *table) (r record, err error) {
	if !wire.Valid(text, wire.MaxDepth) {
		return r, errors.New("the line is not a whole JSON value; items are one a line")
	}
	members := [4][]byte{}
	names := []string{"Item", "Keys", "NewImage", "OldImage"}
	if wire.Kind(text) == '{' && !isItem(text, t) && onlyRecord(text) && wire.Collect(text, names, members[:]) {
		switch item, keys, image := members[0], members[1], members[2]; {
		case item != nil && keys == nil && image == nil:
			text = item
		case image != nil:
			text = image
		case keys != nil:
			text, r.deletion = keys, true
		}
	}
	if wire.Kind(text) != '{' {
		return r, errors.New("the line is no item: it is not a JSON object")
	}
	r.item, err = value.ParseItem(text)
	if we, ok := errors.AsType[*wire.Error](err); ok {
		return r, errors.New(we.Message)
	}
	return r, err
}

// isItem reports whether an object is an item of a table, and not a record around one, which
// an attribute with the name Item may look like: an item has a key.
func isItem(text []byte, t *table) bool {
	v, ok := wire.Lookup(text, t.keys[0].name)
	if ok {
		_, _, ok = wire.Attribute(v)
	}
	return ok
}

// onlyRecord reports whether an object has no other members than a record.
func onlyRecord(text []byte) bool {
	n := 0
	for it := wire.Object(text); it.Next(); n++ {
		switch string(it.Name()) {
		case "Item", "Keys", "NewImage", "OldImage":
			if wire.Kind(it.Value()) != '{' {
				return false
			}
		case "Metadata":
		default:
			return false
		}
	}
	return n > 0
}

// key returns the text that identifies the record's item in its table. It returns an error if
// the item can't be stored in the table.
func (r *record) key(t *table) (string, error) {
	var text []byte
	for _, k := range t.keys {
		v := r.item.Get(k.name)
		switch {
		case v == nil:
			return "", fmt.Errorf("the item lacks the key attribute %s of the table %s", k.name, t.name)
		case v.Type != k.typ:
			return "", fmt.Errorf("the key attribute %s is of type %s, and of type %s in the table %s", k.name, v.Type, k.typ, t.name)
		case len(v.Text) == 0:
			return "", fmt.Errorf("the key attribute %s is empty", k.name)
		}
		text = v.AppendKey(text)
	}
	if r.deletion && len(r.item.Members) != len(t.keys) {
		return "", errors.New("the record's Keys has other attributes than the table's key")
	}
	if size := r.item.ItemSize(); size > maxItem {
		return "", fmt.Errorf("the item has %d bytes, more than the maximum of %d", size, maxItem)
	}
	return string(text), nil
}

// appendRequest appends the request of the record as an element of BatchWriteItem.
func (r *record) appendRequest(dst []byte) []byte {
	if r.deletion {
		return append(r.item.AppendItem(append(dst, `{"DeleteRequest":{"Key":`...)), "}}"...)
	}
	return append(r.item.AppendItem(append(dst, `{"PutRequest":{"Item":`...)), "}}"...)
}
