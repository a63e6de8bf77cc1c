package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/dax/attr"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// Item holds the attributes of an item except its key, in DynamoDB's JSON by name. nil is no
// item.
type Item map[string]string

// List returns the number of a list of names. It requests the number from the node once.
func (c *Conn) List(ctx context.Context, names []string) (int64, error) {
	id, known := c.ids[strings.Join(names, "\x00")]
	if known {
		return id, nil
	}
	args := cbor.AppendArray(nil, len(names))
	for _, name := range names {
		args = cbor.AppendText(args, name)
	}
	r, err := c.Call(ctx, DefineAttributeListID, args)
	if err != nil {
		return 0, err
	}
	id = r.Int()
	c.ids[strings.Join(names, "\x00")] = id
	return id, r.Close()
}

// Names returns the list with a number. It requests the list from the node once.
func (c *Conn) Names(ctx context.Context, id int64) ([]string, error) {
	if names, known := c.lists[id]; known {
		return names, nil
	}
	r, err := c.Call(ctx, DefineAttributeList, cbor.AppendInt(nil, id))
	if err != nil {
		return nil, err
	}
	names := []string{}
	for range r.Array() {
		names = append(names, string(r.Text()))
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	c.lists[id] = names
	return names, nil
}

// Forget drops all lists, like a restarted client.
func (c *Conn) Forget() { c.lists, c.ids = map[int64][]string{1: {}}, map[string]int64{"": 1} }

// Bytes encodes an item.
func (c *Conn) Bytes(ctx context.Context, item Item) ([]byte, error) {
	names := slices.Sorted(maps.Keys(item))
	id, err := c.List(ctx, names)
	if err != nil {
		return nil, err
	}
	out := cbor.AppendInt(nil, id)
	for _, name := range names {
		if out, err = attr.AppendCBOR(out, []byte(item[name])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Item decodes an item. It copies b, which may be part of the last reply.
func (c *Conn) Item(ctx context.Context, b []byte) (Item, error) {
	r := cbor.NewReader(slices.Clone(b))
	names, err := c.Names(ctx, r.Int())
	if err != nil {
		return nil, err
	}
	item := Item{}
	for _, name := range names {
		value, err := attr.AppendJSON(nil, &r)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		item[name] = string(value)
	}
	return item, r.Close()
}

// Get reads the item with the given key bytes.
func (c *Conn) Get(ctx context.Context, table string, key []byte, consistent bool) (Item, error) {
	args := cbor.AppendBytes(cbor.AppendBytes(nil, []byte(table)), key)
	if consistent {
		args = cbor.AppendMapOpen(args)
		args = cbor.AppendBool(cbor.AppendInt(args, 2), true)
		args = cbor.AppendBreak(args)
	} else {
		args = cbor.AppendNull(args)
	}
	r, err := c.Call(ctx, GetItem, args)
	if err != nil {
		return nil, err
	}
	return c.within(ctx, &r, 0)
}

// Put stores an item. If old is set, it returns the previous one.
func (c *Conn) Put(ctx context.Context, table string, key []byte, item Item, old bool) (Item, error) {
	bytes, err := c.Bytes(ctx, item)
	if err != nil {
		return nil, err
	}
	args := cbor.AppendBytes(cbor.AppendBytes(cbor.AppendBytes(nil, []byte(table)), key), bytes)
	return c.write(ctx, PutItem, args, old)
}

// Delete deletes an item. If old is set, it returns the item.
func (c *Conn) Delete(ctx context.Context, table string, key []byte, old bool) (Item, error) {
	return c.write(ctx, DeleteItem, cbor.AppendBytes(cbor.AppendBytes(nil, []byte(table)), key), old)
}

func (c *Conn) write(ctx context.Context, m Method, args []byte, old bool) (Item, error) {
	args = cbor.AppendMapOpen(args)
	if old {
		args = cbor.AppendInt(cbor.AppendInt(args, 7), 2)
	}
	r, err := c.Call(ctx, m, cbor.AppendBreak(args))
	if err != nil {
		return nil, err
	}
	return c.within(ctx, &r, 2)
}

// within returns the item bytes in a reply's map, or nil.
func (c *Conn) within(ctx context.Context, r *cbor.Reader, key int64) (Item, error) {
	var bytes []byte
	found := false
	err := members(r, func(k int64) {
		if k != key {
			r.Skip()
			return
		}
		found, bytes = true, r.Bytes()
	})
	if err != nil || !found {
		return nil, err
	}
	return c.Item(ctx, bytes)
}

// members calls f for each key of a reply's map, which may be null; f reads the value.
func members(r *cbor.Reader, f func(key int64)) error {
	if r.Null() {
		return r.Close()
	}
	for n := r.Map(); r.More(&n); {
		f(r.Int())
	}
	return r.Close()
}

// Entry is one item found by a query: its key bytes and the other attributes.
type Entry struct {
	Key  []byte
	Item Item
}

// Partition queries all items of the partition whose key attribute called name is the text
// value.
func (c *Conn) Partition(ctx context.Context, table, name, value string, consistent bool) ([]Entry, error) {
	condition := cbor.AppendInt(cbor.AppendArray(nil, 3), 1)
	condition = cbor.AppendInt(cbor.AppendArray(condition, 3), 0) // =
	condition = cbor.AppendText(cbor.AppendInt(cbor.AppendArray(condition, 2), 18), name)
	condition = cbor.AppendInt(cbor.AppendInt(cbor.AppendArray(condition, 2), 17), 0)
	condition = cbor.AppendText(cbor.AppendArray(condition, 1), value)
	args := cbor.AppendBytes(cbor.AppendBytes(nil, []byte(table)), condition)
	args = cbor.AppendMapOpen(args)
	if consistent {
		args = cbor.AppendInt(cbor.AppendInt(args, 2), 1)
	}
	r, err := c.Call(ctx, Query, cbor.AppendBreak(args))
	if err != nil {
		return nil, err
	}
	var keys, items [][]byte
	err = members(&r, func(key int64) {
		if key != 7 {
			r.Skip()
			return
		}
		for n := r.Array(); r.More(&n); {
			r.Array()
			keys, items = append(keys, slices.Clone(r.Bytes())), append(items, slices.Clone(r.Bytes()))
		}
	})
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(keys))
	for i := range keys {
		if entries[i].Item, err = c.Item(ctx, items[i]); err != nil {
			return nil, err
		}
		entries[i].Key = keys[i]
	}
	return entries, nil
}
