package embedded

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxPage is the size of items that ends a page. The item that reaches it still belongs to
// the page.
const maxPage = 1 << 20

// page is the progress of a page.
type page struct {
	evaluated int     // items
	returned  int     // items that passed the filter
	size      int     // size of the evaluated items
	fetched   int     // size of the items fetched from the table
	units     float64 // cost of fetching
	last      []byte  // LastEvaluatedKey; empty at the end
}

// answer reads a page and appends the reply to c.out.
func (r *reading) answer(c *call) error {
	if err := c.admitRead(r.t.info, r.x); err != nil {
		return err
	}
	o := c.object()
	if r.req.Select == selectCount {
		if err := r.read(c); err != nil {
			return err
		}
	} else {
		o.member("Items")
		c.out = append(c.out, '[')
		if err := r.read(c); err != nil {
			return err
		}
		c.out = append(c.out, ']')
	}
	o.member("Count")
	c.out = strconv.AppendInt(c.out, int64(r.page.returned), 10)
	o.member("ScannedCount")
	c.out = strconv.AppendInt(c.out, int64(r.page.evaluated), 10)
	if len(r.page.last) > 0 {
		o.member("LastEvaluatedKey")
		c.out = append(c.out, r.page.last...)
	}
	cost := r.consumed()
	c.spendCost(r.t.info, &cost, false)
	if r.req.Capacity != capacityNone {
		o.member("ConsumedCapacity")
		c.out = cost.append(c.out, r.req.Capacity)
	}
	o.end()
	return nil
}

// read reads the keys within the bounds from one snapshot, which is also used to fetch items
// from the table.
func (r *reading) read(c *call) error {
	source, done := c.reader(r.t.info, r.x, r.req.Consistent)
	defer done()
	if r.fetch && source == kv.Reader(c.s.db) {
		snapshot := c.s.db.Snapshot()
		defer snapshot.Close()
		source = snapshot
	}
	it, err := source.Iter(r.lower, r.upper)
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := r.first(it); ok; ok = r.next(it) {
		stored, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		full, err := r.evaluate(c, source, stored)
		if full || err != nil {
			return err
		}
	}
	return it.Error()
}

func (r *reading) first(it kv.Iter) bool {
	if r.req.Backward {
		return it.Last()
	}
	return it.First()
}

func (r *reading) next(it kv.Iter) bool {
	if r.req.Backward {
		return it.Prev()
	}
	return it.Next()
}

// evaluate adds one item or index entry to the page, and reports whether the page is full.
func (r *reading) evaluate(c *call, source kv.Reader, stored []byte) (full bool, err error) {
	size, text, err := splitImage(stored)
	if err != nil {
		return false, err
	}
	r.page.evaluated++
	r.page.size += size
	passes, err := r.passes(text)
	if err != nil {
		return false, err
	}
	result := text
	if r.fetch && r.req.Select != selectCount { // whether it passes or not
		v, err := r.item(c, source, text)
		if err != nil {
			return false, err
		}
		defer v.Close()
		if size, result, err = splitImage(v.Bytes); err != nil {
			return false, err
		}
		r.page.fetched += size
		r.page.units += readUnits(size, r.req.Consistent)
	}
	if passes {
		if err := r.appendResult(c, result); err != nil {
			return false, err
		}
	}
	full = r.page.evaluated == r.req.Limit || r.page.size+r.page.fetched >= maxPage
	if full && (r.statement || !r.single()) {
		r.page.last = appendMembers(r.page.last, text, r.keyNames)
	}
	return full, nil
}

// passes evaluates the filter, using only the filter's attributes.
func (r *reading) passes(text []byte) (bool, error) {
	if r.req.Filter == nil {
		return true, nil
	}
	r.scratch = appendMembers(r.scratch[:0], text, r.filterNames)
	item, err := value.Stored(r.scratch)
	if err != nil {
		return false, damaged(text)
	}
	return r.req.Filter.Match(&item), nil
}

// appendResult appends the requested part of an item.
func (r *reading) appendResult(c *call, text []byte) error {
	r.page.returned++
	if r.req.Select == selectCount {
		return nil
	}
	if r.page.returned > 1 {
		c.out = append(c.out, ',')
	}
	return r.appendItem(c, text)
}

// item returns the item of an index entry, which the caller closes.
func (r *reading) item(c *call, source kv.Reader, text []byte) (v kv.Value, err error) {
	key, err := r.itemKey(c, text)
	if err != nil {
		return v, err
	}
	v, ok, err := source.Get(key)
	if err == nil && !ok {
		err = fmt.Errorf("index %s of table %s has an entry without an item: %s", r.x.Name, r.t.info.Name, text)
	}
	return v, err
}

func (r *reading) appendItem(c *call, text []byte) error {
	switch {
	case r.columns != nil:
		return appendColumns(c, r.columns, text)
	case r.selection == nil:
		c.out = append(c.out, text...)
		return nil
	}
	var ok bool
	if c.out, ok = r.selection.Append(c.out, text); !ok {
		return damaged(text)
	}
	return nil
}

// itemKey returns the key on disk of an index entry's item.
func (r *reading) itemKey(c *call, entry []byte) ([]byte, error) {
	r.scratch = appendMembers(r.scratch[:0], entry, r.keyNames)
	tree, err := value.Stored(r.scratch)
	if err != nil {
		return nil, damaged(entry)
	}
	c.key = appendItemKey(c.key[:0], r.t.info, &tree)
	return c.key, nil
}

// appendMembers appends an item with the attributes called names of another item's text.
func appendMembers(dst, item []byte, names []string) []byte {
	dst = append(dst, '{')
	first := len(dst)
	left := len(names)
	for it := wire.Object(item); left > 0 && it.Next(); {
		raw := it.Name()
		if !slices.ContainsFunc(names, func(name string) bool { return wire.NameIs(raw, name) }) {
			continue
		}
		left--
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, it.QuotedName()...)
		dst = append(dst, ':')
		dst = append(dst, it.Value()...)
	}
	return append(dst, '}')
}

// consumed returns the cost of the page: of the read of a table or index, and of fetching
// from the table.
func (r *reading) consumed() consumed {
	units := readUnits(r.page.size, r.req.Consistent)
	if r.x == nil {
		return consumed{named: r.req.Named, table: units}
	}
	return consumed{named: r.req.Named, table: r.page.units, indexes: []indexCost{{index: r.x.Name, local: r.x.Local, units: units}}}
}
