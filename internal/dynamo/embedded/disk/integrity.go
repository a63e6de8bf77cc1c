package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// integrityFile records the expected files of the directory for the next start. Without it,
// pebble treats a manifest or log with a damaged end as one whose last write was
// interrupted: it drops the rest, and removes the tables that are then in no manifest.
//
// The file has three pages, each with a checksum. The first two have the same content: the
// length and checksum of each manifest at its last sync. Both are written and synced before
// the sync of the manifest returns to pebble, and so before pebble removes files that the
// manifest no longer names. The third page has the synced length of each log. It is written
// after each sync of a log but not synced itself, since that would double the cost of a
// write. It survives a crash of the process; after a crash of the machine it may record less
// than was synced, but never more. The record of a log is deleted, and the deletion synced,
// before the log is removed.
const integrityFile = "INTEGRITY"

const (
	integrityPage  = 4096
	integrityPages = 3
	logPage        = 2
	// The maximum number of entries in a page. pebble has only a few manifests and logs at
	// any time.
	maxManifests = 100
	maxLogs      = 200
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// manifestState is the part of a manifest that is recorded as synced.
type manifestState struct {
	number, length uint64
	sum            uint32
}

// logState is the part of a log that is recorded as synced. The file of a recycled log held
// another log before, the rest of which may follow.
type logState struct {
	number, length uint64
	recycled       bool
}

// facts are the contents of the file.
type facts struct {
	// current is the manifest that pebble's marker is recorded to name; 0 in a directory
	// whose first manifest is being created. The marker may already name a later one of
	// manifests.
	current   uint64
	manifests []manifestState
	logs      []logState
}

func (f *facts) manifest(number uint64) *manifestState {
	i := slices.IndexFunc(f.manifests, func(m manifestState) bool { return m.number == number })
	if i < 0 {
		return nil
	}
	return &f.manifests[i]
}

func (f *facts) log(number uint64) *logState {
	i := slices.IndexFunc(f.logs, func(l logState) bool { return l.number == number })
	if i < 0 {
		return nil
	}
	return &f.logs[i]
}

// integrity writes the facts as they change.
type integrity struct {
	file vfs.File
	// persist repeats a write while the disk is full.
	persist func(func() error) error

	manifestsMu sync.Mutex
	logsMu      sync.Mutex
	facts       facts // manifestsMu guards current and manifests, logsMu guards logs

	manifestsPage, logsPage [integrityPage]byte // guarded like their contents
}

// createIntegrity creates a file with the facts atomically.
func createIntegrity(fs vfs.FS, dir string, f facts) error {
	i := &integrity{facts: f}
	text := make([]byte, integrityPages*integrityPage)
	copy(text, i.encodeManifests())
	copy(text[integrityPage:], i.encodeManifests())
	copy(text[logPage*integrityPage:], i.encodeLogs())
	return replaceFile(fs, dir, integrityFile, text)
}

// openIntegrity opens the file, which must already hold the facts.
func openIntegrity(fs vfs.FS, dir string, f facts, persist func(func() error) error) (*integrity, error) {
	file, err := fs.OpenReadWrite(fs.PathJoin(dir, integrityFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &integrity{file: file, persist: persist, facts: f}, nil
}

func (i *integrity) close() error { return i.file.Close() }

// manifestSynced records that a manifest is synced. It returns once the record is on disk.
func (i *integrity) manifestSynced(m manifestState) error {
	i.manifestsMu.Lock()
	defer i.manifestsMu.Unlock()
	if known := i.facts.manifest(m.number); known != nil {
		*known = m
	} else {
		i.facts.manifests = append(i.facts.manifests, m)
		i.facts.manifests = i.facts.manifests[max(0, len(i.facts.manifests)-maxManifests):]
	}
	return i.writeManifests()
}

// manifestCurrent records that pebble's marker names the manifest.
func (i *integrity) manifestCurrent(number uint64) error {
	i.manifestsMu.Lock()
	defer i.manifestsMu.Unlock()
	i.facts.current = number
	i.facts.manifests = slices.DeleteFunc(i.facts.manifests, func(m manifestState) bool { return m.number != number })
	return i.writeManifests()
}

// writeManifests writes and syncs one page before the other, so that one of them is always
// valid.
func (i *integrity) writeManifests() error {
	page := i.encodeManifests()
	for n := range int64(2) {
		if err := i.write(page, n); err != nil {
			return err
		}
		if err := i.file.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// logSynced records that length bytes of a log are synced.
func (i *integrity) logSynced(l logState) error {
	i.logsMu.Lock()
	defer i.logsMu.Unlock()
	if known := i.facts.log(l.number); known != nil {
		*known = l
	} else {
		i.facts.logs = append(i.facts.logs, l)
		i.facts.logs = i.facts.logs[max(0, len(i.facts.logs)-maxLogs):]
	}
	return i.write(i.encodeLogs(), logPage)
}

// logRemoved deletes the record of a log that is about to be removed. It returns once the
// deletion is on disk.
func (i *integrity) logRemoved(number uint64) error {
	i.logsMu.Lock()
	defer i.logsMu.Unlock()
	if i.facts.log(number) == nil {
		return nil
	}
	i.facts.logs = slices.DeleteFunc(i.facts.logs, func(l logState) bool { return l.number == number })
	if err := i.write(i.encodeLogs(), logPage); err != nil {
		return err
	}
	return i.file.Sync()
}

func (i *integrity) write(page []byte, n int64) error {
	return i.persist(func() error {
		_, err := i.file.WriteAt(page, n*integrityPage)
		return err
	})
}

// A page is the checksum of the rest, the length of the entries, and the entries. Bytes
// after them have no meaning.
const pageHeader = 8

// seal sets the header of a page.
func seal(page []byte) []byte {
	binary.LittleEndian.PutUint32(page[4:], uint32(len(page)-pageHeader))
	binary.LittleEndian.PutUint32(page, crc32.Checksum(page[4:], castagnoli))
	return page
}

func (i *integrity) encodeManifests() []byte {
	page := binary.LittleEndian.AppendUint64(i.manifestsPage[:pageHeader], i.facts.current)
	for _, m := range i.facts.manifests {
		page = binary.LittleEndian.AppendUint64(page, m.number)
		page = binary.LittleEndian.AppendUint64(page, m.length)
		page = binary.LittleEndian.AppendUint32(page, m.sum)
	}
	return seal(page)
}

// recycledBit marks the length of a recycled log.
const recycledBit = 1 << 63

func (i *integrity) encodeLogs() []byte {
	page := i.logsPage[:pageHeader]
	for _, l := range i.facts.logs {
		length := l.length
		if l.recycled {
			length |= recycledBit
		}
		page = binary.LittleEndian.AppendUint64(page, l.number)
		page = binary.LittleEndian.AppendUint64(page, length)
	}
	return seal(page)
}

// errUnreadable is returned for a page that can't be read.
var errUnreadable = errors.New("its checksum is wrong")

// unseal returns the entries of a page, or errUnreadable.
func unseal(page []byte) ([]byte, error) {
	if len(page) < pageHeader {
		return nil, errUnreadable
	}
	n := binary.LittleEndian.Uint32(page[4:])
	if int64(n) > int64(len(page)-pageHeader) || crc32.Checksum(page[4:pageHeader+n], castagnoli) != binary.LittleEndian.Uint32(page) {
		return nil, errUnreadable
	}
	return page[pageHeader : pageHeader+n], nil
}

// decodeFacts decodes the file. One valid page is enough for the manifests. If the page of
// the logs is invalid, no facts about logs are returned.
func decodeFacts(text []byte) (f facts, err error) {
	if len(text) < integrityPages*integrityPage {
		return f, fmt.Errorf("it has %d bytes instead of %d", len(text), integrityPages*integrityPage)
	}
	manifests, err := unseal(text[:integrityPage])
	if err != nil {
		manifests, err = unseal(text[integrityPage : 2*integrityPage])
	}
	if err != nil || len(manifests) < 8 || (len(manifests)-8)%20 != 0 {
		return f, errUnreadable
	}
	f.current = binary.LittleEndian.Uint64(manifests)
	for m := range slices.Chunk(manifests[8:], 20) {
		f.manifests = append(f.manifests, manifestState{binary.LittleEndian.Uint64(m), binary.LittleEndian.Uint64(m[8:]), binary.LittleEndian.Uint32(m[16:])})
	}
	logs, err := unseal(text[logPage*integrityPage:])
	if err != nil || len(logs)%16 != 0 {
		return f, nil
	}
	for l := range slices.Chunk(logs, 16) {
		length := binary.LittleEndian.Uint64(l[8:])
		f.logs = append(f.logs, logState{binary.LittleEndian.Uint64(l), length &^ recycledBit, length&recycledBit != 0})
	}
	return f, nil
}
