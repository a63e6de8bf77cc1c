package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"
)

// timeline determines, for one key, which numbers a query may have shown.
type timeline struct {
	writes []*Op         // all that were or may have been executed
	byArg  map[int64]*Op // writes by the number stored, without deletes
	acked  []acked       // acknowledged ones, by time of acknowledgement
}

// acked means: at the time returned, a write sent at call or later had been executed.
type acked struct{ returned, call int64 }

func newTimeline(ops []*Op) *timeline {
	t := &timeline{byArg: map[int64]*Op{}}
	for _, o := range ops {
		if !o.writes() {
			continue
		}
		t.writes = append(t.writes, o)
		if o.Arg != 0 {
			t.byArg[o.Arg] = o
		}
		if o.Return != never {
			t.acked = append(t.acked, acked{o.Return, o.Call})
		}
	}
	slices.SortFunc(t.acked, func(a, b acked) int { return cmp.Compare(a.returned, b.returned) })
	latest := int64(-1)
	for i := range t.acked {
		latest = max(latest, t.acked[i].call)
		t.acked[i].call = latest
	}
	return t
}

// floor returns the time at which the latest of the writes acknowledged before at was sent.
// It returns false if there is none.
func (t *timeline) floor(at int64) (int64, bool) {
	n := sort.Search(len(t.acked), func(i int) bool { return t.acked[i].returned >= at })
	if n == 0 {
		return 0, false
	}
	return t.acked[n-1].call, true
}

// shows returns the reason that a query that ended at end must not have shown v, given that
// it must show writes acknowledged before since. It returns "" if v is permitted.
func (t *timeline) shows(v int64, group int8, since, end int64) string {
	floor, any := t.floor(since)
	if v != 0 {
		w := t.byArg[v]
		switch {
		case w == nil || w.Call > end:
			return fmt.Sprintf("shows %d, which was not written yet", v)
		case group >= 0 && groupOf(v) != group:
			return fmt.Sprintf("shows %d, which belongs to another index partition", v)
		case any && w.Return < floor:
			return fmt.Sprintf("shows %d, which an acknowledged write had replaced", v)
		}
		return ""
	}
	if !any {
		return ""
	}
	for _, w := range t.writes {
		hides := w.Arg == 0 || group >= 0 && groupOf(w.Arg) != group
		if hides && w.Call <= end && w.Return >= floor {
			return ""
		}
	}
	return "does not show an item that was there"
}

// checkQueries returns the queries that showed an item older than the last write
// acknowledged before the query began. An index may lag behind the table by at most
// indexLag.
func checkQueries(ops []Op, queries []Query, indexLag time.Duration) (violations []string) {
	byKey := map[int32][]*Op{}
	for i := range ops {
		byKey[ops[i].Key] = append(byKey[ops[i].Key], &ops[i])
	}
	timelines := map[int32]*timeline{}
	for key, ops := range byKey {
		timelines[key] = newTimeline(ops)
	}
	empty := newTimeline(nil)
	for i := range queries {
		q := &queries[i]
		since := q.Call
		if q.Group >= 0 {
			since -= int64(indexLag)
		}
		for pos, v := range q.Values {
			key := q.Partition*width + int32(pos)
			t := timelines[key]
			if t == nil {
				t = empty
			}
			if why := t.shows(v, q.Group, since, q.Return); why != "" {
				violations = append(violations, fmt.Sprintf("key %d: %s %s", key, q, why))
			}
		}
	}
	return violations
}

func (q *Query) String() string {
	of := "query"
	if q.Group >= 0 {
		of = fmt.Sprintf("query of index group %d", q.Group)
	}
	if q.Consistent {
		of = "consistent " + of
	}
	return fmt.Sprintf("%.3f ms to %.3f ms, client %d: %s", float64(q.Call)/1e6, float64(q.Return)/1e6, q.Client, of)
}
