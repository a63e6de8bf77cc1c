package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Recovery is what Open found.
type Recovery struct {
	Segments int
	Payloads int // that Next will give
	Records  int // in them
	Bytes    int64

	// What was damaged or could not be read, bytes in any case and the rest as
	// headers tell.
	DamagedPayloads int
	DamagedRecords  int
	DamagedBytes    int64
	// TornBytes were cut off the ends of segments: what a crash left of an
	// Append that hadn't returned or, without SyncAlways, of what wasn't synced.
	TornBytes int64
}

func (r Recovery) String() string {
	s := fmt.Sprintf("%d records in %d payloads, %d bytes", r.Records, r.Payloads, r.Bytes)
	if r.DamagedBytes > 0 {
		s += fmt.Sprintf("; damaged: %d bytes, at least %d payloads with %d records",
			r.DamagedBytes, r.DamagedPayloads, r.DamagedRecords)
	}
	if r.TornBytes > 0 {
		s += fmt.Sprintf("; %d bytes cut off torn ends", r.TornBytes)
	}
	return s
}

// Open makes the directory, with no access for others, or takes over what is
// in it. It reads every segment once to tell what is left of it: its time is
// that of reading at most MaxBytes.
//
// Errors are ErrLocked, a *FormatError, and those of the file system, such as
// missing permissions. Damage is no error but part of Recovery.
func Open(dir string, options Options) (*Spool, Recovery, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, Recovery{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, Recovery{}, fmt.Errorf("spool: %w", err)
	}
	s := &Spool{dir: dir, fs: options.fs, opts: options, disk: progressSize}
	if err := s.fs.MkdirAll(dir); err != nil {
		return nil, Recovery{}, fmt.Errorf("spool: %w", err)
	}
	s.lock, err = s.fs.Lock(s.join(lockName))
	if errors.Is(err, ErrLocked) {
		return nil, Recovery{}, fmt.Errorf("%w: %s", ErrLocked, dir)
	}
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("spool: %w", err)
	}
	rec, err := s.recover()
	if err != nil {
		s.progress.close()
		s.lock.Close()
		return nil, Recovery{}, err
	}
	return s, rec, nil
}

func (s *Spool) recover() (rec Recovery, err error) {
	s.progress.path = s.join(progressName)
	s.marked, err = s.progress.load(s.fs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rec, wrap(err)
	}
	s.cursor, s.lastSeq = s.marked, s.marked.seq
	s.progress.reserve(s.fs)
	s.dirDirty = true
	found, err := s.list()
	if err != nil {
		return rec, wrap(err)
	}
	for _, seq := range found {
		// Before anything is changed: a newer version may be among them.
		if err := s.checkVersion(s.join(segmentName(seq))); err != nil {
			return rec, wrap(err)
		}
	}
	var buf []byte
	for _, seq := range found {
		if buf, err = s.adopt(seq, buf, &rec); err != nil {
			return rec, wrap(err)
		}
	}
	return rec, nil
}

// wrap leaves the package's own errors as they are.
func wrap(err error) error {
	var format *FormatError
	if err == nil || errors.As(err, &format) {
		return err
	}
	return fmt.Errorf("spool: %w", err)
}

// list returns the numbers of the segments. A name that only looks like one
// counts for what follows too, so that it is never written over.
func (s *Spool) list() ([]uint64, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var found []uint64
	for _, e := range entries {
		seq, ok := parseSegmentName(e.Name())
		if !ok {
			continue
		}
		s.lastSeq = max(s.lastSeq, seq)
		if e.Type().IsRegular() {
			found = append(found, seq)
		}
	}
	slices.Sort(found)
	return found, nil
}

// checkVersion refuses a newer format. A header that is damaged, or can't be
// read, doesn't speak against the records behind it.
func (s *Spool) checkVersion(path string) error {
	f, err := s.fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [segmentHeaderLen]byte
	if readFull(f, head[:], 0) != nil {
		return nil
	}
	if version, ok := parseSegmentHeader(head[:]); ok && version > formatVersion {
		return &FormatError{Path: path, Found: version, Known: formatVersion}
	}
	return nil
}

// adopt counts what a segment has and adds it to the list, or removes it if
// that is nothing. buf is for payloads.
func (s *Spool) adopt(seq uint64, buf []byte, rec *Recovery) ([]byte, error) {
	path := s.join(segmentName(seq))
	f, err := s.fs.Open(path)
	if err != nil {
		return buf, err
	}
	size, err := f.Size()
	if err != nil {
		f.Close()
		return buf, err
	}
	g := &segment{seq: seq, path: path, size: size, end: size, dirty: true}
	from := int64(segmentHeaderLen)
	if seq < s.marked.seq {
		from = size
	} else if seq == s.marked.seq {
		from = max(from, s.marked.off)
	}
	buf, lost := s.scan(f, g, from, rec, buf)
	f.Close()
	s.disk += g.size
	if from >= size || g.unread.payloads == 0 && lost.err == nil {
		s.remove(g)
		return buf, nil
	}
	s.segments = append(s.segments, g)
	s.pending.add(g.unread)
	rec.Segments++
	rec.Payloads += g.unread.payloads
	rec.Records += g.unread.records
	rec.Bytes += g.unread.bytes
	return buf, nil
}

// scan reads the segment from there on and cuts off what follows its last good
// record, so that a segment is done when that record is.
func (s *Spool) scan(f file, g *segment, from int64, rec *Recovery, buf []byte) ([]byte, loss) {
	if from > g.size {
		if from == segmentHeaderLen {
			rec.TornBytes += g.size
		}
		return buf, loss{}
	}
	r := newSegmentReader(f, g.seq, from, g.size)
	good := from
	for {
		_, h, payload, err := r.next(buf)
		if err == io.EOF {
			break
		}
		buf, good = payload, r.off
		g.unread.add(count{1, int(h.records), h.size()})
	}
	lost := r.lost
	if lost.err == nil && good < g.size {
		torn := g.size - r.tail
		lost.bytes -= torn
		rec.TornBytes += torn
		g.end = good
		if f.Truncate(good) == nil {
			g.size = good
		}
	}
	rec.DamagedPayloads += lost.payloads
	rec.DamagedRecords += lost.records
	rec.DamagedBytes += lost.bytes
	return buf, lost
}
