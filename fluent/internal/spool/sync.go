package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Sync makes everything appended or done before the call survive a crash of the machine. It
// fails as long as a segment exists that could not be synced.
func (s *Spool) Sync() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if err := s.syncAll(); err != nil {
		return err
	}
	return s.syncError()
}

// syncAll syncs all changes since the last sync.
func (s *Spool) syncAll() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	s.mu.Lock()
	var dirty []*segment
	for _, g := range s.segments {
		if g.dirty {
			g.dirty = false
			dirty = append(dirty, g)
		}
	}
	dir, pos := s.dirDirty, s.dirtyPos
	s.dirDirty, s.dirtyPos = false, false
	s.mu.Unlock()

	var errs []error
	for _, g := range dirty {
		errs = append(errs, s.syncSegment(g))
	}
	if dir {
		if err := s.fs.SyncDir(s.dir); err != nil {
			errs = append(errs, err)
			s.again(&s.dirDirty)
		}
	}
	if pos {
		s.marking.Lock()
		err := s.progress.sync()
		s.marking.Unlock()
		if err != nil {
			errs = append(errs, err)
			s.again(&s.dirtyPos)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

func (s *Spool) again(flag *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = true
}

// syncSegment opens its own file: Append may close its file at any time. A missing file was
// done, or is lost if the segment is still needed.
func (s *Spool) syncSegment(g *segment) error {
	f, err := s.fs.Open(g.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.setSyncError(g, err)
	}
	if err != nil {
		s.again(&g.dirty)
		return err
	}
	defer f.Close()
	if err = f.Sync(); err != nil {
		return s.setSyncError(g, err)
	}
	return nil
}

// setSyncError records the sync error of g and returns it; nil if g was done meanwhile.
func (s *Spool) setSyncError(g *segment, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.segments, g) {
		return nil
	}
	g.syncErr = err
	return err
}

// syncError returns the error of a segment that could not be synced.
func (s *Spool) syncError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.segments {
		if g.syncErr != nil {
			return fmt.Errorf("spool: %s was not synced: %w", g.path, g.syncErr)
		}
	}
	return nil
}

// arm schedules a sync within the interval. The caller holds mu.
func (s *Spool) arm() {
	if s.opts.Sync <= 0 || s.timer != nil || s.closed {
		return
	}
	s.timing.Add(1)
	s.timer = time.AfterFunc(s.opts.Sync, s.syncInBackground)
}

func (s *Spool) syncInBackground() {
	defer s.timing.Done()
	s.mu.Lock()
	s.timer = nil
	s.mu.Unlock()
	if err := s.syncAll(); err != nil {
		s.opts.Report(err)
	}
}
