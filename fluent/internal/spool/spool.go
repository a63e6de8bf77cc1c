package spool

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// segment is one file. Its fields are guarded by Spool.mu; the file of the active segment is
// used by the appender.
type segment struct {
	seq  uint64
	path string
	size int64 // size counted against the bound
	end  int64 // end of the last complete record; readers stop here

	// The contents to be returned by Next: as found by Open, and appended since.
	unread count

	dirty   bool  // written to since the last sync
	syncErr error // sync error; the segment is no longer written
}

type count struct {
	payloads int
	records  int
	bytes    int64 // of payloads with their headers
}

func (c *count) add(d count) {
	c.payloads += d.payloads
	c.records += d.records
	c.bytes += d.bytes
}

func (c *count) sub(d count) {
	c.payloads -= d.payloads
	c.records -= d.records
	c.bytes -= d.bytes
}

// taken is a payload between Next and Done.
type taken struct {
	at    position // position before it
	count count
	done  bool
}

// Spool is an open directory. See the package documentation.
//
// Order of locks: appending, reading, syncing, marking, mu. No file is used under mu, and
// Options.Report is called without locks.
type Spool struct {
	dir  string
	fs   fsys
	opts Options
	lock io.Closer

	// appending is held by Append: one payload is written at a time.
	appending  sync.Mutex
	activeFile file // of active; also set under mu, and by Done while writing is false
	codec      headerCodec
	index      uint32 // payloads in active
	before     uint32 // records in active
	named      bool   // with SyncAlways: active's name is synced

	// reading is held by Next: one payload is read at a time.
	reading  sync.Mutex
	readFile file           // of reader; nil at a segment's end
	reader   *segmentReader // of the segment at cursor; nil before the first

	// marking is held while progress is written and segments are removed.
	marking  sync.Mutex
	progress progress
	marked   position // the position in progress
	ended    bool     // the files are closed

	// syncing is held while files are synced.
	syncing sync.Mutex

	mu       sync.Mutex
	segments []*segment // by seq; all with unread or taken payloads
	toRemove []*segment // done, but could not be removed yet
	active   *segment   // the last of segments, if Append writes to it
	writing  bool       // Append is writing to active, which may not be removed
	lastSeq  uint64     // the highest number ever used here
	cursor   position   // of the next payload
	ring     []taken    // in the order of Next
	first    int        // index in ring of the first payload that isn't done
	firstID  uint64     // of ring[first]
	pending  count      // not done
	disk     int64      // bytes of all files
	dirDirty bool       // names were created since the last sync
	dirtyPos bool       // progress was written since the last sync
	lost     count      // since Open
	closed   bool
	timer    *time.Timer // runs if a background sync is due
	timing   sync.WaitGroup
}

// Len returns the number of payloads that aren't done, their records and their size on disk.
func (s *Spool) Len() (payloads, records int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.payloads, s.pending.records, s.pending.bytes
}

// Lost returns the data that could not be read since Open, as far as it is known.
func (s *Spool) Lost() (payloads, records int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost.payloads, s.lost.records, s.lost.bytes
}

// Close syncs, except with SyncNever, and releases the directory. Payloads that were taken
// but not done are kept on disk. A second call does nothing.
func (s *Spool) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.timer != nil && s.timer.Stop() {
		s.timing.Done()
	}
	s.timer = nil
	s.mu.Unlock()
	s.timing.Wait()

	var errs []error
	s.appending.Lock()
	defer s.appending.Unlock()
	errs = append(errs, s.seal())
	s.reading.Lock()
	defer s.reading.Unlock()
	s.closeRead()
	errs = append(errs, s.keep())
	if s.opts.Sync != SyncNever {
		errs = append(errs, s.syncAll(), s.syncError())
	}
	s.marking.Lock()
	defer s.marking.Unlock()
	s.ended = true
	errs = append(errs, s.progress.close(), s.lock.Close())
	return errors.Join(errs...)
}

func (s *Spool) join(name string) string { return filepath.Join(s.dir, name) }

// find returns the index of the first segment that isn't before seq. The caller holds mu.
func (s *Spool) find(seq uint64) int {
	i, _ := slices.BinarySearchFunc(s.segments, seq, func(g *segment, seq uint64) int {
		return cmp.Compare(g.seq, seq)
	})
	return i
}
