package live

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// MaxReaders is the maximum number of readers at a time: each costs time for each request.
const MaxReaders = 16

// ErrReaders is returned by Open while there are MaxReaders.
var ErrReaders = errors.New("too many readers of the log at a time")

// Log passes records on to its readers.
type Log struct {
	readers atomic.Pointer[[]*Reader] // nil: none

	mu sync.Mutex // held while readers is replaced
}

// Tap returns a sink that passes records on to the readers and to next.
func (l *Log) Tap(next telemetry.Sink) telemetry.Sink { return &tap{Sink: next, log: l} }

type tap struct {
	telemetry.Sink
	log *Log
}

// Log passes r on.
func (t *tap) Log(r *telemetry.Record) {
	if readers := t.log.readers.Load(); readers != nil {
		for _, to := range *readers {
			to.add(r)
		}
	}
	t.Sink.Log(r)
}

// Open returns a reader of the records that f selects from now on.
func (l *Log) Open(f *Filter) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Reader
	if now := l.readers.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if len(all) >= MaxReaders {
		return nil, ErrReaders
	}
	r := &Reader{log: l, filter: f, ready: make(chan struct{}, 1)}
	all = append(all, r)
	l.readers.Store(&all)
	return r, nil
}

// remove removes a reader, which gets no more records soon after.
func (l *Log) remove(r *Reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.readers.Load()
	if now == nil {
		return
	}
	left := slices.DeleteFunc(slices.Clone(*now), func(o *Reader) bool { return o == r })
	if len(left) == 0 {
		l.readers.Store(nil)
		return
	}
	l.readers.Store(&left)
}
