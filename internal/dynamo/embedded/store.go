package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Config configures a store.
type Config struct {
	// Region is the region in ARNs. Empty is us-east-1.
	Region string
	// StreamShards is the number of shards of a new stream. 0 is 1.
	StreamShards int
	// ShardLife is the time after which an open shard of a stream is closed, and followed by
	// others. 0 is 4 hours, as in the service.
	ShardLife time.Duration
}

// Store holds tables. Open returns one.
type Store struct {
	cfg   Config
	log   *slog.Logger
	db    kv.DB
	clock func() time.Time

	// schema is held while the set of tables or a table's schema is changed.
	schema sync.Mutex
	// tables are the tables by name. The map is immutable; it is replaced while schema is
	// held.
	tables atomic.Pointer[map[string]*table]

	streams  streamSet
	backfill backfiller
	expired  atomic.Pointer[func(table string, item []byte)] // set by OnExpiry

	// faults are the faults in effect; nil for none. faulting is held while they are replaced.
	faults   atomic.Pointer[faultState]
	faulting sync.Mutex

	locks locks
	calls sync.Pool
	edits sync.Pool

	// working is held for reading by each part of the background work in progress, and for
	// writing while the data are replaced. It is acquired before running.
	working sync.RWMutex
	// running is held for reading by each request in progress, and for writing to close the
	// store or to replace its data.
	running sync.RWMutex
	closed  bool
	// background ends when the store closes; workers counts the goroutines that use it.
	background context.Context
	stop       context.CancelFunc
	workers    sync.WaitGroup

	requests, inFlight atomic.Int64
}

// Open opens the store whose data are in db, which may be empty. The store closes db, also if
// Open fails.
func Open(db kv.DB, cfg Config, log *slog.Logger) (*Store, error) {
	s, err := open(db, cfg, log, time.Now)
	if err != nil {
		return nil, err
	}
	s.start(s.runBackfill)
	s.repeat(sweepEvery, "removing expired items", s.sweep)
	s.repeat(trimEvery, "trimming streams", s.trimStreams)
	s.repeat(min(s.cfg.ShardLife/4, time.Minute), "closing shards", s.followShards)
	s.repeat(time.Minute, "forgetting client request tokens", s.forgetTokens)
	return s, nil
}

// open opens a store without its background work.
func open(db kv.DB, cfg Config, log *slog.Logger, clock func() time.Time) (*Store, error) {
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	cfg.ShardLife = cmp.Or(cfg.ShardLife, 4*time.Hour)
	s := &Store{cfg: cfg, log: log, db: db, clock: clock}
	s.calls.New = func() any { return new(call) }
	s.edits.New = func() any { return new(edit) }
	s.background, s.stop = context.WithCancel(context.Background())
	s.backfill.wakeup = make(chan struct{}, 1)
	if err := errors.Join(s.loadTables(), s.loadStreams()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// Close waits for the requests in progress and closes the data. Later requests are refused.
func (s *Store) Close() {
	s.stop()
	s.workers.Wait()
	s.running.Lock()
	defer s.running.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.clearHistory()
	if err := s.db.Close(); err != nil {
		s.log.Error("embedded store: closing", slog.Any("error", err))
	}
}

// errDiskFull is the answer to writes while the disk is full. Reads are still possible.
var errDiskFull = &wire.Error{Type: "InternalServerError",
	Message: "The disk of the embedded store is full: writes are refused until there is room on it again."}

// writable refuses writes while the disk is full. A request that only deletes is refused
// later, when even less space is free.
func (s *Store) writable(deletes bool) error {
	err := s.db.Writable()
	if deletes {
		err = s.db.Deletable()
	}
	if err != nil {
		return errDiskFull
	}
	return nil
}

// onlyDeletes reports whether none of the writes stores an item.
func onlyDeletes(writes []*itemWrite) bool {
	return !slices.ContainsFunc(writes, func(w *itemWrite) bool { return !w.deletes() })
}

// deletes reports whether the write stores no item: it deletes one or checks a condition.
func (w *writeRequest) deletes() bool { return w.Kind == writeDelete || w.Kind == writeCheck }

// start runs f in a goroutine that Close waits for.
func (s *Store) start(f func()) {
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		f()
	}()
}

// repeat calls do at intervals until the store closes. It logs errors and continues.
func (s *Store) repeat(interval time.Duration, what string, do func(now time.Time) error) {
	s.start(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-s.background.Done():
				return
			case <-tick.C:
			}
			if err := s.work(func() error { return do(s.clock()) }); err != nil {
				s.log.Error("embedded store: "+what, slog.Any("error", err))
			}
		}
	})
}

// work calls a part of the background work, during which the data are not replaced. The work
// may send requests to the store, as a function given to OnExpiry does.
func (s *Store) work(do func() error) error {
	s.working.RLock()
	defer s.working.RUnlock()
	return recoverPanics(do)
}

// recoverPanics calls f and returns a panic in it as an error, so that a defect in one place
// does not stop the rest.
func recoverPanics(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// Requests returns the numbers of all requests and of those in progress.
func (s *Store) Requests() (all, inFlight int64) { return s.requests.Load(), s.inFlight.Load() }
