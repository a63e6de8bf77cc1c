package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// refuse returns the error for a directory that can't be opened because it is damaged.
func refuse(format string, args ...any) error {
	return fmt.Errorf(format+"; nothing in it was changed: restore the directory from a copy, or see docs/embedded.md, \"A start that is refused\"", args...)
}

// maxTableBytes is the number of bytes of tables that are read at a start, newest tables
// first. Of the other tables only the footers and indexes are read; their blocks are checked
// when they are used.
const maxTableBytes = 512 << 20

// verification checks a directory before pebble may change it. It changes nothing itself.
type verification struct {
	fs   vfs.FS
	dir  string
	opts func(vfs.FS) *pebble.Options
	log  *slog.Logger

	known bool // facts have been recorded; a directory of format 1 has none
	facts facts
}

// verify returns the facts about a directory, or the reason why it must not be opened. For a
// directory of format 1, which has no recorded facts, it returns the facts that it finds.
func verify(version int, dir string, fs vfs.FS, opts func(vfs.FS) *pebble.Options, log *slog.Logger) (facts, error) {
	v := &verification{fs: fs, dir: dir, opts: opts, log: log, known: version >= formatIntegrity}
	if v.known {
		text, err := readWhole(fs, v.path(integrityFile))
		if err == nil {
			v.facts, err = decodeFacts(text)
		}
		switch {
		case errors.Is(err, os.ErrNotExist):
			return facts{}, refuse("the file %s is missing", v.path(integrityFile))
		case err != nil:
			return facts{}, refuse("%s is damaged (%v)", v.path(integrityFile), err)
		}
	}
	manifest, err := v.verifyManifest()
	if err != nil || manifest == 0 {
		return v.facts, err
	}
	return v.facts, v.verifyContents()
}

func (v *verification) path(name string) string { return v.fs.PathJoin(v.dir, name) }

// verifyManifest checks the manifest that pebble will read, and returns its number, or 0 if
// the directory was being created.
func (v *verification) verifyManifest() (number uint64, err error) {
	name, err := atomicfs.ReadMarker(v.fs, v.dir, "manifest")
	if err != nil {
		return 0, refuse("the names of its marker files make no sense (%v)", err)
	}
	if name == "" {
		held, err := holdsDatabase(v.dir, v.fs)
		switch {
		case err != nil:
			return 0, err
		case v.facts.current != 0, !v.known && held != "":
			return 0, refuse("the file %s, whose name states the current manifest, is missing", v.path("marker.manifest.*"))
		}
		return 0, nil
	}
	number, ok := numbered(v.fs, name, manifestPrefix, "")
	if !ok {
		return 0, refuse("the file %s names no manifest", v.path("marker.manifest.*."+name))
	}
	text, err := readWhole(v.fs, v.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return 0, refuse("the file %s is missing", v.path(name))
	}
	if err != nil {
		return 0, err
	}
	if !v.known {
		if offset, err := readRecords(text); err != nil {
			return 0, refuse("%s is damaged at byte %d of %d (%v)", v.path(name), offset, len(text), err)
		}
		state := manifestState{number, uint64(len(text)), crc32.Checksum(text, castagnoli)}
		v.facts = facts{current: number, manifests: []manifestState{state}}
		return number, nil
	}
	state := v.facts.manifest(number)
	switch {
	case state == nil || number < v.facts.current:
		return 0, refuse("the current manifest is %s, but %s was seen to follow it", v.path(name), fmt.Sprint(manifestPrefix, v.facts.current))
	case uint64(len(text)) < state.length:
		return 0, refuse("%s is damaged: it has %d bytes of %d", v.path(name), len(text), state.length)
	case crc32.Checksum(text[:state.length], castagnoli) != state.sum:
		return 0, refuse("%s is damaged: the checksum of its first %d bytes is wrong", v.path(name), state.length)
	}
	return number, nil
}

// readRecords reads a manifest to its end. If it fails, it returns the offset of the
// failure.
func readRecords(text []byte) (offset int64, err error) {
	records := record.NewReader(bytes.NewReader(text), 0)
	for {
		offset = records.Offset()
		r, err := records.Next()
		if err == io.EOF {
			return offset, nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return offset, err
		}
	}
}

// verifyContents opens the database read-only, which replays the logs in memory, and then
// checks the parts that pebble does not: the ends of the logs, and the tables.
func (v *verification) verifyContents() error {
	reading := &readOnly{FS: v.fs}
	if err := v.verifyOptions(); err != nil {
		return err
	}
	db, err := openPebble(v.dir, v.opts(reading))
	switch {
	case errors.Is(err, pebble.ErrDBNotPristine):
		return refuse("the file %s, whose name states the version of the database, is missing", v.path("marker.format-version.*"))
	case err != nil:
		return refuse("%w", err)
	}
	defer db.Close()
	return errors.Join(v.verifyLogs(reading.logs), v.verifyTables(db))
}

// verifyOptions checks the newest file of options, so that an error names it.
func (v *verification) verifyOptions() error {
	described, err := pebble.Peek(v.dir, v.fs)
	if err != nil || described.OptionsFilename == "" {
		return err
	}
	text, err := readWhole(v.fs, described.OptionsFilename)
	if err != nil {
		return err
	}
	options := v.opts(v.fs)
	options.EnsureDefaults()
	if err := options.CheckCompatibility(v.dir, string(text)); err != nil {
		return refuse("%s is damaged (%v)", described.OptionsFilename, err)
	}
	return nil
}

// verifyLogs compares the logs that pebble has replayed with their recorded synced lengths.
func (v *verification) verifyLogs(replayed map[uint64]bool) error {
	logs, err := wal.Scan(wal.Dir{FS: v.fs, Dirname: v.dir})
	if err != nil {
		return err
	}
	var found []logState
	for _, l := range logs {
		number := uint64(l.Num)
		state := logState{number: number}
		known := v.facts.log(number)
		if replayed[number] {
			end, err := logEnd(l)
			if err != nil {
				return err
			}
			if known != nil && !reaches(end, known.length) {
				return refuse("%s is damaged at byte %d: %d bytes of it were synced", v.logPath(number), end, known.length)
			}
			state.length = uint64(end)
			if err := v.reportTorn(number, end, known); err != nil {
				return err
			}
		}
		found = append(found, state)
	}
	for _, known := range v.facts.logs {
		if !slices.ContainsFunc(found, func(l logState) bool { return l.number == known.number }) {
			return refuse("the file %s is missing: %d bytes of it were synced", v.logPath(known.number), known.length)
		}
	}
	if !v.known {
		v.facts.logs = found
	}
	return nil
}

func (v *verification) logPath(number uint64) string {
	return v.path(fmt.Sprintf("%06d%s", number, logSuffix))
}

// The format of logs; see pebble's package record.
const (
	logBlock        = 32 << 10
	logHeader       = 19 // of a chunk, with the synced offset
	logTrailer      = 11 // the chunk that ends a closed log
	logTrailerKind  = 5
	firstLogKind    = 9
	lastLogKind     = 12
	logNumberOffset = 7
)

// logEnd returns the offset after the last readable record of a log.
func logEnd(l wal.LogicalLog) (int64, error) {
	r := l.OpenForRead()
	defer r.Close()
	for {
		_, offset, err := r.NextRecord()
		switch {
		case err == nil:
		case err == io.EOF || record.IsInvalidRecord(err):
			return offset.Physical, nil
		default:
			return 0, err
		}
	}
}

// reaches reports whether all records in the first synced bytes were read when reading ended
// at the offset end. After end there may be the trailer, or the rest of a block that is too
// short for a header.
func reaches(end int64, synced uint64) bool {
	if rest := logBlock - end%logBlock; rest < logHeader {
		end += rest
	}
	return end+logTrailer >= int64(synced)
}

// reportTorn logs the bytes in a log after its last record.
func (v *verification) reportTorn(number uint64, end int64, known *logState) error {
	text, err := readWhole(v.fs, v.logPath(number))
	if err != nil {
		return err
	}
	if rest := logBlock - end%logBlock; rest < logHeader {
		end += rest
	}
	tail := text[min(end, int64(len(text))):]
	torn := 0
	if known != nil && !known.recycled {
		torn = len(bytes.TrimRight(tail, "\x00"))
		if torn <= logTrailer && isTrailer(tail, number) {
			torn = 0
		}
	} else {
		torn = tornChunks(tail, end, number)
	}
	if torn > 0 {
		v.log.Warn("embedded store: the end of the log was not written completely and is discarded; it was not acknowledged as being on disk",
			slog.String("file", v.logPath(number)), slog.Int64("offset", end), slog.Int("bytes", torn))
	}
	return nil
}

// isTrailer reports whether tail is the trailer of a closed log.
func isTrailer(tail []byte, number uint64) bool {
	return len(tail) >= logTrailer && binary.LittleEndian.Uint32(tail) == 0 && binary.LittleEndian.Uint16(tail[4:]) == 0 &&
		tail[6] == logTrailerKind && binary.LittleEndian.Uint32(tail[logNumberOffset:]) == uint32(number)+1
}

// tornChunks returns the length of the chunks that follow the last record of a log. In a
// recycled file they are followed by the rest of the previous log.
func tornChunks(tail []byte, offset int64, number uint64) (n int) {
	for n+logHeader <= len(tail) {
		at := offset + int64(n)
		if rest := int(logBlock - at%logBlock); rest < logHeader {
			n += rest
			continue
		}
		header := tail[n:]
		kind := header[6]
		if kind < firstLogKind || kind > lastLogKind || binary.LittleEndian.Uint32(header[logNumberOffset:]) != uint32(number) {
			break
		}
		n += logHeader + int(binary.LittleEndian.Uint16(header[4:]))
	}
	return min(n, len(tail))
}

// verifyTables checks that the tables exist and, up to maxTableBytes, that they can be read
// completely.
func (v *verification) verifyTables(db *pebble.DB) error {
	levels, err := db.SSTables()
	if err != nil {
		return refuse("%w", err)
	}
	sizes := map[uint64]uint64{} // 0: unknown
	for _, level := range levels {
		for _, table := range level {
			size := table.Size
			if table.Virtual {
				size = 0
			}
			sizes[uint64(table.BackingSSTNum)] = size
		}
	}
	budget := int64(maxTableBytes)
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(sizes))) {
		name := v.path(fmt.Sprintf("%06d.sst", number))
		info, err := v.fs.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return refuse("the file %s is missing", name)
		case err != nil:
			return err
		case sizes[number] != 0 && info.Size() != int64(sizes[number]):
			return refuse("%s is damaged: it has %d bytes of %d", name, info.Size(), sizes[number])
		}
		budget -= info.Size()
		if err := v.verifyTable(name, db.TableFormat(), budget >= 0); err != nil {
			return refuse("%s is damaged (%v)", name, err)
		}
	}
	return nil
}

// verifyTable reads the footer and indexes of a table, and all blocks if blocks is set.
func (v *verification) verifyTable(name string, format sstable.TableFormat, blocks bool) error {
	file, err := v.fs.Open(name)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	options := v.opts(v.fs)
	options.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, options.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	defer r.Close()
	if found, err := r.TableFormat(); err != nil {
		return err
	} else if found != format {
		return fmt.Errorf("it has the format %v instead of %v", found, format)
	}
	if !blocks {
		return nil
	}
	return r.ValidateBlockChecksums()
}

// readOnly refuses all changes, and records which logs are read.
type readOnly struct {
	vfs.FS
	logs map[uint64]bool
}

var errReadOnly = errors.New("the directory is only being checked")

// Unwrap returns the file system below.
func (r *readOnly) Unwrap() vfs.FS { return r.FS }

// Open opens a file for reading.
func (r *readOnly) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if number, ok := numbered(r.FS, name, "", logSuffix); ok {
		if r.logs == nil {
			r.logs = map[uint64]bool{}
		}
		r.logs[number] = true
	}
	return r.FS.Open(name, opts...)
}

// Create is refused.
func (r *readOnly) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }

// ReuseForWrite is refused.
func (r *readOnly) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// OpenReadWrite is refused.
func (r *readOnly) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

// Link is refused.
func (r *readOnly) Link(string, string) error { return errReadOnly }

// Remove is refused.
func (r *readOnly) Remove(string) error { return errReadOnly }

// RemoveAll is refused.
func (r *readOnly) RemoveAll(string) error { return errReadOnly }

// Rename is refused.
func (r *readOnly) Rename(string, string) error { return errReadOnly }

// MkdirAll is refused.
func (r *readOnly) MkdirAll(string, os.FileMode) error { return errReadOnly }
