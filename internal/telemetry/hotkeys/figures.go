package hotkeys

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// Span is the time that figures are for.
type Span int

// The spans.
const (
	Recent  Span = iota // the current window and the last one
	Forever             // since the start
)

// Table has the figures of a table.
type Table struct {
	Service, Table string
	Since          time.Time // the beginning of the time that is counted
	Totals         [metrics]uint64
	Reads          uint64 // requests that read; Totals of Misses are a part of them
	// Top has the keys with the highest counts by metric, the highest first.
	Top [metrics][]Key
}

// Key is a key with an estimate of its count.
type Key struct {
	Hash uint64
	Text []byte // up to 256 bytes of the key in its service's own form
	// Count is at most Error too high or too low: by the counters with certainty, and by sampling
	// with 99.7 %, three standard deviations.
	Count, Error uint64
}

// maxKeys is the maximum number of keys of each metric.
const maxKeys = 50

// Figures returns the figures of all tables that keys were counted for, in the order of services
// and tables.
func (k *Keys) Figures(span Span) []Table {
	now := k.now()
	tables := *k.tables.Load()
	var all []Table
	for _, name := range slices.SortedFunc(maps.Keys(tables), func(a, b tableName) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.table, b.table))
	}) {
		f := Table{Service: name.service, Table: name.table, Since: k.start}
		if span == Recent {
			f.Since = k.start.Add(time.Duration(max(0, now-1)) * window)
		}
		tables[name].figures(now, span, &f)
		all = append(all, f)
	}
	return all
}

func (t *table) figures(now int64, span Span, f *Table) {
	for i := range t.shards {
		t.shards[i].figures(now, span, f)
	}
	for m := range f.Top {
		slices.SortFunc(f.Top[m], func(a, b Key) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Hash, b.Hash))
		})
		f.Top[m] = f.Top[m][:min(len(f.Top[m]), maxKeys)]
	}
}

// figures adds the figures of a shard.
func (s *shard) figures(now int64, span Span, f *Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(now)
	sum := counters{}
	if span == Forever {
		sum.absorb(&s.old)
	}
	sum.absorb(&s.last)
	sum.absorb(&s.current)
	f.Reads += sum.reads
	for m, l := range sum.lists {
		if l == nil {
			continue
		}
		f.Totals[m] += l.total
		for i := range l.entries {
			f.Top[m] = append(f.Top[m], l.entries[i].estimate())
		}
	}
}

// estimate returns the middle of the possible counts.
func (e *entry) estimate() Key {
	half := e.excess / 2
	return Key{e.hash, bytes.Clone(e.text), e.count - half, e.excess - half + uint64(3*math.Sqrt(e.variance))}
}
