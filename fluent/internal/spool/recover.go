package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// Recovery describes the state that Open found.
type Recovery struct {
	Segments int
	Payloads int // to be returned by Next
	Records  int // in them
	Bytes    int64

	// Damaged or unreadable data: bytes in any case, the rest as far as headers show.
	DamagedPayloads int
	DamagedRecords  int
	DamagedBytes    int64
	// TornBytes were cut off the ends of segments: the remains of an Append that a crash
	// interrupted or, without SyncAlways, of unsynced data.
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

// Open creates the directory, without access for others, or opens an existing one. It reads
// every segment once to determine its contents: it takes the time of reading at most
// MaxBytes.
//
// Errors are ErrLocked, a *FormatError, and those of the file system, for example missing
// permissions. Damage is no error but part of Recovery.
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
		// Before any change: one of them may be of a newer version.
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

// wrap wraps err, except for the package's own errors.
func wrap(err error) error {
	var format *FormatError
	if err == nil || errors.As(err, &format) {
		return err
	}
	return fmt.Errorf("spool: %w", err)
}

// list returns the numbers of the segments. Names that only look like one also raise
// lastSeq, so that they are never overwritten.
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

// checkVersion refuses a newer format. A damaged or unreadable header does not imply damage
// of the records after it.
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

// adopt counts the contents of a segment and adds it to the list, or removes it if it is
// empty. buf is for payloads.
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

// scan reads the segment from an offset and cuts off data after its last valid record, so
// that a segment is done when that record is.
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
