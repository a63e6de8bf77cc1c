package spool

import (
	"fmt"
	"hash/crc32"
	"math"
)

// Append appends a payload with so many records. It does not retain payload. One goroutine
// appends at a time.
//
// It returns ErrFull or ErrTooLarge if the bound would be exceeded. Any other error is the
// file system's: the payload was then refused, the end is unchanged, and a later call may
// succeed. A payload refused because it could not be synced may nevertheless be found after
// a crash.
func (s *Spool) Append(payload []byte, records int) error {
	need := recordHeaderLen + int64(len(payload))
	if len(payload) > maxPayloadBytes || segmentHeaderLen+need+progressSize > s.opts.MaxBytes ||
		records < 0 || records > math.MaxInt32 {
		return ErrTooLarge
	}
	err := s.append(payload, records, need)
	if err != nil {
		// Done skips an active segment that is being written.
		s.retire()
	}
	return err
}

func (s *Spool) append(payload []byte, records int, need int64) error {
	s.appending.Lock()
	defer s.appending.Unlock()
	g, err := s.room(need)
	if err != nil {
		return err
	}
	err = s.write(g, payload, records)
	s.finish(g, count{1, records, need}, err)
	return err
}

// room returns the segment for the next record, and marks it as being written.
func (s *Spool) room(need int64) (*segment, error) {
	s.mu.Lock()
	g, closed := s.active, s.closed
	full := g != nil && (g.syncErr != nil ||
		g.end > segmentHeaderLen && g.end+need > s.opts.segmentBytes())
	fits := s.disk+need+s.newSegmentBytes(g == nil || full) <= s.opts.MaxBytes
	s.writing = g != nil && !full && fits && !closed
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case !fits:
		return nil, ErrFull
	case g != nil && !full:
		return g, nil
	}
	// The error concerns a full file; syncing it will report it.
	_ = s.seal()
	return s.create()
}

func (s *Spool) newSegmentBytes(isNew bool) int64 {
	if isNew {
		return segmentHeaderLen
	}
	return 0
}

// create makes the next segment the active one. The caller holds appending.
func (s *Spool) create() (*segment, error) {
	s.mu.Lock()
	s.lastSeq++
	seq := s.lastSeq
	s.mu.Unlock()
	g := &segment{seq: seq, path: s.join(segmentName(seq)), size: segmentHeaderLen, end: segmentHeaderLen, dirty: true}
	f, err := s.fs.Create(g.path)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var head [segmentHeaderLen]byte
	putSegmentHeader(head[:], seq)
	if _, err := f.WriteAt(head[:], 0); err != nil {
		f.Close()
		if s.fs.Remove(g.path) != nil {
			s.removeLater(g)
		}
		return nil, fmt.Errorf("spool: %w", err)
	}
	s.index, s.before, s.named = 0, 0, false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = append(s.segments, g)
	s.active, s.activeFile, s.writing = g, f, true
	s.disk += g.size
	s.dirDirty = true
	return g, nil
}

// write appends the record and truncates the file after a failure.
func (s *Spool) write(g *segment, payload []byte, records int) error {
	h := recordHeader{
		length: uint32(len(payload)), records: uint32(records),
		index: s.index, before: s.before,
		sum: crc32.Checksum(payload, castagnoli),
	}
	// No lock for end: only the appender changes it.
	_, err := s.activeFile.WriteAt(s.codec.encode(h, g.seq, g.end), g.end)
	if err == nil {
		_, err = s.activeFile.WriteAt(payload, g.end+recordHeaderLen)
	}
	unsynced := false
	if err == nil && s.opts.Sync == SyncAlways {
		err = s.syncAppend()
		unsynced = err != nil
	}
	if err == nil {
		s.index++
		s.before += uint32(records)
		return nil
	}
	if cut := s.activeFile.Truncate(g.end); cut != nil {
		s.grow(g, h.size())
		_ = s.seal()
	} else if unsynced || g.end == segmentHeaderLen {
		_ = s.seal()
	}
	return fmt.Errorf("spool: %w", err)
}

// syncAppend syncs for SyncAlways: the record and, once, the segment's name.
func (s *Spool) syncAppend() error {
	if err := s.activeFile.Sync(); err != nil {
		return err
	}
	if s.named {
		return nil
	}
	err := s.fs.SyncDir(s.dir)
	s.named = err == nil
	return err
}

// grow accounts for a torn record that could not be cut off.
func (s *Spool) grow(g *segment, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.size += bytes
	s.disk += bytes
}

// finish publishes the record, if it was written.
func (s *Spool) finish(g *segment, c count, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	if err != nil {
		return
	}
	g.size += c.bytes
	g.end += c.bytes
	g.unread.add(c)
	g.dirty = s.opts.Sync != SyncAlways
	s.pending.add(c)
	s.disk += c.bytes
	s.arm()
}

// seal ends the active segment: nothing more is appended to it. One without a record is
// removed. The caller holds appending.
func (s *Spool) seal() error {
	s.mu.Lock()
	g, f := s.active, s.activeFile
	if g == nil {
		s.mu.Unlock()
		return nil
	}
	s.active, s.activeFile, s.writing = nil, nil, false
	empty := g.end == segmentHeaderLen
	if empty {
		s.segments = s.segments[:len(s.segments)-1]
	}
	s.mu.Unlock()
	err := f.Close()
	if empty {
		s.remove(g)
	}
	return err
}
