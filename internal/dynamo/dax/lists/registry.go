package lists

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
)

// The limits of a list, and the default maximum number of lists. DynamoDB's own limits for
// items are lower.
const (
	maxNames   = 10_000
	maxName    = 65535
	maxBytes   = 1 << 20
	maxOwner   = 1 << 10
	defaultMax = 100_000

	// averageBytes limits the size of all lists together: this many bytes for each list
	// permitted.
	averageBytes = 1 << 10
)

// Errors of ID.
var (
	ErrFull      = errors.New("there are as many lists of attributes as may be, or their names are too long; names that are data make a new list for each item")
	ErrShare     = errors.New("the access key has had as many lists of attributes numbered as one of several keys may, or their names are too long; names that are data make a new list for each item")
	ErrNames     = errors.New("a list of attributes has too many names, or a name that is too long or there twice")
	ErrCollision = errors.New("two lists of attributes have the same number, which was not to be expected; rename an attribute")
)

// Config configures a Registry.
type Config struct {
	Dir string       // created if missing; used by one registry only; empty: the lists are in memory
	Max int          // maximum number of lists of 1 KiB on average; default 100,000
	Log *slog.Logger // nil: slog.Default
}

// Registry numbers lists. It is safe for concurrent use, and looks up known lists without a
// lock.
type Registry struct {
	max   int64
	log   *slog.Logger
	known [shards]atomic.Pointer[map[uint64]*list]

	mu       sync.Mutex // guards the fields below
	used     usage
	accounts map[string]*account // by access key
	queued   *batch              // waits for the file
	inFlight *batch              // is being written
	warned   bool

	fileMu sync.Mutex // held while a batch is written; taken before mu
	file   file       // guarded by fileMu
}

// shards is the number of maps that hold the lists. Adding a list copies one of them.
const shards = 256

// Open reads the lists in cfg.Dir. No other registry may have it open.
func Open(cfg Config) (*Registry, error) {
	r := &Registry{max: int64(cmp.Or(cfg.Max, defaultMax)), log: cmp.Or(cfg.Log, slog.Default()), accounts: map[string]*account{}}
	for i := range r.known {
		r.known[i].Store(&map[uint64]*list{})
	}
	(*r.shard(Empty).Load())[Empty] = &list{id: Empty}
	if cfg.Dir == "" {
		r.file.absent = true
		return r, nil
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	if err := r.file.open(cfg.Dir, r.log, r.load); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	r.warn(Owner{})
	return r, nil
}

// load adds a list from the file, before r is used concurrently.
func (r *Registry) load(l *list) {
	shard := *r.shard(l.id).Load()
	if shard[l.id] != nil {
		return
	}
	shard[l.id] = l
	r.charge(l, 1)
}

// Close closes the file. ID must not be called any more.
func (r *Registry) Close() error {
	r.fileMu.Lock()
	defer r.fileMu.Unlock()
	return r.file.close()
}

// Names returns the names of the list with the given number, in order. They must not be
// modified.
func (r *Registry) Names(id uint64) ([]string, bool) {
	if l := r.find(id); l != nil {
		return l.names, true
	}
	return nil, false
}

const (
	stackBytes     = 1 << 10  // maximum length of an encoding on the stack
	maxPooledBytes = 64 << 10 // maximum length of an encoding whose memory is reused
)

var nameBuffers = sync.Pool{New: func() any { return new([]byte) }}

// ID returns the number of a list, whose order matters, for the given owner. A new list is
// on disk when ID returns, if the registry has a directory. The arguments are not retained. An error is one of this package's
// or the file's.
func (r *Registry) ID(names [][]byte, by Owner) (uint64, error) {
	if len(names) == 0 {
		return Empty, nil
	}
	size := 0
	for _, n := range names {
		size += binary.MaxVarintLen32 + len(n)
	}
	if size <= stackBytes {
		var buf [stackBytes]byte
		return r.lookupOrAdd(names, appendNames(buf[:0], names), by)
	}
	if len(names) > maxNames || size > maxBytes {
		return 0, ErrNames
	}
	buf := nameBuffers.Get().(*[]byte)
	*buf = appendNames((*buf)[:0], names)
	id, err := r.lookupOrAdd(names, *buf, by)
	if cap(*buf) <= maxPooledBytes {
		nameBuffers.Put(buf)
	}
	return id, err
}

// lookupOrAdd returns the number of the list with the given encoding.
func (r *Registry) lookupOrAdd(names [][]byte, encoded []byte, by Owner) (uint64, error) {
	id := idOf(encoded)
	if l := r.find(id); l != nil {
		if !l.hasNames(names) {
			return 0, ErrCollision
		}
		return id, nil
	}
	if !validNames(names) {
		return 0, ErrNames
	}
	by.Key = by.Key[:min(len(by.Key), maxOwner)]
	return r.add(id, names, encoded, by)
}

// validNames reports whether names are within the limits and unique.
func validNames(names [][]byte) bool {
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		if len(n) > maxName {
			return false
		}
		seen[string(n)] = struct{}{}
	}
	return len(seen) == len(names)
}

func (r *Registry) shard(id uint64) *atomic.Pointer[map[uint64]*list] { return &r.known[id%shards] }

func (r *Registry) find(id uint64) *list { return (*r.shard(id).Load())[id] }

// publish makes a list available. It must not be called concurrently.
func (r *Registry) publish(l *list) {
	shard := r.shard(l.id)
	old := *shard.Load()
	next := make(map[uint64]*list, len(old)+1)
	maps.Copy(next, old)
	next[l.id] = l
	shard.Store(&next)
}
