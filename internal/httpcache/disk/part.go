package disk

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// Part is the bodies of one owner. They share the tier's room with others'.
type Part struct {
	tier    *Tier
	name    string
	dir     string
	evicted func(*File)

	syncing     sync.Mutex          // one at a time syncs; taken before mu
	mu          sync.Mutex          // guards what follows
	unsynced    map[string]struct{} // keys of which something was dropped or rewritten that is not synced
	unremovable map[string]bool     // files that could not be removed; true: heads
}

// Found is a body that was there when its part was opened.
type Found struct {
	File  *File
	Meta  []byte
	Stale bool
}

// Part opens the part of that name: letters, digits, - and _. What is in it comes in
// the order in which it was committed first. evicted is told of bodies that were
// dropped for room, without locks held.
func (t *Tier) Part(name string, evicted func(*File)) (*Part, []Found, error) {
	p := &Part{tier: t, name: name, dir: filepath.Join(t.dir, name), evicted: evicted, unsynced: map[string]struct{}{}, unremovable: map[string]bool{}}
	t.mu.Lock()
	taken := t.parts[name] != nil
	if !taken {
		t.parts[name] = p
	}
	t.mu.Unlock()
	if taken {
		return nil, nil, fmt.Errorf("%w: its part %s is open already", ErrLocked, name)
	}
	found, err := p.load()
	if err != nil {
		p.leave()
		return nil, nil, fmt.Errorf("disk: %w", err)
	}
	t.trim()
	return p, slices.DeleteFunc(found, func(f Found) bool { return f.File.Gone() }), nil
}

// Close lets the part go; its files stay. Nobody may write to it or read from it any
// more.
func (p *Part) Close() {
	p.leave()
	t := p.tier
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := t.queue.list.Front(); e != nil; {
		f := e.Value.(*File)
		e = e.Next()
		if f.part == p {
			t.queue.remove(f)
			t.used -= f.size
		}
	}
}

func (p *Part) leave() {
	p.tier.mu.Lock()
	delete(p.tier.parts, p.name)
	p.tier.mu.Unlock()
}

// EvictOne drops the body of this part that was used least; false if there is none.
func (p *Part) EvictOne() bool {
	p.tier.mu.Lock()
	victim := p.tier.victim(p)
	p.tier.mu.Unlock()
	if victim == nil {
		return false
	}
	victim.evict()
	return true
}

// Trim keeps the bound after heads have grown.
func (p *Part) Trim() { p.tier.trim() }

// MaxBody is the longest body that is taken.
func (p *Part) MaxBody() int64 { return p.tier.MaxBody() }

// Stats are those of the whole tier.
func (p *Part) Stats() Stats { return p.tier.Stats() }

func (p *Part) path(n name, ending string) string {
	return filepath.Join(p.dir, n.String()+ending)
}

// remove removes a file. One that can't be removed is tried again in Sync.
func (p *Part) remove(n name, ending string) {
	path := p.path(n, ending)
	err := p.tier.fs.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	p.mu.Lock()
	if _, known := p.unremovable[path]; !known {
		p.unremovable[path] = ending == headEnding
		p.tier.counts.stuck.Add(1)
	}
	p.mu.Unlock()
	p.tier.counts.failed.Add(1)
	p.tier.opts.Report(fmt.Errorf("disk: what should be gone comes back after a restart unless it is removed: %w", err))
}

// markUnsynced remembers that something of key was dropped or rewritten. Key is what a
// body was committed under, or nothing.
func (p *Part) markUnsynced(key []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsynced[string(key)] = struct{}{}
}

// maxUnsynced is how many keys are remembered before somebody has to sync.
const maxUnsynced = 4096

// syncMany keeps loose bounded.
func (p *Part) syncMany() {
	p.mu.Lock()
	many := len(p.unsynced) >= maxUnsynced
	p.mu.Unlock()
	if many {
		_ = p.Sync() // tried again with the next one
	}
}

// SyncKey is Sync for what was dropped or rewritten of one key.
func (p *Part) SyncKey(key []byte) error {
	p.mu.Lock()
	_, loose := p.unsynced[string(key)]
	loose = loose || len(p.unremovable) > 0
	p.mu.Unlock()
	if !loose {
		// Who syncs it at this moment is waited for.
		p.syncing.Lock()
		defer p.syncing.Unlock()
		return nil
	}
	return p.Sync()
}

// Sync makes sure that what was dropped or rewritten before it stays so, whatever
// happens to the machine. An error says that it may come back after a restart.
func (p *Part) Sync() error {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	err := p.retryRemovals()
	p.mu.Lock()
	loose := p.unsynced
	p.unsynced = map[string]struct{}{}
	p.mu.Unlock()
	if len(loose) == 0 {
		return err
	}
	serr := p.tier.fs.SyncDir(p.dir)
	if serr == nil {
		return err
	}
	p.mu.Lock()
	maps.Copy(p.unsynced, loose)
	p.mu.Unlock()
	return p.tier.failed(fmt.Errorf("disk: %w", serr))
}

// retryRemovals tries once more to remove what could not be removed. The error is of a
// head.
func (p *Part) retryRemovals() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, isHead := range p.unremovable {
		switch rerr := p.tier.fs.Remove(path); {
		case rerr == nil, errors.Is(rerr, fs.ErrNotExist):
			delete(p.unremovable, path)
			p.unsynced[""] = struct{}{}
			p.tier.counts.stuck.Add(-1)
		case isHead:
			err = fmt.Errorf("disk: what should be gone can't be removed: %w", rerr)
		}
	}
	return err
}

// drawName draws a name that was never used.
func drawName() name {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return name(binary.LittleEndian.Uint64(b[:]))
}
