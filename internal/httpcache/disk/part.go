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

// Part is a subdirectory with the bodies of one owner. All parts share the tier's space.
type Part struct {
	tier    *Tier
	name    string
	dir     string
	evicted func(*File)

	syncing     sync.Mutex          // serialises syncs; taken before mu
	mu          sync.Mutex          // guards the fields below
	unsynced    map[string]struct{} // keys with drops or rewrites that are not synced
	unremovable map[string]bool     // files that could not be removed; true for heads
}

// Found is a body that existed when its part was opened.
type Found struct {
	File  *File
	Meta  []byte
	Stale bool
}

// Part opens the part of that name, which consists of letters, digits, - and _. It returns
// the existing bodies in the order of their first commit. evicted is called for bodies that
// were evicted, without locks held.
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

// Close closes the part; its files are kept. All reads and writes must have ended.
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

// EvictOne evicts one body of this part and reports whether there was one.
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

// Trim evicts bodies until the bound is met again after heads have grown.
func (p *Part) Trim() { p.tier.trim() }

// MaxBody returns the maximum length of a body.
func (p *Part) MaxBody() int64 { return p.tier.MaxBody() }

// Stats returns the statistics of the whole tier.
func (p *Part) Stats() Stats { return p.tier.Stats() }

func (p *Part) path(n name, ending string) string {
	return filepath.Join(p.dir, n.String()+ending)
}

// remove removes a file. If that fails, Sync tries again.
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
	p.tier.opts.Report(fmt.Errorf("disk: a dropped body returns after a restart unless its file is removed: %w", err))
}

// markUnsynced records a drop or rewrite of a body with this key, which is nil if it was not
// committed.
func (p *Part) markUnsynced(key []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsynced[string(key)] = struct{}{}
}

// maxUnsynced is the maximum number of recorded keys before a sync is forced.
const maxUnsynced = 4096

// syncMany syncs if there are too many recorded keys.
func (p *Part) syncMany() {
	p.mu.Lock()
	many := len(p.unsynced) >= maxUnsynced
	p.mu.Unlock()
	if many {
		_ = p.Sync() // retried with the next one
	}
}

// SyncKey is Sync for the drops and rewrites of one key.
func (p *Part) SyncKey(key []byte) error {
	p.mu.Lock()
	_, loose := p.unsynced[string(key)]
	loose = loose || len(p.unremovable) > 0
	p.mu.Unlock()
	if !loose {
		// Wait for a concurrent sync of the key.
		p.syncing.Lock()
		defer p.syncing.Unlock()
		return nil
	}
	return p.Sync()
}

// Sync makes earlier drops and rewrites permanent, even if the machine crashes. After an
// error they may be undone by a restart.
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

// retryRemovals tries again to remove files. It returns an error if that fails for a head.
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
			err = fmt.Errorf("disk: a dropped body can't be removed: %w", rerr)
		}
	}
	return err
}

// drawName returns a random, unused name.
func drawName() name {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return name(binary.LittleEndian.Uint64(b[:]))
}
