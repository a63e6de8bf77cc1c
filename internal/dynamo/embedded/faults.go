package embedded

import (
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// faultState is a plan in effect.
type faultState struct {
	set *faults.Set
	// replaced is closed when the plan has been replaced. It ends delays.
	replaced chan struct{}
	meter    *meter // nil unless capacity is enforced
	// reads and indexes are the histories for eventually consistent reads and for reads of
	// global indexes; nil if they don't lag.
	reads, indexes *history
	states         *tableStates
	conflicts      *conflicts // nil if requests wait for transactions in progress
}

// newFaultState returns the state at the beginning of a plan.
func newFaultState(p faults.Plan) *faultState {
	f := &faultState{set: faults.New(p), replaced: make(chan struct{}), states: &tableStates{names: map[string]tableState{}}}
	if p.EnforceCapacity {
		f.meter = &meter{buckets: map[bucketID]*bucket{}}
	}
	if p.EventualReads != nil {
		f.reads = newHistory(p.EventualReads.Lag)
	}
	f.indexes = newHistory(p.IndexLag)
	if p.TransactionConflicts {
		f.conflicts = &conflicts{held: map[string]bool{}}
	}
	return f
}

// SetFaults replaces the faults of the store and sets all counts to zero. An empty plan ends
// them. If the plan has mistakes, it returns an error and changes nothing.
func (s *Store) SetFaults(p faults.Plan) error {
	if err := p.Check(); err != nil {
		return err
	}
	s.faulting.Lock()
	defer s.faulting.Unlock()
	var next *faultState
	if !p.Empty() {
		next = newFaultState(p)
	}
	if old := s.faults.Swap(next); old != nil {
		close(old.replaced)
		old.reads.clear(true)
		old.indexes.clear(true)
	}
	return nil
}

// AddFault adds a rule at the end of the plan. The counts and the random decisions of the other
// rules continue.
func (s *Store) AddFault(r faults.Rule) error {
	s.faulting.Lock()
	defer s.faulting.Unlock()
	old := s.faults.Load()
	if old == nil {
		old = newFaultState(faults.Plan{})
	}
	set, err := old.set.With(r)
	if err != nil {
		return err
	}
	next := *old
	next.set = set
	s.faults.Store(&next)
	return nil
}

// Faults returns the faults in effect, with the counts of all rules.
func (s *Store) Faults() faults.Report {
	f := s.faults.Load()
	if f == nil {
		return faults.Report{}
	}
	r := f.set.Report()
	if f.meter != nil {
		r.Throttled = f.meter.refused.Load()
	}
	return r
}

// BypassCache reports whether a cache in front of the store has to forward every request, so
// that faults apply to it, and must not store the answers.
func (s *Store) BypassCache() bool {
	f := s.faults.Load()
	return f != nil && !f.set.Plan().KeepCache
}

// errReset ends a request without an answer.
var errReset = errors.New("the connection is closed by a fault")

// runFaulty calls the handler of an operation with the fault that the plan has for it.
func (c *call) runFaulty(f *faultState, op *wire.Operation, h handler) error {
	r := c.faultRequest(op)
	d := f.set.Decide(r)
	c.fault, c.modes = &d, f
	c.wait(f, d.Delay)
	if !d.Fails() {
		return c.runInState(op, r.Tables(), h)
	}
	if d.Executed {
		_ = c.runInState(op, r.Tables(), h) // its answer is lost
		c.out, c.uncertain = c.out[:0], true
	}
	if d.Reset {
		return errReset
	}
	return d.Error
}

// wait waits until the time has passed, the faults are replaced or the store closes.
func (c *call) wait(f *faultState, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.replaced:
	case <-c.s.background.Done():
	}
}

// hold waits as long as a fault keeps the items of a write locked before it is committed.
func (c *call) hold() {
	if c.fault != nil {
		c.wait(c.modes, c.fault.Hold)
	}
}

// errTableThroughput returns the error for a batch of which nothing was processed. It names the
// batch's first table.
func errTableThroughput(c *call) error {
	op, _ := wire.FindOperation([]byte("DynamoDB_20120810." + c.op))
	return faults.Throughput(c.faultRequest(op))
}

// leaveKeys moves the keys that a fault leaves unprocessed, and reports whether these are all.
func (c *call) leaveKeys(r *batchGetRequest) (all bool) {
	if c.fault == nil || c.fault.Unprocessed == 0 {
		return false
	}
	total := 0
	for i := range r.Tables {
		total += len(r.Tables[i].Keys)
	}
	left, all := c.fault.Leave(total), true
	for i := range r.Tables {
		g := &r.Tables[i]
		keys, texts := g.Keys, g.KeyTexts
		g.Keys, g.KeyTexts = nil, nil
		for j := range keys {
			if left[j] {
				g.Left = append(g.Left, texts[j])
				continue
			}
			g.Keys, g.KeyTexts, all = append(g.Keys, keys[j]), append(g.KeyTexts, texts[j]), false
		}
		left = left[len(keys):]
	}
	return all
}

// leaveWrites returns the writes without those that a fault leaves unprocessed, and these.
func (c *call) leaveWrites(writes []*itemWrite) (kept, left []*itemWrite) {
	if c.fault == nil || c.fault.Unprocessed == 0 {
		return writes, nil
	}
	for i, leave := range c.fault.Leave(len(writes)) {
		if leave {
			left = append(left, writes[i])
		} else {
			kept = append(kept, writes[i])
		}
	}
	return kept, left
}

// appendUnprocessedItems appends unprocessed writes in the form of the request.
func (c *call) appendUnprocessedItems(left []*itemWrite) {
	o := c.object()
	for i, w := range left {
		if i > 0 && left[i-1].Named == w.Named {
			c.out = append(c.out, ',')
		} else {
			if i > 0 {
				c.out = append(c.out, ']')
			}
			o.name(w.Named)
			c.out = append(c.out, '[')
		}
		c.out = append(c.out, w.text...)
	}
	if len(left) > 0 {
		c.out = append(c.out, ']')
	}
	o.end()
}
