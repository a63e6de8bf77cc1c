package flight

import (
	"errors"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// spill is the file that a long body is written to while it arrives, so that only a window
// of it is in memory. Only the pump changes it; file is set under Flight.mu, as readers
// that fell behind read it.
type spill struct {
	file    *disk.Writer // nil: none was opened
	stopped bool         // the disk refused the file, or failed: nothing more is written
}

// active reports whether the body is written to disk.
func (s *spill) active() bool { return s.file != nil && !s.stopped }

// discard removes the file, unless it was finished. Readers can still read it.
func (s *spill) discard() {
	if s.file != nil {
		s.file.Discard()
	}
}

// close closes the file, when no one reads it any more.
func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// append writes the bytes of a piece that are not in the file yet.
func (s *spill) append(start int64, b []byte) error {
	if at := s.file.Len() - start; at < int64(len(b)) {
		_, err := s.file.Write(b[max(0, at):])
		return err
	}
	return nil
}

// spillBuffer writes the bytes that have arrived to disk, if the body is to be there, and
// drops pieces that are on disk except for a window that most readers are in. It runs in the
// pump's goroutine, which alone adds and drops pieces.
func (f *Flight) spillBuffer(length int64) {
	f.mu.Lock()
	retain := f.buffer.retain
	f.mu.Unlock()
	if !retain || f.spill.stopped || f.spill.file == nil && !f.openSpill(length) {
		return
	}
	for _, p := range f.buffer.pieces {
		if f.spill.append(p.start, p.buf) != nil {
			f.stopSpill()
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.group.hold(-f.buffer.dropSpilled(f.spill.file.Checked(), f.limits.Window))
}

// openSpill opens a file for a body that is to go to disk. It returns false if it is not,
// or if the disk refuses it.
func (f *Flight) openSpill(length int64) bool {
	a := f.result.answer
	if !f.group.store.HasDisk() || !f.lasting || !a.Keep || a.Seal != nil || a.Head.Response.Status == 206 ||
		max(length, f.buffer.end+1) <= f.stored.DiskThreshold(a.Head) {
		return false
	}
	file, err := f.group.store.CreateFile(length)
	if err != nil {
		f.spill.stopped = true
		f.group.stats.undisked.Add(1)
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spill.file = file
	return true
}

// stopSpill gives up the file after the disk has failed. Bytes that were dropped from memory
// can still be read there, so that no reader is cut off. The body is kept as long as all of
// it is in memory and may be.
func (f *Flight) stopSpill() {
	f.spill.discard()
	f.group.stats.undisked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spill.stopped = true
	f.buffer.retain = f.buffer.retain && f.buffer.first == 0
}

// keepFile makes and stores the object of a body that is on disk, except for the end of
// chunks. It returns nil if it was not kept.
func (f *Flight) keepFile(a *Answer, chunks [][]byte) *store.Object {
	at := f.buffer.end
	for _, p := range f.buffer.pieces {
		at = min(at, p.start)
	}
	for _, b := range chunks {
		if f.spill.append(at, b) != nil {
			f.stopSpill()
			return nil
		}
		at += int64(len(b))
	}
	body, err := f.group.store.FinishFile(f.spill.file, f.key, a.Head)
	if err != nil {
		f.group.stats.undisked.Add(1)
		return nil
	}
	o := store.NewObject(a.Head, body, f.fence)
	if !f.group.store.Put(f.key, o, nil) {
		body.Discard()
		return nil
	}
	return o
}

// errSpilled reports that the next bytes have to be read from disk.
var errSpilled = errors.New("flight: the bytes are on disk")

// readSpill reads from disk for a waiter that fell behind the buffer. If the disk fails, no
// more requests join the flight.
func (f *Flight) readSpill(offset int64, buf []byte) ([]byte, error) {
	b, err := f.spill.file.ReadSome(offset, buf)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.buffer.retain = false
		return nil, err
	}
	return b, nil
}
