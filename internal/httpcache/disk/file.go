package disk

import (
	"container/list"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// File is a body on disk. Its bytes never change; its head may.
type File struct {
	part   *Part
	name   name
	key    []byte
	length int64
	sums   atomic.Pointer[[]uint32] // nil until first needed
	read   atomic.Bool              // since the queue's hand passed
	gone   atomic.Bool

	mu   sync.Mutex // held while its files are changed
	made int64
	head int64 // size of the head; guarded by mu

	size    int64         // total size; this and the next field are guarded by the tier's mu
	element *list.Element // its place in the queue, or nil
}

// Key returns the key passed to Commit.
func (f *File) Key() []byte { return f.key }

// Len returns the body's length.
func (f *File) Len() int64 { return f.length }

// Gone reports whether the body was dropped.
func (f *File) Gone() bool { return f.gone.Load() }

// Commit writes the head: from now on the body survives a restart. The key, meta and stale
// flag are opaque to this package and returned in Found.
func (f *File) Commit(key, meta []byte, stale bool) error {
	f.mu.Lock()
	f.key, f.made = key, time.Now().UnixNano()
	err := f.write(meta, stale, false)
	f.mu.Unlock()
	if err != nil {
		f.Drop()
		return err
	}
	t := f.part.tier
	t.counts.written.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !f.Gone() {
		t.queue.add(f)
	}
	return nil
}

// Rewrite replaces the committed head, permanently once Part.Sync has returned without an
// error. On an error the body is dropped.
func (f *File) Rewrite(meta []byte, stale bool) error {
	f.mu.Lock()
	err := f.write(meta, stale, true)
	f.mu.Unlock()
	if err != nil {
		f.Drop()
		return err
	}
	return nil
}

// write writes a new head to a temporary file and renames it. mu is held.
func (f *File) write(meta []byte, stale, lasting bool) error {
	if f.Gone() {
		return ErrGone
	}
	h := head{name: f.name, length: f.length, made: f.made, stale: stale, key: f.key, meta: meta}
	b := h.encode()
	if len(b) > maxHead {
		return fmt.Errorf("disk: a head of %d bytes: %w", len(b), ErrFull)
	}
	if err := f.replace(b, lasting); err != nil {
		return f.part.tier.failed(fmt.Errorf("disk: %w", err))
	}
	if lasting {
		f.part.markUnsynced(f.key)
	}
	f.resize(pages(int64(len(b))))
	return nil
}

func (f *File) replace(b []byte, sync bool) error {
	p := f.part
	temp := p.path(f.name, tempEnding)
	out, err := p.tier.fs.Create(temp)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(b, 0)
	if err == nil && sync {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = p.tier.fs.Rename(temp, p.path(f.name, headEnding))
	}
	if err != nil {
		p.remove(f.name, tempEnding)
	}
	return err
}

// resize accounts for the new size of the head. mu is held.
func (f *File) resize(head int64) {
	t := f.part.tier
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used += head - f.head
	t.queue.resize(f, f.size+head-f.head)
	f.head = head
}

// Drop deletes the body. When it returns, the head's file is removed, permanently once
// Part.Sync has returned without an error. Open Readers can read on.
func (f *File) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone.Swap(true) {
		return
	}
	f.part.remove(f.name, headEnding)
	f.part.remove(f.name, bodyEnding)
	f.part.markUnsynced(f.key) // afterwards: a concurrent sync may have missed it
	t := f.part.tier
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.remove(f)
	t.used -= f.size
	f.size = 0
}

// evict drops a body that was removed from the queue to make room.
func (f *File) evict() {
	t := f.part.tier
	t.counts.evicted.Add(1)
	f.Drop()
	f.part.evicted(f)
	f.part.syncMany()
}

// Damaged drops a body whose data is damaged.
func (f *File) Damaged() {
	f.part.tier.counts.damaged.Add(1)
	f.Drop()
}

// Refuse drops a body whose meta its owner can't use.
func (f *File) Refuse() {
	f.part.tier.counts.refused.Add(1)
	f.Drop()
}
