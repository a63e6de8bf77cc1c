package disk

import (
	"cmp"
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
	// Size is the maximum total size of all files, in bytes; each file counts in whole pages
	// of 4 KiB.
	Size int64
	// MaxBody is the maximum length of a body, in bytes. 0 means an eighth of Size.
	MaxBody int64
	// Report, if set, is called with errors of the file system: the first one of each pause,
	// and each file that can't be removed. It must not call the tier.
	Report func(error)

	FS FS // nil means the operating system's
}

const (
	// pageSize is the unit of file sizes.
	pageSize = 4 << 10
	// pauseTime is the time after an error during which nothing is written.
	pauseTime = 10 * time.Second
)

// Tier is a directory of bodies. Order of locks: Part.syncing, File.mu, mu.
type Tier struct {
	dir  string
	opts Options
	fs   FS
	lock io.Closer

	mu          sync.Mutex // guards the fields below
	used        int64      // bytes of files, also of the ones being written
	queue       queue
	parts       map[string]*Part
	pausedUntil time.Time // end of the pause after an error
	trouble     error     // its cause
	counts      counters
}

type counters struct {
	written, evicted, refused, damaged, failed atomic.Uint64
	stuck                                      atomic.Int64
}

// Stats are a tier's figures; the counters count since Open.
type Stats struct {
	Files   int    // bodies
	Bytes   int64  // size on disk, including bodies being written
	Size    int64  // the bound
	Written uint64 // bodies committed
	Evicted uint64 // bodies evicted
	Refused uint64 // bodies found at Open that were incomplete or damaged, or refused by their owner
	Damaged uint64 // bodies dropped because of damage found by a read
	Failed  uint64 // errors of the file system
	Stuck   int64  // files that could not be removed
	Trouble error  // reason for the current pause, or nil
}

// Open opens the directory, which is created if missing. It returns ErrLocked if it is in
// use.
func Open(dir string, o Options) (*Tier, error) {
	if o.FS == nil {
		o.FS = osFS{}
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	o.MaxBody = min(cmp.Or(o.MaxBody, o.Size/8), maxBodyLength)
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

// lockName has a dot, unlike the names of parts.
const lockName = ".lock"

// Close unlocks the directory. Parts must be closed before.
func (t *Tier) Close() error { return t.lock.Close() }

// MaxBody returns the maximum length of a body.
func (t *Tier) MaxBody() int64 { return t.opts.MaxBody }

// Stats returns the current figures.
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

// paused returns the reason of the current pause, or nil. mu is held.
func (t *Tier) paused() error {
	if t.trouble != nil && time.Now().Before(t.pausedUntil) {
		return t.trouble
	}
	return nil
}

// failed counts an error of the file system and begins a pause.
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

// pages rounds a file's size up to whole pages.
func pages(n int64) int64 { return (n + pageSize - 1) / pageSize * pageSize }

// reserve makes room for n bytes by evicting bodies. It evicts nothing if that would not be
// enough.
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

// victim removes the next body to evict, of part or of all, from the queue and subtracts its
// size; nil if there is none. mu is held.
func (t *Tier) victim(part *Part) *File {
	f := t.queue.victim(part)
	if f != nil {
		t.used -= f.size
		f.size = 0
	}
	return f
}

// charge adds n bytes to the size, even beyond the bound: see Trim.
func (t *Tier) charge(n int64) {
	t.mu.Lock()
	t.used += n
	t.mu.Unlock()
}

// trim evicts bodies until the bound is met.
func (t *Tier) trim() {
	_ = t.reserve(0) // bodies being written can't be evicted
}

// Prune removes the files of parts that are not open and for which keep returns false.
func (t *Tier) Prune(keep func(part string) bool) {
	names, err := t.fs.Names(t.dir)
	if err != nil {
		return // retried at the next start
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

// clear removes this package's files in a directory, and then the directory if it is empty.
func (t *Tier) clear(dir string) {
	files, err := t.fs.Names(dir)
	if err != nil {
		return // no directory
	}
	for _, f := range files {
		if _, _, ours := parseName(f); ours {
			_ = t.fs.Remove(filepath.Join(dir, f)) // retried at the next start
		}
	}
	_ = t.fs.Remove(dir)
}
