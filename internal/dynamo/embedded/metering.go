package embedded

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// burst is the time for which unused capacity is kept, as in the service.
const burst = 5 * time.Minute

// meter enforces the provisioned capacity of tables and global indexes. A request is admitted
// while its bucket has a token left; it then takes all that it costs, so that the next ones may
// have to wait until the debt is paid.
type meter struct {
	mu      sync.Mutex
	buckets map[bucketID]*bucket
	refused atomic.Uint64 // requests, and items of batches
}

// bucketID identifies the bucket of a table, or of an index if index is not 0.
type bucketID struct {
	table uint64
	index uint32
	write bool
}

// bucket is a number of units at a time. It begins with those of one second.
type bucket struct {
	units float64
	at    time.Time
}

// source is capacity that a request uses.
type source struct {
	t     *catalog.Table
	x     *catalog.Index // a global index; nil for the table
	write bool
}

// sourceOf returns the source of reads of an index, nil for the table. A local index uses the
// table's capacity.
func sourceOf(t *catalog.Table, x *catalog.Index, write bool) source {
	if x != nil && x.Local {
		x = nil
	}
	return source{t, x, write}
}

// rate returns the units per second.
func (s *source) rate() float64 {
	c := &s.t.Capacity
	if s.x != nil {
		c = &s.x.Capacity
	}
	if s.write {
		return float64(c.Provisioned.Write)
	}
	return float64(c.Provisioned.Read)
}

// bucket returns the bucket of a source with the units that it has now. The caller holds mu.
func (m *meter) bucket(s *source, now time.Time) *bucket {
	id := bucketID{table: s.t.ID, write: s.write}
	if s.x != nil {
		id.index = s.x.ID
	}
	b := m.buckets[id]
	if b == nil {
		b = &bucket{s.rate(), now}
		m.buckets[id] = b
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.units = min(b.units+passed.Seconds()*s.rate(), burst.Seconds()*s.rate())
		b.at = now
	}
	return b
}

// metered returns the meter for a table; nil if its capacity is not enforced.
func (c *call) metered(t *catalog.Table) *meter {
	if c.modes == nil || c.modes.meter == nil || t.Billing != catalog.Provisioned {
		return nil
	}
	return c.modes.meter
}

// admit returns the error for a request whose source has no capacity left; nil if there is some,
// or capacity is not enforced.
func (c *call) admit(s source) *wire.Error {
	m := c.metered(s.t)
	if m == nil {
		return nil
	}
	m.mu.Lock()
	enough := m.bucket(&s, c.now).units > 0
	m.mu.Unlock()
	if enough {
		return nil
	}
	m.refused.Add(1)
	return c.exceeded(&s)
}

// spend takes units from a source.
func (c *call) spend(s source, units float64) {
	if m := c.metered(s.t); m != nil {
		m.mu.Lock()
		m.bucket(&s, c.now).units -= units
		m.mu.Unlock()
	}
}

// exceeded returns the error for a request that exceeds the capacity of a source.
func (c *call) exceeded(s *source) *wire.Error {
	e := &wire.Error{Type: "ProvisionedThroughputExceededException", Message: faults.TableThroughput}
	reason, resource := "Table", c.s.place().Table(s.t.Name)
	if s.x != nil {
		e.Message = faults.IndexThroughput
		reason, resource = "Index", c.s.place().Index(s.t.Name, s.x.Name)
	}
	reason += map[bool]string{true: "Write", false: "Read"}[s.write] + "ProvisionedThroughputExceeded"
	e.Members = faults.AppendThrottlingReasons(nil, "ThrottlingReasons", []faults.ThrottlingReason{{Reason: reason}}, resource)
	return e
}

// admitRead is admit for a read of a table, or of an index if x is not nil.
func (c *call) admitRead(t *catalog.Table, x *catalog.Index) error {
	if e := c.admit(sourceOf(t, x, false)); e != nil {
		return e
	}
	return nil
}

// spendCost takes the cost of a read or a write.
func (c *call) spendCost(t *catalog.Table, cost *consumed, write bool) {
	if c.metered(t) == nil {
		return
	}
	c.spend(source{t, nil, write}, cost.table)
	for _, a := range cost.indexes {
		if !a.vector {
			c.spend(sourceOf(t, t.Index(a.index), write), a.units)
		}
	}
}

// admitChange is admit for a change that has not been committed: its table and all indexes whose
// entries change need capacity.
func (c *call) admitChange(w *change) *wire.Error {
	if c.metered(w.t.info) == nil {
		return nil
	}
	if e := c.admit(source{w.t.info, nil, true}); e != nil {
		return e
	}
	for _, a := range w.indexes {
		if a.vector {
			continue
		}
		if e := c.admit(sourceOf(w.t.info, w.t.info.Index(a.index), true)); e != nil {
			return e
		}
	}
	return nil
}

// spendChange takes the cost of a change; in a transaction, the table's part counts twice.
func (c *call) spendChange(w *change, transaction bool) {
	cost := consumed{}
	cost.write(w)
	if transaction {
		cost.table *= 2
	}
	c.spendCost(w.t.info, &cost, true)
}

// admitWrite is admitChange for an element of a batch, before it is executed. It checks all
// indexes that the new item is in.
func (c *call) admitWrite(w *itemWrite) *wire.Error {
	if c.metered(w.info) == nil {
		return nil
	}
	if e := c.admit(source{w.info, nil, true}); e != nil {
		return e
	}
	for _, x := range w.info.Indexes {
		if w.Kind != writePut || !indexes(x, &w.Item) {
			continue
		}
		if e := c.admit(sourceOf(w.info, x, true)); e != nil {
			return e
		}
	}
	return nil
}

// admitReplacement is admitChange for a change that the edit does not have yet: after, nil for none,
// replaces old.
func (c *call) admitReplacement(t *table, old *image, after *value.Value) *wire.Error {
	if c.metered(t.info) == nil {
		return nil
	}
	if e := c.admit(source{t.info, nil, true}); e != nil {
		return e
	}
	var replacement image
	if after != nil {
		replacement = image{there: true, size: after.ItemSize(), tree: after}
	}
	for _, x := range t.info.Indexes {
		if !t.changesEntry(x, old, &replacement) {
			continue
		}
		if e := c.admit(sourceOf(t.info, x, true)); e != nil {
			return e
		}
	}
	return nil
}

// refuse makes the statement fail for lack of capacity, which has no cost. The answer to a statement
// of several has no throttling reasons.
func (m *batchStatement) refuse(e *wire.Error) {
	m.fault, m.ran = &wire.Error{Type: e.Type, Message: e.Message}, false
}

// admit returns the error for a transaction that exceeds the capacity of a table or an
// index, and otherwise takes its cost.
func (x *transaction) admit() error {
	reasons := make([]*reason, len(x.writes))
	refused := false
	for i, w := range x.writes {
		if e := x.c.admitChange(w.done); e != nil {
			reasons[i], refused = throughputReason(e), true
		}
	}
	if refused {
		return canceled(reasons)
	}
	for _, w := range x.writes {
		x.c.spendChange(w.done, true)
	}
	return nil
}

// throughputReason returns the reason for an action that exceeds the capacity.
func throughputReason(e *wire.Error) *reason {
	return &reason{"ProvisionedThroughputExceeded", &wire.Error{Message: e.Message}}
}

// admitReads returns the error for a transaction that reads tables, one for each item, if any of them
// has no capacity left.
func (c *call) admitReads(tables []*catalog.Table) error {
	reasons := make([]*reason, len(tables))
	refused := false
	for i, t := range tables {
		if e := c.admit(source{t, nil, false}); e != nil {
			reasons[i], refused = throughputReason(e), true
		}
	}
	if refused {
		return canceled(reasons)
	}
	return nil
}
