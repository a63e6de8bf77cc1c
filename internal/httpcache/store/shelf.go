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

// diskIndex holds the objects of a store whose bodies are on disk, by their primary
// keys. It survives the process: their heads are written beside the bodies.
//
// Who changes what lies under a key holds the store's lock of that key (see
// Store.change), which comes before the shelf's own. What is dropped is gone from
// the disk before it is gone from byKey, and what is new is in byKey before it is
// held against writes and purges for the last time, and only then committed. So
// whoever has moved a generation or added a purge, and then looks into byKey, meets
// everything that a restart could bring back.
//
// A nil shelf holds nothing.
type diskIndex struct {
	store  *Store
	part   *disk.Part
	seed   maphash.Seed
	shards [diskShards]diskShard

	weight   atomic.Int64 // what the heads take of the heap
	mu       sync.Mutex   // guards reserved
	reserved int64        // what is taken of the space for it
}

type diskShard struct {
	sync.RWMutex
	byKey map[string]*Resource // of objects on disk only; immutable, none is empty
}

const diskShards = 64

// OpenDisk opens the part of that name, with what it holds. The service's options
// decide what its heads mean now.
func (s *Store) OpenDisk(tier *disk.Tier, name string, o *policy.Options) error {
	sh := &diskIndex{store: s, seed: maphash.MakeSeed()}
	for i := range sh.shards {
		sh.shards[i].byKey = map[string]*Resource{}
	}
	part, found, err := tier.Part(name, sh.evicted)
	if err != nil {
		return err
	}
	sh.part = part
	s.index = sh
	for _, f := range found {
		sh.add(&f, o)
	}
	sh.bound()
	sh.reserve()
	return nil
}

// add takes up what was found on disk. What can't be understood is refused, and what is
// being written to is dropped.
func (sh *diskIndex) add(f *disk.Found, o *policy.Options) {
	key := f.File.Key()
	h, ok := decodeHead(f.Meta, o)
	fence := sh.store.Fence(key)
	if !ok {
		f.File.Refuse()
		return
	}
	if !fence.Stamp.Settled {
		f.File.Drop()
		return
	}
	object := NewObject(h, onDisk(f.File), fence)
	if f.Stale {
		object.SetMark(policy.Outdated)
	}
	next := (&Resource{}).with(object)
	if old := sh.resource(key); old != nil {
		next = old.with(object)
		sh.drop(old, next)
	}
	sh.set(key, next)
}

func (sh *diskIndex) close() {
	if sh == nil {
		return
	}
	_ = sh.part.Sync() // the tier has reported it
	sh.part.Close()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.store.space.Reserve(-sh.reserved)
	sh.reserved = 0
}

func (sh *diskIndex) shard(key []byte) *diskShard {
	return &sh.shards[maphash.Bytes(sh.seed, key)%diskShards]
}

// resource returns what is on disk of key, nil if nothing is.
func (sh *diskIndex) resource(key []byte) *Resource {
	if sh == nil {
		return nil
	}
	shard := sh.shard(key)
	shard.RLock()
	defer shard.RUnlock()
	return shard.byKey[string(key)]
}

// set puts those variants of r that are on disk into byKey.
func (sh *diskIndex) set(key []byte, r *Resource) {
	next := r.without(func(o *Object) bool { return !o.OnDisk() })
	next.markers = nil
	shard := sh.shard(key)
	shard.Lock()
	defer shard.Unlock()
	sh.weight.Add(next.indexWeight(key) - shard.byKey[string(key)].indexWeight(key))
	if len(next.variants) == 0 {
		delete(shard.byKey, string(key))
	} else {
		shard.byKey[string(key)] = next
	}
}

// indexWeight is what a resource in byKey takes of the heap, roughly.
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

// indexOverhead is what a resource and a file take beside their heads.
const indexOverhead = 256

// each calls f with every object.
func (sh *diskIndex) each(f func(key []byte, o *Object)) {
	if sh == nil {
		return
	}
	for i := range sh.shards {
		shard := &sh.shards[i]
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

// affects tells whether something of key is on disk, or is to be with next.
func (sh *diskIndex) affects(key []byte, next *Resource) bool {
	return sh != nil && (sh.resource(key) != nil || slices.ContainsFunc(next.variants, (*Object).OnDisk))
}

// replaceUnsettled brings to the disk that next takes the place of old. It returns what is
// there afterwards: next without what could not be written. The store's lock of the
// key is held.
func (sh *diskIndex) replace(key []byte, old, next *Resource) *Resource {
	sh.drop(old, next)
	sh.set(key, next)
	rest := next.without(func(o *Object) bool {
		return o.OnDisk() && !old.has(o) && !sh.write(key, o)
	})
	if len(rest.variants) < len(next.variants) {
		sh.drop(next, rest)
		sh.set(key, rest)
	}
	return rest
}

// drop drops the files of old that next no longer has.
func (sh *diskIndex) drop(old, next *Resource) {
	for _, o := range old.variants {
		if o.OnDisk() && !slices.ContainsFunc(next.variants, func(v *Object) bool { return v.Body.file == o.Body.file }) {
			o.Body.file.Drop()
		}
	}
}

// write commits a new object, or the new head of one, if no write and no purge has
// come in between. The store's lock of the key is held.
func (sh *diskIndex) write(key []byte, o *Object) bool {
	s := sh.store
	v, _ := s.purges.since(o.purgeSeen.Load(), key, &o.Head.Tags)
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

// markStale has o be stale after a restart too, if it is on disk.
func (sh *diskIndex) markStale(key []byte, o *Object) {
	if sh == nil || !o.OnDisk() {
		return
	}
	lock := sh.store.lock(key)
	lock.Lock()
	defer lock.Unlock()
	if r := sh.resource(key); r != nil && r.has(o) {
		_ = o.Body.file.Rewrite(o.Head.encode(), true) // on an error it is dropped
	}
}

// DropDamaged drops the object whose body on disk can't be read.
func (s *Store) DropDamaged(b *Body) {
	b.Damaged()
	s.index.evicted(b.file)
}

// HasDisk reports whether bodies may be kept on disk.
func (s *Store) HasDisk() bool { return s.index != nil }

// CreateFile begins a body on disk of that length, -1 if it is not known. The store must have
// a disk.
func (s *Store) CreateFile(length int64) (*disk.Writer, error) { return s.index.part.Create(length) }

// FinishFile makes a body of what was written. There is room for key and head beside it.
func (s *Store) FinishFile(w *disk.Writer, key []byte, h *Head) (*Body, error) {
	file, err := w.Finish(len(h.encode()) + len(key) + headRoom)
	if err != nil {
		return nil, err
	}
	return onDisk(file), nil
}

// headRoom is what a head on disk takes beside its record and key.
const headRoom = 64

// MaxOnDisk is the longest body that the disk takes.
func (s *Store) MaxOnDisk() int64 { return s.index.part.MaxBody() }

// DiskStats are the figures of the store's part of the disk. It must have one.
func (s *Store) DiskStats() disk.Stats { return s.index.part.Stats() }

// evicted takes out what the tier has dropped for room. That need not last, so nothing is
// synced: a purge of its key does that.
func (sh *diskIndex) evicted(f *disk.File) {
	sh.store.replaceUnsettled(f.Key(), func(r *Resource) *Resource {
		return r.without(func(o *Object) bool { return o.Body.file == f })
	})
}

// maintain is called after a change of key, without locks: it keeps the bounds, takes the
// memory for the heads out of the space, and has what was dropped stay so.
func (sh *diskIndex) maintain(key []byte) {
	sh.bound()
	_ = sh.part.SyncKey(key) // the tier has reported it
	sh.reserve()
}

// bound drops what is too much.
func (sh *diskIndex) bound() {
	for sh.weight.Load() > sh.maxWeight() && sh.part.EvictOne() {
	}
	sh.part.Trim()
}

// reserve takes what the heads need out of the space.
func (sh *diskIndex) reserve() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	want := (sh.weight.Load() + reserveStep - 1) / reserveStep * reserveStep
	if want != sh.reserved {
		sh.store.space.Reserve(want - sh.reserved)
		sh.reserved = want
	}
}

const (
	// reserveStep is in what steps memory is taken out of the space.
	reserveStep = 64 << 10
	// indexShare is which part of the space the heads may take: one in so many.
	indexShare = 4
)

// maxWeight is what the heads may take of the heap.
func (sh *diskIndex) maxWeight() int64 {
	return int64(sh.store.space.Usage().Memory) / indexShare
}

// applyToDisk takes from the disk, or marks there, what a write or a purge of these keys
// has put out of reach: when it has returned, a restart does not bring it back. An
// error says that it may.
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

// applyToWholeDisk is reach for everything.
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

// ErrNotDurable says that a purge holds for as long as the process runs.
var ErrNotDurable = errors.New("httpcache: what is on disk may come back after a restart")

// applyTo drops o if it is out of reach, or marks it.
func (s *Store) applyTo(key []byte, o *Object) {
	if !s.isCurrent(o) {
		s.Drop(key, o)
		return
	}
	s.survivesPurges(key, o)
}
