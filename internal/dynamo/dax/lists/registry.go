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

// Bounds of a list, and the default of how many there may be. DynamoDB's own bounds of
// an item are narrower.
const (
	maxNames    = 10_000
	maxName     = 65535
	maxBytes    = 1 << 20
	maxOwner    = 1 << 10
	defaultMost = 100_000

	// averageBytes bounds the names of all lists together: so much for each that may be.
	averageBytes = 1 << 10
)

// Why a list is not numbered.
var (
	ErrFull      = errors.New("there are as many lists of attributes as may be, or their names are too long; names that are data make a new list for each item")
	ErrShare     = errors.New("the access key has had as many lists of attributes numbered as one of several keys may, or their names are too long; names that are data make a new list for each item")
	ErrNames     = errors.New("a list of attributes has too many names, or a name that is too long or there twice")
	ErrCollision = errors.New("two lists of attributes have the same number, which was not to be expected; rename an attribute")
)

// Config says where lists are kept.
type Config struct {
	Dir string       // made if it is not there; for one registry alone
	Max int          // how many lists there may be, of 1 KiB on average; default 100,000
	Log *slog.Logger // nil: slog.Default
}

// Registry numbers lists. It is safe for concurrent use, and what it knows already it
// tells without a lock.
type Registry struct {
	max   int64
	log   *slog.Logger
	known [shards]atomic.Pointer[map[uint64]*list]
	count atomic.Int64

	mu       sync.Mutex // guards what follows
	used     usage
	accounts map[string]*account // by access key
	queued   *batch              // those that wait for the file
	inFlight *batch              // those that are being written
	warned   bool

	fileMu sync.Mutex // held while a batch goes to the file; taken before mu
	file   file       // guarded by writing
}

// shards is how many maps the lists are in: each is made anew when a list is added.
const shards = 256

// Open reads the lists in cfg.Dir. Nobody else may have them open.
func Open(cfg Config) (*Registry, error) {
	r := &Registry{max: int64(cmp.Or(cfg.Max, defaultMost)), log: cmp.Or(cfg.Log, slog.Default()), accounts: map[string]*account{}}
	for i := range r.known {
		r.known[i].Store(&map[uint64]*list{})
	}
	(*r.shard(Empty).Load())[Empty] = &list{id: Empty}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	if err := r.file.open(cfg.Dir, r.log, r.load); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	r.warn(Owner{})
	return r, nil
}

// load takes a list over from the file, before anybody else uses r.
func (r *Registry) load(l *list) {
	shard := *r.shard(l.id).Load()
	if shard[l.id] != nil {
		return
	}
	shard[l.id] = l
	r.count.Add(1)
	r.charge(l, 1)
}

// Close gives the file back. Nothing may be numbered any more.
func (r *Registry) Close() error {
	r.fileMu.Lock()
	defer r.fileMu.Unlock()
	return r.file.close()
}

// Len is how many lists there are, the empty one not counted.
func (r *Registry) Len() int { return int(r.count.Load()) }

// Names returns the names that a number stands for, in their order. They must not be
// changed.
func (r *Registry) Names(id uint64) ([]string, bool) {
	if l := r.find(id); l != nil {
		return l.names, true
	}
	return nil, false
}

const (
	stackBytes     = 1 << 10  // how long an encoding may be that needs no memory of a pool
	maxPooledBytes = 64 << 10 // how long one may be whose memory is used again
)

var rooms = sync.Pool{New: func() any { return new([]byte) }}

// ID returns the number of a list, whose order counts, to the principal that asks for it. A new list
// is on disk when ID returns. Nothing of the arguments is kept. The error is one of this
// package's or the file's.
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
	room := rooms.Get().(*[]byte)
	*room = appendNames((*room)[:0], names)
	id, err := r.lookupOrAdd(names, *room, by)
	if cap(*room) <= maxPooledBytes {
		rooms.Put(room)
	}
	return id, err
}

// lookupOrAdd returns the number of the list that is encoded so.
func (r *Registry) lookupOrAdd(names [][]byte, encoded []byte, by Owner) (uint64, error) {
	id := idOf(encoded)
	if l := r.find(id); l != nil {
		return l.check(names)
	}
	if !validNames(names) {
		return 0, ErrNames
	}
	by.Key = by.Key[:min(len(by.Key), maxOwner)]
	return r.add(id, names, encoded, by)
}

// check returns the number of l if these are its names.
func (l *list) check(names [][]byte) (uint64, error) {
	if !l.hasNames(names) {
		return 0, ErrCollision
	}
	return l.id, nil
}

// validNames tells whether names keep to the bounds and are there once each.
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

// publish lets a list be found. Its callers take turns.
func (r *Registry) publish(l *list) {
	shard := r.shard(l.id)
	old := *shard.Load()
	next := make(map[uint64]*list, len(old)+1)
	maps.Copy(next, old)
	next[l.id] = l
	shard.Store(&next)
	r.count.Add(1)
}
