package fluent

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// collector makes batches of the records in the shards.
//
// Any goroutine may collect: the collector's own after the linger, Flush and Shutdown to
// seal everything posted before, and a call under DropOldest that finds nothing to drop in
// the queue. mu is held meanwhile; it is taken before the shards' locks, in their order, and
// before the queue's.
type collector struct {
	mu     sync.Mutex
	shards []shard
	spares []filling // replacement for the filling of shard i
	taken  []filling
	heads  []head

	prefix     string
	prefixed   map[string]string // tag to tag with prefix
	batchBytes int
	threshold  int               // size of a shard from which it is collected at once
	open       map[string]*batch // by tag without prefix
	order      []*batch          // the open batches, by their first record
	lastTag    string            // the last tag looked up in open
	last       *batch
	push       func(*batch)

	// wake is signalled when an empty shard has received a record, hurry when a shard has
	// enough for a batch. Both have room for one signal.
	wake  chan struct{}
	hurry chan struct{}
}

// head is the position in a filling that is being merged.
type head struct {
	filling
	mark int // index of the next mark
	off  int // start of its record
}

func newCollector(shards int, o *options, push func(*batch)) *collector {
	c := &collector{
		shards:     make([]shard, shards),
		spares:     make([]filling, shards),
		taken:      make([]filling, shards),
		prefixed:   make(map[string]string),
		batchBytes: o.batchBytes,
		threshold:  int(min(int64(o.batchBytes), o.memory/(4*int64(shards)))),
		open:       make(map[string]*batch),
		push:       push,
		wake:       make(chan struct{}, 1),
		hurry:      make(chan struct{}, 1),
	}
	if o.tagPrefix != "" {
		c.prefix = o.tagPrefix + "."
	}
	return c
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run collects until ctx ends: linger after the first record, or at once when there is
// enough for a batch.
func (c *collector) run(ctx context.Context, linger time.Duration) {
	due := make(chan struct{}, 1)
	timer := time.AfterFunc(linger, func() { signal(due) })
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-c.wake:
			timer.Reset(linger)
			select {
			case <-due:
			case <-c.hurry:
				timer.Stop()
			case <-ctx.Done():
				return
			}
		case <-c.hurry:
		case <-ctx.Done():
			return
		}
		c.collect(false)
	}
}

// collect seals everything added before. With last, the shards accept nothing afterwards.
func (c *collector) collect(last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// All shards are locked together. If they were locked one after the other, a goroutine's
	// record could remain in one shard for the next collection while a later one from
	// another shard is collected now.
	for i := range c.shards {
		c.shards[i].mu.Lock()
	}
	for i := range c.shards {
		s := &c.shards[i]
		c.taken[i] = s.swap(c.spares[i])
		s.closed = s.closed || last
	}
	for i := range c.shards {
		c.shards[i].mu.Unlock()
	}
	c.merge()
	for i, f := range c.taken {
		c.spares[i] = f.emptied(4 * c.batchBytes)
		c.taken[i] = filling{}
	}
}

// merge appends the records of all taken fillings to batches, in the order of their marks.
func (c *collector) merge() {
	c.heads = c.heads[:0]
	for _, f := range c.taken {
		if len(f.marks) > 0 {
			c.heads = append(c.heads, head{filling: f})
		}
	}
	for len(c.heads) > 0 {
		h, until := c.earliest()
		c.advance(h, until)
		if h.mark == len(h.marks) {
			last := len(c.heads) - 1
			*h = c.heads[last]
			c.heads[last] = head{}
			c.heads = c.heads[:last]
		}
	}
	for i, b := range c.order {
		c.order[i] = nil
		c.push(b)
	}
	c.order = c.order[:0]
	c.lastTag, c.last = "", nil
	clear(c.open)
}

// earliest returns the head with the first record, and the time of the first record of all
// others.
func (c *collector) earliest() (h *head, until int64) {
	until = math.MaxInt64
	for i := range c.heads {
		at := c.heads[i].marks[c.heads[i].mark].at
		switch {
		case h == nil:
			h = &c.heads[i]
		case at < h.marks[h.mark].at:
			until = h.marks[h.mark].at
			h = &c.heads[i]
		default:
			until = min(until, at)
		}
	}
	return h, until
}

// advance appends h's records up to the time until to batches. Neighbouring records of one
// batch are copied together.
func (c *collector) advance(h *head, until int64) {
	for h.mark < len(h.marks) && h.marks[h.mark].at <= until {
		tag := h.marks[h.mark].tag
		b := c.batch(h, h.tags[tag])
		from, room := h.off, c.batchBytes-len(b.entries)
		for h.mark < len(h.marks) {
			m := h.marks[h.mark]
			size := int(m.size)
			if m.tag != tag || m.at > until || h.off-from+size > room && b.records > 0 {
				break
			}
			h.off += size
			h.mark++
			b.records++
		}
		b.entries = append(b.entries, h.buf[from:h.off]...)
	}
}

// batch returns the batch of tag with room for h's next record. A batch without room is
// sealed.
func (c *collector) batch(h *head, tag string) *batch {
	if tag != c.lastTag || c.last == nil {
		c.lastTag, c.last = tag, c.open[tag]
	}
	b := c.last
	if b != nil && len(b.entries)+int(h.marks[h.mark].size) <= c.batchBytes {
		return b
	}
	expect := len(h.buf) - h.off
	if len(h.tags) > 1 {
		expect = 0
	}
	n := newBatch(c.withPrefix(tag), min(expect, c.batchBytes))
	if b != nil {
		c.seal(b)
	}
	c.open[tag], c.last = n, n
	c.order = append(c.order, n)
	return n
}

// seal passes a full batch to the queue before the ones that are still open.
func (c *collector) seal(b *batch) {
	c.order = slices.DeleteFunc(c.order, func(o *batch) bool { return o == b })
	c.push(b)
}

// withPrefix returns tag with the prefix. It caches a bounded number of results, since tags
// repeat.
func (c *collector) withPrefix(tag string) string {
	if c.prefix == "" {
		return tag
	}
	if t, ok := c.prefixed[tag]; ok {
		return t
	}
	if len(c.prefixed) >= 1024 {
		clear(c.prefixed)
	}
	t := c.prefix + tag
	c.prefixed[tag] = t
	return t
}

// posted returns the number of records ever added.
func (c *collector) posted() (n uint64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += s.posted
		s.mu.Unlock()
	}
	return n
}

// waiting returns the records added since the last collection.
func (c *collector) waiting() (records int, bytes int64) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		records += len(s.filled.marks)
		bytes += int64(len(s.filled.buf))
		s.mu.Unlock()
	}
	return records, bytes
}
