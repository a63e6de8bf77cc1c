package hotkeys

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// maxRows is the maximum number of rows of throttled requests. Another one replaces the row
	// that was used the longest ago. A row takes at most 1 KiB.
	maxRows = 512
	// maxReason and maxName are the lengths after which a reason, and a resource or the name of a
	// table, are cut off.
	maxReason = 64
	maxName   = 256
	// RecentThrottles is the time for which recent throttled requests are counted. It passes in
	// steps.
	RecentThrottles = 5 * time.Minute
	steps           = 10
)

// Throttle is an answer of an origin that throttles.
type Throttle struct {
	Service, Table string
	Reason         string // of the origin, for example TableReadKeyRangeThroughputExceeded
	Resource       string // the ARN that the reason is for; "" if the origin gave none
	Hash           uint64 // of the key; 0 if there is no single one
	Key            []byte // in its service's own form; nil if there is none
}

// ThrottleRow counts the throttled requests with the same values.
type ThrottleRow struct {
	Throttle
	Count  uint64 // since the row exists: at most since the start
	Recent uint64 // within RecentThrottles
	Last   time.Time
}

// throttles has the rows of all services.
type throttles struct {
	mu   sync.Mutex // leaf
	rows map[throttleName]*throttleRow
}

// throttleName identifies a row.
type throttleName struct {
	service, table, reason, resource, key string
	hash                                  uint64
}

type throttleRow struct {
	count  uint64
	last   time.Time
	recent [steps]uint64 // by the number of the step
	step   int64         // the newest one
}

// Throttled counts a throttled request.
func (k *Keys) Throttled(t *Throttle) {
	if k == nil {
		return
	}
	name := throttleName{
		t.Service, t.Table[:min(len(t.Table), maxName)], t.Reason[:min(len(t.Reason), maxReason)], t.Resource[:min(len(t.Resource), maxName)],
		string(t.Key[:min(len(t.Key), maxText)]), t.Hash,
	}
	now := time.Now()
	all := &k.throttles
	all.mu.Lock()
	defer all.mu.Unlock()
	r := all.rows[name]
	if r == nil {
		if all.rows == nil {
			all.rows = map[throttleName]*throttleRow{}
		}
		all.makeRoom()
		r = &throttleRow{}
		all.rows[name] = r
	}
	r.advance(k.step(now))
	r.recent[r.step%steps]++
	r.count++
	r.last = now
}

// step returns the number of the step of RecentThrottles at a time.
func (k *Keys) step(now time.Time) int64 { return int64(now.Sub(k.start) / (RecentThrottles / steps)) }

// advance begins a step, if it is a new one.
func (r *throttleRow) advance(step int64) {
	for ; r.step < step; r.step++ {
		if step-r.step > steps {
			r.step = step - steps
		}
		r.recent[(r.step+1)%steps] = 0
	}
}

// makeRoom removes the row that was used the longest ago if there are too many. mu must be held.
func (t *throttles) makeRoom() {
	if len(t.rows) < maxRows {
		return
	}
	var oldest throttleName
	var last time.Time
	for name, r := range t.rows {
		if last.IsZero() || r.last.Before(last) {
			oldest, last = name, r.last
		}
	}
	delete(t.rows, oldest)
}

// retain removes the rows of other services.
func (t *throttles) retain(services map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.rows {
		if !services[name.service] {
			delete(t.rows, name)
		}
	}
}

// Throttles returns all rows, the ones with the most recent throttled requests first.
func (k *Keys) Throttles() []ThrottleRow {
	now := k.step(time.Now())
	t := &k.throttles
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]ThrottleRow, 0, len(t.rows))
	for n, r := range t.rows {
		r.advance(now)
		row := ThrottleRow{Throttle: Throttle{Service: n.service, Table: n.table, Reason: n.reason, Resource: n.resource, Hash: n.hash}, Count: r.count, Last: r.last}
		if n.key != "" {
			row.Key = []byte(n.key)
		}
		for _, c := range r.recent {
			row.Recent += c
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b ThrottleRow) int {
		return cmp.Or(cmp.Compare(b.Recent, a.Recent), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Reason, b.Reason), bytes.Compare(a.Key, b.Key), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}
