package transfer

import (
	"encoding/json"
	"sync"
)

// tracker follows how many of a source's records are finished without a gap, because the
// requests with them end in any order. A source may be continued after that number of records,
// or at the last mark before it.
type tracker struct {
	mu       sync.Mutex
	prefix   int // number of records that are finished, from the beginning
	beyond   map[int]bool
	marks    []mark
	position json.RawMessage // of the last mark within the prefix
	ended    bool            // by that mark
}

// mark is a position of a source after a number of records.
type mark struct {
	count    int
	position json.RawMessage
	end      bool
}

func newTracker(prefix int, position json.RawMessage) *tracker {
	return &tracker{prefix: prefix, beyond: map[int]bool{}, position: position}
}

// finish notes that a record is finished, by its number from 0.
func (t *tracker) finish(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beyond[n] = true
	for t.beyond[t.prefix] {
		delete(t.beyond, t.prefix)
		t.prefix++
	}
	t.pass()
}

// mark notes a position of the source after count records.
func (t *tracker) mark(count int, position json.RawMessage, end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks = append(t.marks, mark{count, position, end})
	t.pass()
}

// pass passes the marks within the prefix.
func (t *tracker) pass() {
	for len(t.marks) > 0 && t.marks[0].count <= t.prefix {
		t.position, t.ended = t.marks[0].position, t.marks[0].end
		t.marks = t.marks[1:]
	}
}

// done returns the number of records that are finished.
func (t *tracker) done() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.prefix
}

// at returns the position after which the source may be continued, and whether it is the end.
func (t *tracker) at() (position json.RawMessage, end bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.position, t.ended
}
