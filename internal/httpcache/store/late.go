package store

import (
	"context"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/pause"
)

// lateRounds sends invalidations to the other members of a cluster that could not be sent
// when they were made. The outcome of their writes is unknown to the clients.
type lateRounds struct {
	mu      sync.Mutex
	tags    map[cache.Tag]struct{}
	slots   map[uint32]struct{} // of groups
	running bool
}

const (
	// lateRoundTimeout bounds one attempt of a late round.
	lateRoundTimeout = 5 * time.Second
	// minLatePause and maxLatePause bound the pause after a failed attempt.
	minLatePause, maxLatePause = 50 * time.Millisecond, time.Second
	// maxLateTags is the number of tags of one round.
	maxLateTags = 256
)

// add quarantines tags at all members, in the background, as soon as that is possible.
func (l *lateRounds) add(s *Store, tags []cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tags == nil {
		l.tags = make(map[cache.Tag]struct{})
	}
	for _, t := range tags {
		l.tags[t] = struct{}{}
	}
	l.start(s)
}

// addSlots invalidates groups at all members, in the background, as soon as that is possible.
func (l *lateRounds) addSlots(s *Store, slots []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restoreSlots(slots)
	l.start(s)
}

// start starts run, unless it runs. The caller holds mu.
func (l *lateRounds) start(s *Store) {
	if !l.running && s.tasks.begin() {
		l.running = true
		go l.run(s)
	}
}

func (l *lateRounds) run(s *Store) {
	defer s.tasks.wg.Done()
	wait := minLatePause
	for {
		tags, slots := l.next()
		if tags == nil && slots == nil {
			return
		}
		if (tags == nil || l.send(s, tags)) && (slots == nil || l.sendSlots(s, slots)) {
			wait = minLatePause
			continue
		}
		if !pause.For(s.tasks.ctx, wait) {
			return
		}
		wait = min(2*wait, maxLatePause)
	}
}

// next returns some of the tags and slots. If there are none, it ends the run.
func (l *lateRounds) next() (tags []cache.Tag, slots []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for slot := range l.slots {
		if slots = append(slots, slot); len(slots) == maxLateTags {
			break
		}
	}
	for t := range l.tags {
		if tags = append(tags, t); len(tags) == maxLateTags {
			break
		}
	}
	l.running = tags != nil || slots != nil
	return tags, slots
}

// sendSlots announces groups and reports whether that was possible. This member invalidates
// them again: since the first time it may have got answers of members that had not.
func (l *lateRounds) sendSlots(s *Store, slots []uint32) bool {
	ctx, cancel := context.WithTimeout(s.tasks.ctx, lateRoundTimeout)
	defer cancel()
	defer s.space.Cache().BeginAnnouncement()()
	s.invalidateSlots(slots)
	l.mu.Lock()
	for _, slot := range slots {
		delete(l.slots, slot)
	}
	l.mu.Unlock()
	err := s.broadcast(ctx, announcement{Slots: slots})
	if err != nil {
		l.mu.Lock()
		l.restoreSlots(slots)
		l.mu.Unlock()
	}
	return err == nil
}

// restoreSlots adds slots. The caller holds mu.
func (l *lateRounds) restoreSlots(slots []uint32) {
	if l.slots == nil {
		l.slots = make(map[uint32]struct{})
	}
	for _, slot := range slots {
		l.slots[slot] = struct{}{}
	}
}

// send makes a round and reports whether it was possible.
func (l *lateRounds) send(s *Store, tags []cache.Tag) bool {
	ctx, cancel := context.WithTimeout(s.tasks.ctx, lateRoundTimeout)
	defer cancel()
	// First, so that a tag that is added again meanwhile gets another round.
	l.remove(tags)
	w, err := s.space.Cache().Begin(ctx, tags, nil)
	if err != nil {
		l.restore(tags)
		return false
	}
	w.Unknown()
	return true
}

func (l *lateRounds) remove(tags []cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range tags {
		delete(l.tags, t)
	}
}

func (l *lateRounds) restore(tags []cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range tags {
		l.tags[t] = struct{}{}
	}
}
