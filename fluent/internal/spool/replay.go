package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Next returns the oldest payload that wasn't taken yet, and the id for Done. The payload
// belongs to the caller. It returns ErrEmpty if there is none. Any other error is the file
// system's, for example too many open files: nothing was skipped, and a later call may
// succeed.
//
// Damaged or unreadable payloads are skipped, counted, and passed to Options.Report.
func (s *Spool) Next() (id uint64, payload []byte, err error) {
	s.reading.Lock()
	var p passage
	id, payload, err = s.take(&p)
	s.reading.Unlock()
	for _, l := range p.losses {
		s.opts.Report(l)
	}
	if p.skipped {
		s.retire()
	}
	return id, payload, err
}

// passage describes the data that a Next has skipped on its way to a payload.
type passage struct {
	skipped bool // the end of a segment was damaged, or all of it
	losses  []*LossError
}

func (s *Spool) take(p *passage) (uint64, []byte, error) {
	for {
		g, from, end, err := s.position()
		if err != nil {
			return 0, nil, err
		}
		if err := s.openRead(g, from, end); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				return 0, nil, fmt.Errorf("spool: %w", err)
			}
			s.reader.lost.err = err
			s.passed(p, g, end, nil)
			p.skipped = true
			continue
		}
		off, h, payload, err := s.reader.next(nil)
		if s.reader.off >= end {
			s.closeRead()
		}
		if err == io.EOF {
			s.passed(p, g, end, nil)
			p.skipped = true
			continue
		}
		t := &taken{at: position{g.seq, off}, count: count{1, int(h.records), h.size()}}
		return s.passed(p, g, off+h.size(), t), payload, nil
	}
}

// position returns the segment with the next payload, and the range to read.
func (s *Spool) position() (g *segment, from, end int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, 0, ErrClosed
	}
	for i := s.find(s.cursor.seq); i < len(s.segments); i++ {
		g := s.segments[i]
		if g.seq != s.cursor.seq {
			s.cursor = position{g.seq, segmentHeaderLen}
		}
		if s.cursor.off < g.end {
			return g, s.cursor.off, g.end, nil
		}
	}
	return nil, 0, 0, ErrEmpty
}

// settle returns the difference between the expected and the read contents of a segment. The
// caller holds mu.
func (s *Spool) settle(g *segment) *LossError {
	missing := g.unread
	if missing == (count{}) {
		return nil
	}
	g.unread = count{}
	s.pending.sub(missing)
	if missing.bytes <= 0 {
		return nil // Open could not read it, but now it is readable
	}
	s.lost.add(missing)
	l := &LossError{Path: g.path, Payloads: missing.payloads, Records: missing.records, Bytes: missing.bytes}
	if s.reader != nil && s.reader.seq == g.seq {
		l.Err = s.reader.lost.err
	}
	return l
}

// openRead sets reader to read g in the given range.
func (s *Spool) openRead(g *segment, from, end int64) error {
	if s.reader == nil || s.reader.seq != g.seq {
		s.closeRead()
		s.reader = newSegmentReader(nil, g.seq, from, end)
	}
	s.reader.end = end
	if s.readFile != nil {
		return nil
	}
	f, err := s.fs.Open(g.path)
	if err != nil {
		return err
	}
	s.readFile, s.reader.src = f, f
	return nil
}

// closeRead closes the file that is being read. It is closed at each segment's end, because
// some systems don't remove open files.
func (s *Spool) closeRead() {
	if s.readFile != nil {
		s.readFile.Close()
		s.readFile, s.reader.src = nil, nil
	}
}

// passed moves the cursor and, if a payload was taken, records it and returns its id.
func (s *Spool) passed(p *passage, g *segment, off int64, t *taken) (id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cursor = position{g.seq, off}
	if t != nil {
		g.unread.sub(t.count)
		if s.first == len(s.ring) {
			s.ring, s.first = s.ring[:0], 0
		}
		s.ring = append(s.ring, *t)
		id = s.firstID + uint64(len(s.ring)-s.first) - 1
	}
	if off >= g.end {
		if l := s.settle(g); l != nil {
			p.losses = append(p.losses, l)
		}
	}
	return id
}

// Done completes a payload, which is not returned again. Ids that are done or unknown are
// ignored, as are all after Close.
func (s *Spool) Done(id uint64) {
	s.mu.Lock()
	i := id - s.firstID + uint64(s.first)
	if s.closed || id < s.firstID || i >= uint64(len(s.ring)) || s.ring[i].done {
		s.mu.Unlock()
		return
	}
	s.ring[i].done = true
	s.pending.sub(s.ring[i].count)
	moved := false
	for s.first < len(s.ring) && s.ring[s.first].done {
		s.first++
		s.firstID++
		moved = true
	}
	s.mu.Unlock()
	if moved {
		s.retire()
	}
}

// low returns the position before which everything is done. The caller holds mu.
func (s *Spool) low() position {
	if s.first < len(s.ring) {
		return s.ring[s.first].at
	}
	return s.cursor
}

// retire stores the progress and removes the segments that are done.
func (s *Spool) retire() {
	if err := s.keep(); err != nil {
		s.opts.Report(err)
	}
}

func (s *Spool) keep() error {
	s.marking.Lock()
	defer s.marking.Unlock()
	if s.ended {
		return nil
	}
	s.mu.Lock()
	low := s.low()
	gone, active := s.detach(low)
	s.mu.Unlock()
	if active != nil {
		active.Close()
	}
	var err error
	if low != s.marked {
		err = s.mark(low, len(gone) > 0)
	}
	for _, g := range gone {
		s.remove(g)
	}
	if err != nil {
		return fmt.Errorf("spool: keeping progress: %w", err)
	}
	return nil
}

// mark writes progress. The caller holds marking.
func (s *Spool) mark(low position, removing bool) error {
	created := s.progress.f == nil
	if err := s.progress.store(s.fs, low); err != nil {
		return err
	}
	s.marked = low
	if removing && s.opts.Sync == SyncAlways {
		return s.progress.sync()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirtyPos = true
	s.dirDirty = s.dirDirty || created
	s.arm()
	return nil
}

// detach removes the segments from the list that are entirely done, and the ones that could
// not be removed before. If the active one is among them, the caller must close its file.
// The caller holds mu.
func (s *Spool) detach(low position) (gone []*segment, active file) {
	n := 0
	for n < len(s.segments) {
		g := s.segments[n]
		passed := g.seq < low.seq || g.seq == low.seq && low.off >= g.end
		if !passed || g == s.active && (s.writing || g.end == segmentHeaderLen) {
			break
		}
		if g == s.active {
			active = s.activeFile
			s.active, s.activeFile = nil, nil
		}
		n++
	}
	if n == 0 && len(s.toRemove) == 0 {
		return nil, nil
	}
	gone = append(s.toRemove, s.segments[:n]...)
	s.segments = append([]*segment(nil), s.segments[n:]...)
	s.toRemove = nil
	return gone, active
}

func (s *Spool) remove(g *segment) {
	if err := s.fs.Remove(g.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.toRemove = append(s.toRemove, g)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk -= g.size
	s.dirDirty = true
}

// removeLater leaves the removal of a file to the next retire.
func (s *Spool) removeLater(g *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk += g.size
	s.toRemove = append(s.toRemove, g)
}
