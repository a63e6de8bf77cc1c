package store

import (
	"sync"
	"sync/atomic"
)

// maxPurges is the maximum number of purges by prefix and pattern in the log.
const maxPurges = 4096

// purges is the history of purges, by number. A hard purge of a URL is not part of it: it
// moves the URL's generation.
//
// A purge records its scope, under mu, and then sets head to its number. A reader that loads
// head first, and then compares everything newer than its own number, misses no purge that
// was answered before.
type purges struct {
	head atomic.Uint64 // the number of the newest purge
	log  atomic.Pointer[purgeLog]
	hard atomic.Pointer[tagTable] // purges of tags
	soft atomic.Pointer[tagTable]
	urls atomic.Pointer[tagTable] // soft purges of URLs
	mu   sync.Mutex
}

// tagTable holds for each tag slot the number of its newest purge, and the number of the
// newest purge of all.
type tagTable struct {
	slots  [tagSlots]atomic.Uint64
	newest atomic.Uint64
}

// purgeLog is immutable. It lacks purges up to number tail: an object that was last compared
// before tail may have missed one.
type purgeLog struct {
	tail    uint64
	entries []*loggedPurge // by number
}

// loggedPurge is an entry of the log.
type loggedPurge struct {
	scope
	number uint64
	soft   bool
}

// verdict is the effect of purges on a response. The greater one counts.
type verdict uint8

const (
	untouched verdict = iota
	softened          // may be used as a stale response
	purged            // must not be used
)

func newPurges() *purges {
	p := &purges{}
	p.log.Store(&purgeLog{})
	return p
}

// addTag records the purge of a tag.
func (p *purges) addTag(tag string, soft bool) {
	if soft {
		p.addSlot(&p.soft, tagSlot([]byte(tag)))
	} else {
		p.addSlot(&p.hard, tagSlot([]byte(tag)))
	}
}

// addURL records the soft purge of a URL, by its primary key.
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

// addAll records the purge of everything.
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

// addScope records a purge by prefix or pattern, in place of an equal one. It returns the
// length of the log.
func (p *purges) addScope(s scope, soft bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.log.Load()
	next := &purgeLog{tail: old.tail, entries: make([]*loggedPurge, 0, len(old.entries)+1)}
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
	next.entries = append(next.entries, &loggedPurge{scope: s, number: number, soft: soft})
	p.log.Store(next)
	p.head.Store(number)
	return len(next.entries)
}

// forget removes the purges up to number from the log. Every stored object has been compared
// with them.
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

// since returns the effect of the purges after mark on a response, and the number of the
// newest purge that it compared.
func (p *purges) since(mark uint64, r subject) (verdict, uint64) {
	head := p.head.Load()
	if mark >= head {
		return untouched, mark
	}
	log := p.log.Load()
	tags := r.tags()
	if mark < log.tail || tags.purgedAfter(p.hard.Load(), mark) {
		return purged, head
	}
	worst := untouched
	urls := p.urls.Load()
	if tags.purgedAfter(p.soft.Load(), mark) || urls != nil && urls.slots[tagSlot(r.key)].Load() > mark {
		worst = softened
	}
	for i := len(log.entries) - 1; i >= 0 && log.entries[i].number > mark; i-- {
		e := log.entries[i]
		if e.soft && worst == softened || !e.fits(r) {
			continue
		}
		if !e.soft {
			return purged, head
		}
		worst = softened
	}
	return worst, head
}

// purgedAfter reports whether one of the tags was purged after mark.
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
