package httpcache

import (
	"errors"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// sink writes what has come to disk, if the body goes there, and lets go of pieces that
// are on disk, but for a window that most readers are in. It runs in the pump's
// goroutine, which alone adds pieces and takes them away.
func (f *Flight) sink(length int64) {
	f.mu.Lock()
	kept := f.pieces.kept
	f.mu.Unlock()
	if !kept || f.dry || f.file == nil && !f.begin(length) {
		return
	}
	for _, p := range f.pieces.list {
		if at := f.file.Len() - p.start; at < int64(len(p.buf)) {
			if _, err := f.file.Write(p.buf[max(0, at):]); err != nil {
				f.float()
				return
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flights.hold(-f.pieces.sink(f.file.Checked(), f.limits.Window))
}

// begin opens a file for a body that is to go to disk; false if it isn't, or if the
// tier takes nothing now.
func (f *Flight) begin(length int64) bool {
	if !f.store.HasDisk() || !f.lasting || !f.answer.Keep || f.answer.Seal != nil || f.answer.Head.Response.Status == 206 ||
		max(length, f.pieces.end+1) <= f.limits.Stored.DiskThreshold(f.answer.Head) {
		return false
	}
	file, err := f.store.CreateFile(length)
	if err != nil {
		f.dry = true
		f.flights.stats.undisked.Add(1)
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file = file
	return true
}

// float gives up the file when the disk has failed or is full. What was let go of can
// still be read there, so that nobody is cut off for it. The body is kept as long as all
// of it is in memory and may stay there.
func (f *Flight) float() {
	f.file.Discard()
	f.flights.stats.undisked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dry = true
	f.pieces.kept = f.pieces.kept && f.pieces.first == 0
}

// sinking tells whether the body goes to disk.
func (f *Flight) sinking() bool { return f.file != nil && !f.dry }

// keepFile makes and stores the object of a body that lies on disk, but for the end of
// pieces. nil: it was not kept.
func (f *Flight) keepFile(a *Answer, pieces [][]byte) *store.Object {
	at := f.pieces.end
	for _, p := range f.pieces.list {
		at = min(at, p.start)
	}
	for _, p := range pieces {
		if skip := f.file.Len() - at; skip < int64(len(p)) {
			if _, err := f.file.Write(p[max(0, skip):]); err != nil {
				f.float()
				return nil
			}
		}
		at += int64(len(p))
	}
	body, err := f.store.FinishFile(f.file, f.key, a.Head)
	if err != nil {
		f.flights.stats.undisked.Add(1)
		return nil
	}
	o := store.NewObject(a.Head, body, f.fence)
	if !f.store.Put(f.key, o, nil) {
		body.Discard()
		return nil
	}
	return o
}

// errSunk says that the next bytes are to be read from the disk.
var errSunk = errors.New("httpcache: the bytes are on disk")

// surface takes a reader of what is on disk back to the pieces, if it has caught up with
// them. The flight's mu is held.
func (t *Ticket) surface() bool {
	p := &t.flight.pieces
	to, ok := p.at(t.offset)
	if ok {
		p.move(t.piece, to)
		t.piece = to
		t.flight.tell()
	}
	return ok
}

// fromDisk is Next for a reader that has fallen behind the pieces. If the disk fails,
// nobody joins the flight any more.
func (t *Ticket) fromDisk() ([]byte, error) {
	f := t.flight
	if t.buf == nil {
		t.buf = make([]byte, disk.BlockSize)
	}
	b, err := f.file.ReadSome(t.offset, t.buf)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pieces.kept = false
		return nil, err
	}
	t.offset += int64(len(b))
	return b, nil
}

// unused is the file, when nobody will read it any more. mu is held.
func (f *Flight) unused() *disk.Writer {
	if !f.ended || f.members > 0 {
		return nil
	}
	return f.file
}
