package embedded

import (
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// historySteps is the number of states that a history keeps for its lag, except for one or two.
const historySteps = 8

// history keeps the states of the data during the last moments, for reads that lag. A state is
// kept before a write, unless there is one of less than a step ago: so a read sees the data as
// they were lag ago, or up to a step later. A history without writes is empty.
type history struct {
	lag time.Duration

	mu     sync.Mutex
	states []*pastState // by time
	ended  bool         // nothing is kept any more
}

// pastState is the state of the data before the writes at a time.
type pastState struct {
	kv.Snapshot
	at      time.Time
	readers int
	dropped bool // it is closed by its last reader
}

// newHistory returns a history for reads that lag; nil for none.
func newHistory(lag time.Duration) *history {
	if lag == 0 {
		return nil
	}
	return &history{lag: lag}
}

// keep is called before a write at the time now.
func (h *history) keep(db kv.DB, now time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	old := 0
	for old < len(h.states) && !h.states[old].at.After(now.Add(-h.lag)) {
		old++
	}
	h.drop(old)
	if n := len(h.states); n == 0 || now.Sub(h.states[n-1].at) >= h.lag/historySteps {
		h.states = append(h.states, &pastState{Snapshot: db.Snapshot(), at: now})
	}
}

// drop removes the first n states. The caller holds mu.
func (h *history) drop(n int) {
	for _, s := range h.states[:n] {
		if s.dropped = true; s.readers == 0 {
			s.Close()
		}
	}
	h.states = slices.Delete(h.states, 0, n)
}

// clear removes all states; with end, no more are kept.
func (h *history) clear(end bool) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(len(h.states))
	h.ended = h.ended || end
}

// reader returns the state of lag ago, and a function to be called after its use. It returns nil
// if nothing was written since.
func (h *history) reader(now time.Time) (state kv.Reader, done func()) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.states, func(s *pastState) bool { return s.at.After(now.Add(-h.lag)) })
	if i < 0 {
		return nil, nil
	}
	s := h.states[i]
	s.readers++
	return s, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.readers--; s.readers == 0 && s.dropped {
			s.Close()
		}
	}
}

// reader returns the data for a read of a table, or of an index if x is not nil, and a function to
// be called after its use. Without faults these are the current data.
func (c *call) reader(t *catalog.Table, x *catalog.Index, consistent bool) (kv.Reader, func()) {
	if c.modes != nil {
		if state, done := c.modes.historyOf(t, x, consistent).reader(c.now); state != nil {
			return state, done
		}
	}
	return c.s.db, func() {}
}

// historyOf returns the history for a read; nil if it does not lag.
func (f *faultState) historyOf(t *catalog.Table, x *catalog.Index, consistent bool) *history {
	switch {
	case consistent:
		return nil
	case x != nil && !x.Local && f.indexes != nil:
		return f.indexes
	case f.reads != nil && f.set.Lags(t.Name):
		return f.reads
	}
	return nil
}

// keepHistory is called before a batch is applied.
func (s *Store) keepHistory() {
	if f := s.faults.Load(); f != nil {
		now := s.clock()
		f.reads.keep(s.db, now)
		f.indexes.keep(s.db, now)
	}
}

// clearHistory closes all past states, and ends the states of tables, before the data are replaced
// or closed. No request is in progress.
func (s *Store) clearHistory() {
	if f := s.faults.Load(); f != nil {
		f.states.clear()
		f.reads.clear(false)
		f.indexes.clear(false)
	}
}
