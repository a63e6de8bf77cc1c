package store

import (
	"sync"
	"sync/atomic"
)

// maxPurges is how many purges by prefix and pattern are remembered.
const maxPurges = 4096

// purges is what has been purged, in numbers. A hard purge of a URL is not here: it
// moves the URL's generation.
//
// A purge writes down what it fits, under mu, and then moves head to its number.
// Whoever loads head first and looks at what is newer than its own mark second
// misses no purge that was answered before.
type purges struct {
	head atomic.Uint64 // number of the newest purge
	log  atomic.Pointer[purgeLog]
	hard atomic.Pointer[tagTable] // purges of tags
	soft atomic.Pointer[tagTable]
	urls atomic.Pointer[tagTable] // soft purges of URLs
	mu   sync.Mutex
}

// tagTable holds for each place of tags the number of its newest purge, and the
// number of the newest of all.
type tagTable struct {
	slots  [tagSlots]atomic.Uint64
	newest atomic.Uint64
}

// purgeLog is immutable. Who has not looked at it since tail has missed purges
// that are forgotten by now.
type purgeLog struct {
	tail    uint64
	entries []*purge // by number
}

// purge is one line of the log.
type purge struct {
	scope
	number uint64
	soft   bool
}

// verdict is what purges did to a response. The greater one counts.
type verdict uint8

const (
	untouched verdict = iota
	softened          // may be used as a stale one
	purged            // out of reach
)

func newPurges() *purges {
	p := &purges{}
	p.log.Store(&purgeLog{})
	return p
}

// addTag remembers the purge of a tag.
func (p *purges) addTag(tag string, soft bool) {
	if soft {
		p.addSlot(&p.soft, tagSlot([]byte(tag)))
	} else {
		p.addSlot(&p.hard, tagSlot([]byte(tag)))
	}
}

// addURL remembers the soft purge of a URL, by its primary key.
func (p *purges) addURL(key []byte) { p.addSlot(&p.urls, tagSlot(key)) }

func (p *purges) addSlot(table *atomic.Pointer[tagTable], slot uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number := p.head.Load() + 1
	if table.Load() == nil {
		table.Store(new(tagTable))
	}
	table.Load().slots[slot].Store(number)
	table.Load().newest.Store(number)
	p.head.Store(number)
}

// addAll remembers that everything was purged.
func (p *purges) addAll(soft bool) {
	if soft {
		p.addScope(scope{target: "*"}, true)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	number := p.head.Load() + 1
	p.log.Store(&purgeLog{tail: number})
	p.head.Store(number)
}

// addScope remembers a purge by prefix or pattern, in place of the same one
// earlier. It returns how many the log holds now.
func (p *purges) addScope(s scope, soft bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.log.Load()
	next := &purgeLog{tail: old.tail, entries: make([]*purge, 0, len(old.entries)+1)}
	for _, e := range old.entries {
		if e.scope != s || e.soft != soft {
			next.entries = append(next.entries, e)
		}
	}
	if over := len(next.entries) + 1 - maxPurges; over > 0 {
		next.tail = next.entries[over-1].number
		next.entries = next.entries[over:]
	}
	number := p.head.Load() + 1
	next.entries = append(next.entries, &purge{scope: s, number: number, soft: soft})
	p.log.Store(next)
	p.head.Store(number)
	return len(next.entries)
}

// forget takes out of the log what everything stored has been held against: all
// purges up to number.
func (p *purges) forget(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.log.Load()
	next := &purgeLog{tail: max(old.tail, number)}
	for _, e := range old.entries {
		if e.number > number {
			next.entries = append(next.entries, e)
		}
	}
	p.log.Store(next)
}

// since tells what the purges after mark did to a response under key, and up to
// which number they were looked at.
func (p *purges) since(mark uint64, key []byte, tags *Tags) (verdict, uint64) {
	head := p.head.Load()
	if mark >= head {
		return untouched, mark
	}
	log := p.log.Load()
	if mark < log.tail || tags.purgedAfter(p.hard.Load(), mark) {
		return purged, head
	}
	worst := untouched
	urls := p.urls.Load()
	if tags.purgedAfter(p.soft.Load(), mark) || urls != nil && urls.slots[tagSlot(key)].Load() > mark {
		worst = softened
	}
	for i := len(log.entries) - 1; i >= 0 && log.entries[i].number > mark; i-- {
		e := log.entries[i]
		if e.soft && worst == softened || !e.fits(key) {
			continue
		}
		if !e.soft {
			return purged, head
		}
		worst = softened
	}
	return worst, head
}

// purgedAfter tells whether one of the tags was purged after mark.
func (t *Tags) purgedAfter(table *tagTable, mark uint64) bool {
	switch {
	case table == nil:
		return false
	case t.all:
		return table.newest.Load() > mark
	}
	for _, slot := range t.slots {
		if table.slots[slot].Load() > mark {
			return true
		}
	}
	return false
}
