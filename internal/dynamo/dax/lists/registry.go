package lists

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of a list, and the default of how many there may be. DynamoDB's own bounds of
// an item are narrower.
const (
	maxNames    = 10_000
	maxName     = 65535
	maxBytes    = 1 << 20
	defaultMost = 100_000
)

// Why a list is not numbered.
var (
	ErrFull      = errors.New("there are as many lists of attributes as may be; names that are data make a new list for each item")
	ErrNames     = errors.New("a list of attributes has too many names, or a name that is too long or there twice")
	ErrCollision = errors.New("two lists of attributes have the same number, which was not to be expected; rename an attribute")
)

// Config says where lists are kept.
type Config struct {
	Dir string       // made if it is not there; for one registry alone
	Max int          // how many lists there may be; default 100,000
	Log *slog.Logger // nil: slog.Default
}

// Registry numbers lists. It is safe for concurrent use, and what it knows already it
// tells without a lock.
type Registry struct {
	max   int
	known [shards]atomic.Pointer[map[uint64]*list]
	count atomic.Int64

	mu   sync.Mutex // guards what follows
	next *batch     // those that wait for the file
	file file       // used by one batch at a time, see write

	writing sync.Mutex // held while a batch goes to the file; taken before mu
}

// shards is how many maps the lists are in: each is made anew when a list is added.
const shards = 256

// Open reads the lists in cfg.Dir. Nobody else may have them open.
func Open(cfg Config) (*Registry, error) {
	r := &Registry{max: cmp.Or(cfg.Max, defaultMost)}
	for i := range r.known {
		r.known[i].Store(&map[uint64]*list{})
	}
	r.publish(&list{id: Empty})
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	log := cmp.Or(cfg.Log, slog.Default())
	if err := r.file.open(cfg.Dir, log, r.publish); err != nil {
		return nil, fmt.Errorf("open attribute lists: %w", err)
	}
	return r, nil
}

// Close gives the file back. Nothing may be numbered any more.
func (r *Registry) Close() error {
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.file.close()
}

// Len is how many lists there are, the empty one not counted.
func (r *Registry) Len() int { return int(r.count.Load()) - 1 }

// Names returns the names that a number stands for, in their order. They must not be
// changed.
func (r *Registry) Names(id uint64) ([]string, bool) {
	if l := r.find(id); l != nil {
		return l.names, true
	}
	return nil, false
}

// ID returns the number of a list, whose order counts. A new list is on disk when ID
// returns. Nothing of names is kept. The error is one of this package's or the file's.
func (r *Registry) ID(names [][]byte) (uint64, error) {
	if len(names) == 0 {
		return Empty, nil
	}
	var buf [1024]byte
	encoded := appendNames(buf[:0], names)
	id := idOf(encoded)
	if l := r.find(id); l != nil {
		return l.check(names)
	}
	if !sound(names, len(encoded)) {
		return 0, ErrNames
	}
	return r.add(id, names, bytes.Clone(encoded)) // so that buf stays on the stack
}

// check returns the number of l if these are its names.
func (l *list) check(names [][]byte) (uint64, error) {
	if !l.is(names) {
		return 0, ErrCollision
	}
	return l.id, nil
}

// sound tells whether names keep to the bounds and are there once each.
func sound(names [][]byte, size int) bool {
	if len(names) > maxNames || size > maxBytes {
		return false
	}
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		seen[string(n)] = struct{}{}
	}
	return len(seen) == len(names) && !slices.ContainsFunc(names, func(n []byte) bool { return len(n) > maxName })
}

func (r *Registry) find(id uint64) *list { return (*r.known[id%shards].Load())[id] }

// publish lets a list be found. Its callers take turns.
func (r *Registry) publish(l *list) {
	shard := &r.known[l.id%shards]
	old := *shard.Load()
	if old[l.id] != nil {
		return
	}
	next := make(map[uint64]*list, len(old)+1)
	for id, l := range old {
		next[id] = l
	}
	next[l.id] = l
	shard.Store(&next)
	r.count.Add(1)
}
