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
	if !l.running && s.tasks.begin() {
		l.running = true
		go l.run(s)
	}
}

func (l *lateRounds) run(s *Store) {
	defer s.tasks.wg.Done()
	wait := minLatePause
	for {
		tags := l.next()
		if tags == nil {
			return
		}
		if l.send(s, tags) {
			wait = minLatePause
			continue
		}
		if !pause.For(s.tasks.ctx, wait) {
			return
		}
		wait = min(2*wait, maxLatePause)
	}
}

// next returns some of the tags. It returns nil if there are none, and ends the run.
func (l *lateRounds) next() (tags []cache.Tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.tags {
		if tags = append(tags, t); len(tags) == maxLateTags {
			break
		}
	}
	l.running = tags != nil
	return tags
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
