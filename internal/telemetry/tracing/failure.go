package tracing

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// failureInterval is the minimum time between two messages of a failureLog.
const failureInterval = 10 * time.Second

// failureLog logs failed exports: the first one at once, then at most one per failureInterval, with
// the number of spans since the last one.
type failureLog struct {
	log *slog.Logger

	mu    sync.Mutex // leaf
	next  time.Time
	spans uint64
}

// note logs err, which has cost a number of spans.
func (l *failureLog) note(err error, spans uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans += spans
	now := time.Now()
	if now.Before(l.next) {
		return
	}
	l.log.Warn("tracing: spans were not exported", "spans", l.spans, "error", err)
	l.next, l.spans = now.Add(failureInterval), 0
}

// Handle logs an error of the SDK.
func (l *failureLog) Handle(err error) { l.note(err, 0) }

// refusal is an answer of a collector that refuses spans.
type refusal struct {
	message string
	spans   uint64 // 0: all of the batch
}

func (r *refusal) Error() string { return r.message }

// refusedSpans returns how many of n spans were not accepted.
func refusedSpans(err error, n uint64) uint64 {
	if err == nil {
		return 0
	}
	if r, ok := errors.AsType[*refusal](err); ok && r.spans > 0 {
		return min(r.spans, n)
	}
	return n
}
