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

// ErrFull is returned by Writable and Deletable when the disk has too little free space.
var ErrFull = errors.New("the disk is full")

// checkEvery is the interval between checks of the free space.
const checkEvery = 250 * time.Millisecond

// space monitors the free space on the disk.
//
// pebble ends the process if it can't write its log. Three measures prevent that on a full
// disk. New writes are refused while less than reserve is free, which leaves that much for
// writes in progress. If other programs fill the disk before this is noticed, an unused
// file, the ballast, is removed. If that is not enough, writes to the log wait for free
// space. Tables that can't be written fail and are written again later; reading needs no
// free space.
type space struct {
	fs  vfs.FS
	dir string
	log *slog.Logger

	reserve uint64        // free bytes below which writes are refused; 0: unknown
	limit   uint64        // maximum size of the ballast
	made    atomic.Uint64 // size of the ballast, as far as this process made it
	// data is the size of the files at the opening and of all that was written since.
	data atomic.Uint64

	// full is set while writes are refused. out is set after a write has failed for lack of
	// space, until half of reserve is free again.
	full, out atomic.Bool
	// tight is set while less than half of reserve is free: deletes are refused, too.
	tight atomic.Bool
	// written counts the bytes written since the last check. Every reserve/8 bytes the free
	// space is checked without waiting for checkEvery.
	written  atomic.Uint64
	checkNow chan struct{}

	phase   atomic.Int32
	closing chan struct{}
	done    sync.WaitGroup
}

// The phases of a directory. While it is opened or closed, writes don't wait for free space:
// they could not be interrupted.
const (
	opening = iota
	running
	ending
)

// Bounds of reserve and ballast. On small disks they are a fraction of the size.
const (
	maxReserve = 64 << 20
	maxBallast = 16 << 20
	minBallast = 512 << 10
)

const ballastFile = "BALLAST"

func newSpace(fs vfs.FS, dir string, log *slog.Logger) *space {
	s := &space{fs: fs, dir: dir, log: log, checkNow: make(chan struct{}, 1), closing: make(chan struct{})}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		s.reserve = min(maxReserve, usage.TotalBytes/16)
		s.limit = min(maxBallast, usage.TotalBytes/32)
		s.data.Store(filesSize(fs, dir))
		s.full.Store(usage.AvailBytes < s.reserve)
		s.tight.Store(usage.AvailBytes < s.reserve/2)
	}
	return s
}

// filesSize returns the size of all files in a directory, as far as they can be read.
func filesSize(fs vfs.FS, dir string) (sum uint64) {
	names, err := fs.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := fs.Stat(fs.PathJoin(dir, name)); err == nil && info.Size() > 0 {
			sum += uint64(info.Size())
		}
	}
	return sum
}

// ballast returns the size that the ballast should have: enough to open the directory again,
// which may write its data once more. It grows in few steps.
func (s *space) ballast() uint64 {
	size := uint64(minBallast)
	for size < s.data.Load() && size < s.limit {
		size *= 2
	}
	return min(size, s.limit)
}

// checkOpening refuses a disk without enough free space for opening. It removes the ballast
// if that helps.
func (s *space) checkOpening() error {
	needed := min(s.reserve/8, s.ballast())
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

// run starts monitoring.
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
			case <-s.checkNow:
			}
			s.check()
		}
	}()
}

// stop ends monitoring and all waiting for free space.
func (s *space) stop() {
	s.phase.Store(ending)
	close(s.closing)
	s.done.Wait()
}

// check measures the free space and logs changes of the state.
func (s *space) check() {
	s.written.Store(0)
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err != nil {
		s.out.Store(false) // unknown: the next write will show it
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
	case free >= s.reserve+s.reserve/4+s.ballast():
		s.makeBallast()
		if s.full.Swap(false) {
			s.log.Info("embedded store: there is room on the disk again; writes are taken", slog.String("dir", s.dir), slog.Uint64("free", free))
		}
	}
}

// wrote records n written bytes.
func (s *space) wrote(n int) {
	s.data.Add(uint64(n))
	if s.reserve > 0 && s.written.Add(uint64(n)) > s.reserve/8 {
		select {
		case s.checkNow <- struct{}{}:
		default:
		}
	}
}

// ranOut is called when a write has failed for lack of space.
func (s *space) ranOut() {
	s.out.Store(true)
	s.tight.Store(true)
	if !s.full.Swap(true) {
		s.log.Warn("embedded store: the disk is full; writes are refused until there is room again", slog.String("dir", s.dir))
	}
	s.dropBallast()
}

// wait waits briefly for free space. It returns false if waiting is of no use.
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

// makeBallast creates the ballast, or makes it larger.
func (s *space) makeBallast() {
	size := s.ballast()
	if size <= s.made.Load() {
		return
	}
	name := s.fs.PathJoin(s.dir, ballastFile)
	var f vfs.File
	_, err := s.fs.Stat(name)
	if err == nil {
		f, err = s.fs.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	} else {
		f, err = s.fs.Create(name, vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return
	}
	err = f.Preallocate(0, int64(size))
	if errors.Join(err, f.Close()) != nil {
		s.dropBallast()
		return
	}
	s.made.Store(size)
}

func (s *space) dropBallast() {
	s.made.Store(0)
	_ = s.fs.Remove(s.fs.PathJoin(s.dir, ballastFile)) // it may have been removed already
}
