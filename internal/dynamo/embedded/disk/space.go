package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrFull is returned by Writable when the disk has no room to spare.
var ErrFull = errors.New("the disk is full")

// checkEvery is how often the free space is looked at.
const checkEvery = 250 * time.Millisecond

// space watches the room on the disk.
//
// pebble can't go on after its log could not be written: it ends the process. So
// a full disk is kept from it in three ways. New writes are refused while there
// is less room than reserve; what is under way then has that much. If others
// fill the disk faster than that is noticed, a file of no use, the ballast, makes
// way. And when even that is not enough, writing the log waits until there is
// room. Tables that can't be written fail and are written again later; reading
// needs no room.
type space struct {
	fs  vfs.FS
	dir string
	log *slog.Logger

	reserve uint64 // free bytes below which writes are refused; 0: unknown
	ballast uint64 // size of the ballast

	// full is set while writes are refused, out after a write has found no room at
	// all, until there is half of reserve again.
	full, out atomic.Bool
	// tight is set while there is less than half of reserve: deletes are refused, too.
	tight atomic.Bool
	// written counts the bytes written since the last look; every reserve/8 of them
	// the free space is looked at without waiting for checkEvery.
	written atomic.Uint64
	look    chan struct{}

	phase   atomic.Int32
	closing chan struct{}
	done    sync.WaitGroup
}

// The phases of a directory: while it is opened or closed nobody waits for room,
// since nobody could be told.
const (
	opening = iota
	running
	ending
)

// Bounds of reserve and ballast; small disks get a part of their size.
const (
	greatestReserve = 64 << 20
	greatestBallast = 16 << 20
)

const ballastFile = "BALLAST"

func newSpace(fs vfs.FS, dir string, log *slog.Logger) *space {
	s := &space{fs: fs, dir: dir, log: log, look: make(chan struct{}, 1), closing: make(chan struct{})}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		s.reserve = min(greatestReserve, usage.TotalBytes/16)
		s.ballast = min(greatestBallast, usage.TotalBytes/32)
		s.full.Store(usage.AvailBytes < s.reserve)
		s.tight.Store(usage.AvailBytes < s.reserve/2)
	}
	return s
}

// checkOpening refuses a disk without the room that opening takes. The ballast makes
// way for it.
func (s *space) checkOpening() error {
	needed := s.reserve / 8
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err != nil || usage.AvailBytes >= needed {
		return nil
	}
	s.dropBallast()
	if usage, err = s.fs.GetDiskUsage(s.dir); err != nil || usage.AvailBytes >= needed {
		return nil
	}
	return fmt.Errorf("%w: %d bytes are free, %d are needed to begin", ErrFull, usage.AvailBytes, needed)
}

// run begins to watch.
func (s *space) run() {
	s.phase.Store(running)
	s.check()
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		tick := time.NewTicker(checkEvery)
		defer tick.Stop()
		for {
			select {
			case <-s.closing:
				return
			case <-tick.C:
			case <-s.look:
			}
			s.check()
		}
	}()
}

// stop ends the watch, and the waiting of who waits for room.
func (s *space) stop() {
	s.phase.Store(ending)
	close(s.closing)
	s.done.Wait()
}

// check looks at the free space and says what changed.
func (s *space) check() {
	s.written.Store(0)
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err != nil {
		s.out.Store(false) // unknown: the next write finds out
		s.full.Store(false)
		s.tight.Store(false)
		return
	}
	free := usage.AvailBytes
	s.tight.Store(free < s.reserve/2)
	if free >= s.reserve/2 {
		s.out.Store(false)
	}
	switch {
	case free < s.reserve && !s.full.Swap(true):
		s.log.Warn("embedded store: the disk is full; writes are refused until there is room again",
			slog.String("dir", s.dir), slog.Uint64("free", free), slog.Uint64("needed", s.reserve))
	case free >= s.reserve+s.reserve/4+s.ballast:
		s.makeBallast()
		if s.full.Swap(false) {
			s.log.Info("embedded store: there is room on the disk again; writes are taken", slog.String("dir", s.dir), slog.Uint64("free", free))
		}
	}
}

// wrote notes n bytes written.
func (s *space) wrote(n int) {
	if s.reserve > 0 && s.written.Add(uint64(n)) > s.reserve/8 {
		select {
		case s.look <- struct{}{}:
		default:
		}
	}
}

// ranOut is told that a write found no room.
func (s *space) ranOut() {
	s.out.Store(true)
	s.tight.Store(true)
	if !s.full.Swap(true) {
		s.log.Warn("embedded store: the disk is full; writes are refused until there is room again", slog.String("dir", s.dir))
	}
	s.dropBallast()
}

// wait waits a moment for room; false if that is of no use.
func (s *space) wait() bool {
	if s.phase.Load() != running {
		return false
	}
	select {
	case <-s.closing:
		return false
	case <-time.After(checkEvery / 4):
		return true
	}
}

func (s *space) makeBallast() {
	name := s.fs.PathJoin(s.dir, ballastFile)
	if s.ballast == 0 {
		return
	}
	if _, err := s.fs.Stat(name); err == nil {
		return
	}
	f, err := s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return
	}
	err = f.Preallocate(0, int64(s.ballast))
	if errors.Join(err, f.Close()) != nil {
		s.dropBallast()
	}
}

func (s *space) dropBallast() {
	_ = s.fs.Remove(s.fs.PathJoin(s.dir, ballastFile)) // it may be gone already
}
