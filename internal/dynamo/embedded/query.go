package embedded

import (
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/partiql"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// query answers a Query.
func (c *call) query() error {
	req, err := parseQuery(c.body)
	if err != nil {
		return err
	}
	return c.read(&req)
}

// read answers a Query or a Scan.
func (c *call) read(req *queryRequest) error {
	t, err := c.s.table(req.Table)
	if err != nil {
		return err
	}
	defer t.mu.RUnlock()
	r := readings.Get().(*reading)
	defer r.end()
	if err := r.begin(t, req); err != nil {
		return err
	}
	return r.answer(c)
}

// reading executes a Query or a Scan of a table that is held for reading.
//
// It is used as follows: 1) begin checks the request against the schema and sets the bounds.
// 2) answer reads the keys within the bounds, until a page is full or the end is reached,
// and appends the items. 3) end, in any case. It is pooled for its buffers.
type reading struct {
	req *queryRequest
	t   *table
	x   *catalog.Index // nil for the table itself
	key *catalog.Key   // of the table or index

	keyNames    []string // the attributes of a starting key
	filterPaths []expr.Path
	filterNames []string       // the filter's attributes
	cond        *expr.KeyRange // for a query
	selection   *expr.Selection
	fetch       bool // the items are fetched from the table though an index is read

	statement bool             // this is a SELECT
	columns   []partiql.Column // of the SELECT, if they are not all whole attributes

	// lower (inclusive) and upper (exclusive) are the bounds of keys on disk. The first
	// partition bytes of lower are the common prefix of all of a query's keys.
	lower, upper []byte
	partition    int
	start        []byte // the starting key as a key on disk
	scratch      []byte

	page page
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// end releases all data of the request.
func (r *reading) end() {
	if cap(r.scratch) > maxKeptBuffer {
		r.scratch = nil
	}
	clear(r.keyNames)
	*r = reading{keyNames: r.keyNames[:0], lower: r.lower[:0], upper: r.upper[:0], start: r.start[:0], scratch: r.scratch[:0],
		page: page{last: r.page.last[:0]}}
	readings.Put(r)
}

// begin checks the request against the schema, in the service's order, and sets the bounds.
func (r *reading) begin(t *table, req *queryRequest) error {
	r.t, r.req, r.key = t, req, &t.info.Key
	if err := r.findIndex(); err != nil {
		return err
	}
	r.listKey()
	if req.Filter != nil {
		r.filterPaths = req.Filter.Paths()
		r.filterNames = rootNames(r.filterPaths)
	}
	r.selection = selectionOf(req.Projection)
	if req.Scan {
		return r.beginScan()
	}
	return r.beginQuery()
}

// findIndex finds the index to read, and checks that it can be read.
func (r *reading) findIndex() error {
	if r.req.Index == "" {
		return nil
	}
	x := r.t.info.Index(r.req.Index)
	switch {
	case x == nil:
		return wire.Invalid("The table does not have the specified index: %s", r.req.Index)
	case !x.Local && r.req.Consistent:
		return wire.Invalid("Consistent reads are not supported on global secondary indexes")
	case x.Status == catalog.Creating || x.Backfilling:
		return wire.Invalid("Cannot read from backfilling global secondary index: %s", x.Name)
	}
	r.x, r.key = x, &x.Key
	return nil
}

// listKey lists the attributes of a starting key: the table's key and, for an index, the
// other attributes of the index key.
func (r *reading) listKey() {
	for a := range r.t.info.Key.All() {
		r.keyNames = append(r.keyNames, a.Name)
	}
	if r.x == nil {
		return
	}
	for a := range r.x.Key.All() {
		if !r.t.info.Key.Has(a.Name) {
			r.keyNames = append(r.keyNames, a.Name)
		}
	}
}

// maxHashParts is the maximum number of attributes in the partition key of an index.
const maxHashParts = 4

// number returns the number of the table or index in keys on disk.
func (r *reading) number() uint32 {
	if r.x == nil {
		return tableIndex
	}
	return r.x.ID
}

func (r *reading) beginQuery() error {
	if err := r.checkStartLength(); err != nil {
		return err
	}
	if err := r.resolveKey(); err != nil {
		return err
	}
	if err := r.checkStartKey(); err != nil {
		return err
	}
	r.setQueryBounds()
	if err := r.setStart(); err != nil {
		return err
	}
	if err := checkScalars(r.t.info, r.req.Projection); err != nil {
		return err
	}
	if err := r.checkFilterKeys(); err != nil {
		return err
	}
	if err := r.checkSelect(); err != nil {
		return err
	}
	if err := r.checkFilterProjected(); err != nil {
		return err
	}
	return checkScalars(r.t.info, r.filterPaths)
}

// resolveKey checks the key condition against the key, and each attribute of the starting
// key before its condition.
func (r *reading) resolveKey() error {
	checked := 0
	schema := keySchema(r.req.Index, r.key)
	schema.Visit = func(i int) error {
		checked = i + 1
		return r.checkStartPart(i)
	}
	var err error
	if r.cond, err = r.req.Keys.Against(&schema); err != nil {
		return invalid(err)
	}
	for i := checked; i < r.key.Len(); i++ {
		if err := r.checkStartPart(i); err != nil {
			return err
		}
	}
	return nil
}

// single reports whether a query can find at most one item, because the key has only a
// partition key.
func (r *reading) single() bool { return !r.req.Scan && r.x == nil && len(r.key.Range) == 0 }

// setQueryBounds sets the bounds from the key condition.
func (r *reading) setQueryBounds() {
	var buf [maxHashParts]*value.Value
	partition := buf[:0]
	for i := range r.cond.Hash {
		partition = append(partition, &r.cond.Hash[i])
	}
	r.lower = appendPartition(r.lower[:0], r.t.id, r.number(), partition...)
	r.partition = len(r.lower)
	for i := range r.cond.Range {
		r.lower = r.cond.Range[i].AppendKey(r.lower)
	}
	r.upper = prefixEnd(r.upper[:0], r.lower)
	a, b, equal := &r.cond.A, &r.cond.B, len(r.lower)
	switch r.cond.Op {
	case expr.KeyLess:
		r.upper = a.AppendKey(append(r.upper[:0], r.lower...))
	case expr.KeyLessEqual:
		r.upper = a.AppendKey(append(r.upper[:0], r.lower...))
		r.upper = prefixEnd(r.upper[:0], r.upper)
	case expr.KeyGreater:
		r.lower = a.AppendKey(r.lower)
		r.lower = prefixEnd(r.lower[:0], r.lower)
	case expr.KeyGreaterEqual:
		r.lower = a.AppendKey(r.lower)
	case expr.KeyBetween:
		r.lower = a.AppendKey(r.lower)
		r.upper = b.AppendKey(append(r.upper[:0], r.lower[:equal]...))
		r.upper = prefixEnd(r.upper[:0], r.upper)
	case expr.KeyBeginsWith:
		r.lower = a.AppendKeyPrefix(r.lower)
		r.upper = prefixEnd(r.upper[:0], r.lower)
	}
}
