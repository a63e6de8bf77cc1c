package disk

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Tier.
type Options struct {
	// Size bounds what all files take together, in bytes; each file counts in whole
	// pages of 4 KiB.
	Size int64
	// MaxBody is the longest body that is taken, in bytes. 0: an eighth of Size.
	MaxBody int64
	// Report, if set, is told of errors of the file system: the first of each rest, and
	// each file that can't be removed. It must not call the tier.
	Report func(error)

	FS FS // nil: the operating system's
}

const (
	// pageSize is what sizes are rounded up to.
	pageSize = 4 << 10
	// pauseTime is for how long nothing is written after an error.
	pauseTime = 10 * time.Second
)

// Tier is a directory of bodies. Of its locks, Part.syncing is taken before
// File.mu, and that before mu.
type Tier struct {
	dir  string
	opts Options
	fs   FS
	lock io.Closer

	mu          sync.Mutex // guards what follows
	used        int64      // bytes of files, and of bodies under way
	queue       queue
	parts       map[string]*Part
	pausedUntil time.Time // until when nothing is written
	trouble     error     // why
	counts      counters
}

type counters struct {
	written, evicted, refused, damaged, failed atomic.Uint64
	stuck                                      atomic.Int64
}

// Stats are a tier's figures, those that count up since Open.
type Stats struct {
	Files   int    // bodies
	Bytes   int64  // that they take, those under way included
	Size    int64  // the bound
	Written uint64 // bodies committed
	Evicted uint64 // bodies dropped for room
	Refused uint64 // names found at Open of which not all was there and right, or that their owner refused
	Damaged uint64 // bodies dropped because a read found them damaged
	Failed  uint64 // errors of the file system
	Stuck   int64  // files that should be gone and can't be removed
	Trouble error  // why nothing is written now, nil if nothing forbids it
}

// Open takes the directory, which is made if it is not there. ErrLocked says that
// somebody else has it.
func Open(dir string, o Options) (*Tier, error) {
	if o.FS == nil {
		o.FS = osFS{}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.MaxBody == 0 {
		o.MaxBody = o.Size / 8
	}
	o.MaxBody = min(o.MaxBody, maxBodyLength)
	if err := o.FS.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	lock, err := o.FS.Lock(filepath.Join(dir, lockName))
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("disk: lock %s: %w", dir, err)
	}
	t := &Tier{dir: dir, opts: o, fs: o.FS, lock: lock, parts: map[string]*Part{}}
	t.queue.list.Init()
	return t, nil
}

// lockName has a dot, which no part's name has.
const lockName = ".lock"

// Close lets the directory go. Parts must be closed before.
func (t *Tier) Close() error { return t.lock.Close() }

// MaxBody is the longest body that is taken.
func (t *Tier) MaxBody() int64 { return t.opts.MaxBody }

// Stats returns the figures so far.
func (t *Tier) Stats() Stats {
	t.mu.Lock()
	used, files, trouble := t.used, t.queue.list.Len(), t.paused()
	t.mu.Unlock()
	c := &t.counts
	return Stats{
		Files: files, Bytes: used, Size: t.opts.Size, Written: c.written.Load(), Evicted: c.evicted.Load(),
		Refused: c.refused.Load(), Damaged: c.damaged.Load(), Failed: c.failed.Load(), Stuck: c.stuck.Load(), Trouble: trouble,
	}
}

// paused tells why nothing is written now. mu is held.
func (t *Tier) paused() error {
	if t.trouble != nil && time.Now().Before(t.pausedUntil) {
		return t.trouble
	}
	return nil
}

// failed counts an error of the file system and has the tier rest.
func (t *Tier) failed(err error) error {
	t.counts.failed.Add(1)
	t.mu.Lock()
	first := t.paused() == nil
	t.pausedUntil, t.trouble = time.Now().Add(pauseTime), err
	t.mu.Unlock()
	if first {
		t.opts.Report(err)
	}
	return err
}

// pages rounds a file's size up.
func pages(n int64) int64 { return (n + pageSize - 1) / pageSize * pageSize }

// reserve makes room for n bytes, by dropping what was used least. It drops nothing
// if that would not be enough.
func (t *Tier) reserve(n int64) error {
	for {
		t.mu.Lock()
		switch {
		case t.used-t.queue.bytes+n > t.opts.Size:
			t.mu.Unlock()
			return ErrFull
		case t.used+n <= t.opts.Size:
			t.used += n
			t.mu.Unlock()
			return nil
		}
		victim := t.victim(nil)
		t.mu.Unlock()
		victim.evict()
	}
}

// victim takes out who makes room, of part or of all; nil if there is nobody. Its room
// counts as free from here on. mu is held.
func (t *Tier) victim(part *Part) *File {
	f := t.queue.victim(part)
	if f != nil {
		t.used -= f.size
		f.size = 0
	}
	return f
}

// charge counts n bytes, even beyond the bound: see Trim.
func (t *Tier) charge(n int64) {
	t.mu.Lock()
	t.used += n
	t.mu.Unlock()
}

// trim drops files until the bound is kept.
func (t *Tier) trim() {
	_ = t.reserve(0) // nothing can be done about bodies under way
}

// Prune removes what is left of parts that keep does not want and that are not
// open.
func (t *Tier) Prune(keep func(part string) bool) {
	names, err := t.fs.Names(t.dir)
	if err != nil {
		return // there will be another start
	}
	for _, n := range names {
		t.mu.Lock()
		open := t.parts[n] != nil
		t.mu.Unlock()
		if n != lockName && !open && !keep(n) {
			t.clear(filepath.Join(t.dir, n))
		}
	}
}

// clear removes our files in a directory, and then the directory if nothing else is
// in it.
func (t *Tier) clear(dir string) {
	files, err := t.fs.Names(dir)
	if err != nil {
		return // no directory
	}
	for _, f := range files {
		if _, _, ours := parseName(f); ours {
			_ = t.fs.Remove(filepath.Join(dir, f)) // tried again at the next start
		}
	}
	_ = t.fs.Remove(dir)
}
