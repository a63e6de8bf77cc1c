package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// diskIndex holds the objects of a store whose bodies are on disk, by their primary keys. It
// survives the process: the heads are written beside the bodies.
//
// A change of a key is made under the store's lock of that key (see Store.replace), which is
// taken before the index's own. A dropped object is removed from the disk before it is
// removed from byKey. A new one is added to byKey before it is compared with writes and
// purges for the last time, and committed to disk only then. So a caller that moves a
// generation or adds a purge, and then reads byKey, finds every object that a restart could
// bring back.
//
// A nil index is empty.
type diskIndex struct {
	store  *Store
	part   *disk.Part
	seed   maphash.Seed
	shards [diskShards]diskShard

	weight   atomic.Int64 // heap memory of the heads
	mu       sync.Mutex   // guards reserved
	reserved int64        // taken out of the space for them
}

type diskShard struct {
	sync.RWMutex
	byKey map[string]*Resource // only objects on disk; immutable, none is empty
}

const diskShards = 64

// OpenDisk opens the part of the disk tier of that name and indexes its objects. Their heads
// are interpreted with the service's options.
func (s *Store) OpenDisk(tier *disk.Tier, name string, o *policy.Options) error {
	d := &diskIndex{store: s, seed: maphash.MakeSeed()}
	for i := range d.shards {
		d.shards[i].byKey = map[string]*Resource{}
	}
	part, found, err := tier.Part(name, d.evicted)
	if err != nil {
		return err
	}
	d.part = part
	s.index = d
	for _, f := range found {
		d.add(&f, o)
	}
	d.bound()
	d.reserve()
	return nil
}

// add indexes a file that was found on disk. It refuses one that cannot be decoded, and
// drops one whose URL is being written. In a cluster the origin must confirm it first.
func (d *diskIndex) add(f *disk.Found, o *policy.Options) {
	key := f.File.Key()
	h, ok := decodeHead(f.Meta, o)
	fence := d.store.Fence(key)
	if !ok {
		f.File.Refuse()
		return
	}
	switch c := d.store.space.Cache(); {
	case c.Coordinated():
		// Other members may have written while this process did not run.
		fence.Stamp = c.BeforeEmpty(fence.Stamp)
		fence.Stamp.Settled = true
	case !fence.Stamp.Settled:
		f.File.Drop()
		return
	}
	object := NewObject(h, onDisk(f.File), fence)
	if f.Stale {
		object.SetMark(policy.Outdated)
	}
	next := (&Resource{}).with(object)
	if old := d.resource(key); old != nil {
		next = old.with(object)
		d.drop(old, next)
	}
	d.set(key, next)
}

func (d *diskIndex) close() {
	if d == nil {
		return
	}
	_ = d.part.Sync() // the tier logs it
	d.part.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.store.space.Reserve(-d.reserved)
	d.reserved = 0
}

func (d *diskIndex) shard(key []byte) *diskShard {
	return &d.shards[maphash.Bytes(d.seed, key)%diskShards]
}

// resource returns the objects on disk under key, nil if there are none.
func (d *diskIndex) resource(key []byte) *Resource {
	if d == nil {
		return nil
	}
	shard := d.shard(key)
	shard.RLock()
	defer shard.RUnlock()
	return shard.byKey[string(key)]
}

// set puts the variants of r that are on disk into byKey.
func (d *diskIndex) set(key []byte, r *Resource) {
	next := r.without(func(o *Object) bool { return !o.OnDisk() })
	next.markers = nil
	shard := d.shard(key)
	shard.Lock()
	defer shard.Unlock()
	d.weight.Add(next.indexWeight(key) - shard.byKey[string(key)].indexWeight(key))
	if len(next.variants) == 0 {
		delete(shard.byKey, string(key))
	} else {
		shard.byKey[string(key)] = next
	}
}

// indexWeight returns roughly the heap memory of a resource in byKey.
func (r *Resource) indexWeight(key []byte) int64 {
	if r == nil || len(r.variants) == 0 {
		return 0
	}
	w := int64(len(key)) + indexOverhead
	for _, o := range r.variants {
		w += o.Weight() + o.Body.file.Overhead() + indexOverhead
	}
	return w
}

// indexOverhead is the memory of a resource, and of a file, besides their heads.
const indexOverhead = 256

// each calls f with every object.
func (d *diskIndex) each(f func(key []byte, o *Object)) {
	if d == nil {
		return
	}
	for i := range d.shards {
		shard := &d.shards[i]
		shard.RLock()
		all := make([]*Resource, 0, len(shard.byKey))
		for _, r := range shard.byKey {
			all = append(all, r)
		}
		shard.RUnlock()
		for _, r := range all {
			for _, o := range r.variants {
				f(o.Body.file.Key(), o)
			}
		}
	}
}

// affects reports whether objects under key are on disk, or are to be with next.
func (d *diskIndex) affects(key []byte, next *Resource) bool {
	return d != nil && (d.resource(key) != nil || slices.ContainsFunc(next.variants, (*Object).OnDisk))
}

// replace replaces old by next on disk. It returns next without the objects that could not
// be written. The store's lock of the key is held.
func (d *diskIndex) replace(key []byte, old, next *Resource) *Resource {
	d.drop(old, next)
	d.set(key, next)
	rest := next.without(func(o *Object) bool {
		return o.OnDisk() && !old.has(o) && !d.write(key, o)
	})
	if len(rest.variants) < len(next.variants) {
		d.drop(next, rest)
		d.set(key, rest)
	}
	return rest
}

// drop removes the files of old that next does not have.
func (d *diskIndex) drop(old, next *Resource) {
	for _, o := range old.variants {
		if o.OnDisk() && !slices.ContainsFunc(next.variants, func(v *Object) bool { return v.Body.file == o.Body.file }) {
			o.Body.file.Drop()
		}
	}
}

// write commits a new object, or the new head of one, unless a write or a purge has
// overtaken it. The store's lock of the key is held.
func (d *diskIndex) write(key []byte, o *Object) bool {
	s := d.store
	v, _ := s.purges.since(o.purgeSeen.Load(), subject{key, o.Head})
	if v == purged || !s.isCurrent(o) {
		s.stats.overtaken.Add(1)
		return false
	}
	if v == softened {
		o.SetMark(policy.Outdated)
	}
	meta, stale := o.Head.encode(), o.Mark() == policy.Outdated
	if o.Body.file.Key() == nil {
		return o.Body.file.Commit(bytes.Clone(key), meta, stale) == nil
	}
	return o.Body.file.Rewrite(meta, stale) == nil
}

// markStale makes o stale after a restart too, if it is on disk.
func (d *diskIndex) markStale(key []byte, o *Object) {
	if d == nil || !o.OnDisk() {
		return
	}
	lock := d.store.lock(key)
	lock.Lock()
	defer lock.Unlock()
	if r := d.resource(key); r != nil && r.has(o) {
		_ = o.Body.file.Rewrite(o.Head.encode(), true) // on an error it is dropped
	}
}

// DropDamaged drops the object whose file cannot be read.
func (s *Store) DropDamaged(b *Body) {
	b.Damaged()
	s.index.evicted(b.file)
}

// HasDisk reports whether bodies may be kept on disk.
func (s *Store) HasDisk() bool { return s.index != nil }

// CreateFile creates the file of a body of that length, -1 if it is not known. The store
// must have a disk.
func (s *Store) CreateFile(length int64) (*disk.Writer, error) { return s.index.part.Create(length) }

// FinishFile returns the body of a file whose bytes are all written. It leaves room for key
// and head.
func (s *Store) FinishFile(w *disk.Writer, key []byte, h *Head) (*Body, error) {
	file, err := w.Finish(len(h.encode()) + len(key) + headRoom)
	if err != nil {
		return nil, err
	}
	return onDisk(file), nil
}

// headRoom is the room on disk of a head besides its record and key.
const headRoom = 64

// MaxOnDisk returns the length of the longest body that the disk accepts.
func (s *Store) MaxOnDisk() int64 { return s.index.part.MaxBody() }

// DiskStats returns the figures of the store's part of the disk. The store must have a disk.
func (s *Store) DiskStats() disk.Stats { return s.index.part.Stats() }

// evicted removes an object whose file the tier has dropped to make room. It may be back
// after a crash, so nothing is synced; a purge of its key syncs it.
func (d *diskIndex) evicted(f *disk.File) {
	d.store.replaceUnsettled(f.Key(), func(r *Resource) *Resource {
		return r.without(func(o *Object) bool { return o.Body.file == f })
	})
}

// maintain is called after a change of key, without locks. It enforces the bounds, takes the
// heads' memory out of the space, and makes drops durable.
func (d *diskIndex) maintain(key []byte) {
	d.bound()
	_ = d.part.SyncKey(key) // the tier logs it
	d.reserve()
}

// bound evicts objects above the bounds.
func (d *diskIndex) bound() {
	for d.weight.Load() > d.maxWeight() && d.part.EvictOne() {
	}
	d.part.Trim()
}

// reserve takes the memory of the heads out of the space.
func (d *diskIndex) reserve() {
	d.mu.Lock()
	defer d.mu.Unlock()
	want := (d.weight.Load() + reserveStep - 1) / reserveStep * reserveStep
	if want != d.reserved {
		d.store.space.Reserve(want - d.reserved)
		d.reserved = want
	}
}

const (
	// reserveStep is the unit in which memory is taken out of the space.
	reserveStep = 64 << 10
	// indexShare is the divisor of the space for the heads' share of it.
	indexShare = 4
)

// maxWeight returns the maximum heap memory of the heads.
func (d *diskIndex) maxWeight() int64 {
	return int64(d.store.space.Usage().Memory) / indexShare
}

// applyToDisk drops from the disk, or marks there, the objects under keys that a write or a
// purge has invalidated. When it has returned, a restart does not bring them back; an error
// means that it may.
func (s *Store) applyToDisk(keys ...[]byte) error {
	if s.index == nil {
		return nil
	}
	for _, key := range keys {
		if r := s.index.resource(key); r != nil {
			for _, o := range r.variants {
				s.applyTo(key, o)
			}
		}
		if err := s.index.part.SyncKey(key); err != nil {
			return fmt.Errorf("%w: %w", ErrNotDurable, err)
		}
	}
	return nil
}

// applyToWholeDisk is applyToDisk for all keys.
func (s *Store) applyToWholeDisk() error {
	if s.index == nil {
		return nil
	}
	s.index.each(s.applyTo)
	if err := s.index.part.Sync(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, err)
	}
	return nil
}

// ErrNotDurable means that a purge is in force only as long as the process runs.
var ErrNotDurable = errors.New("httpcache: purged responses on disk may be back after a restart")

// applyTo drops o if it is invalid, or marks it.
func (s *Store) applyTo(key []byte, o *Object) {
	if !s.isCurrent(o) && !s.isEmptied(o) {
		s.Drop(key, o)
		return
	}
	s.survivesPurges(key, o)
}
