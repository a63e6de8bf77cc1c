package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// entry is a payload in the model. Its first four bytes are its number.
type entry struct {
	number  uint32
	size    int
	records int
	id      uint64
	taken   bool
	done    bool
	synced  bool
}

func (e *entry) payload() []byte {
	b := make([]byte, e.size)
	for i := range b {
		b[i] = byte(int(e.number)*31 + i)
	}
	binary.BigEndian.PutUint32(b, e.number)
	return b
}

// model is the spool as its promises describe it.
type model struct {
	t       *rapid.T
	fs      *memFS
	opts    Options
	spool   *Spool
	entries []*entry // all that may still be found, oldest first
	last    uint32
}

func (m *model) open() {
	opts := m.opts
	opts.fs = m.fs
	opts.Report = func(err error) { m.t.Fatalf("reported: %v", err) }
	s, rec, err := Open("/spool", opts)
	if err != nil {
		m.t.Fatal(err)
	}
	if rec.DamagedBytes != 0 && m.opts.Sync == SyncAlways {
		m.t.Fatalf("damaged: %+v", rec)
	}
	m.spool = s
}

// append, next, done, reopen, sync, fill and the crashes are the actions that rapid draws;
// check runs after each.
func (m *model) append(t *rapid.T) {
	m.last++
	e := &entry{number: m.last, size: rapid.IntRange(4, 700).Draw(t, "size"), records: rapid.IntRange(0, 9).Draw(t, "records")}
	err := m.spool.Append(e.payload(), e.records)
	switch {
	case err == nil:
		e.synced = m.opts.Sync == SyncAlways
		m.entries = append(m.entries, e)
	case errors.Is(err, ErrFull):
		if m.spool.DiskBytes()+recordHeaderLen+segmentHeaderLen+int64(e.size) <= m.opts.MaxBytes {
			t.Fatalf("full with %d bytes", m.spool.DiskBytes())
		}
	case !errors.Is(err, syscall.ENOSPC):
		t.Fatal(err)
	}
}

func (m *model) next(t *rapid.T) {
	id, payload, err := m.spool.Next()
	for _, e := range m.entries {
		if e.taken {
			continue
		}
		if err != nil {
			t.Fatalf("Next: %v; want payload %d", err, e.number)
		}
		if string(payload) != string(e.payload()) {
			t.Fatalf("Next: %x; want payload %d", payload, e.number)
		}
		e.id, e.taken = id, true
		return
	}
	if err != ErrEmpty {
		t.Fatalf("Next: %x, %v; want ErrEmpty", payload, err)
	}
}

func (m *model) done(t *rapid.T) {
	var out []*entry
	for _, e := range m.entries {
		if e.taken && !e.done {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return
	}
	e := out[rapid.IntRange(0, len(out)-1).Draw(t, "which")]
	m.spool.Done(e.id)
	m.spool.Done(e.id) // has no effect
	e.done = true
}

// pendingFrom is the index of the oldest entry that isn't done.
func (m *model) pendingFrom() int {
	for i, e := range m.entries {
		if !e.done {
			return i
		}
	}
	return len(m.entries)
}

// recover opens the remaining files and compares them. first is the index of the oldest
// entry that may be found, needs reports which must be. maybe is one that Append did not
// accept.
func (m *model) recover(first int, needs func(*entry) bool, maybe *entry) {
	m.open()
	candidates := m.entries[first:]
	if maybe != nil {
		candidates = append(candidates[:len(candidates):len(candidates)], maybe)
	}
	var found []*entry
	records := 0
	for {
		_, payload, err := m.spool.Next()
		if err == ErrEmpty {
			break
		}
		if err != nil {
			m.t.Fatal(err)
		}
		number := binary.BigEndian.Uint32(payload)
		for len(candidates) > 0 && candidates[0].number != number {
			if needs(candidates[0]) {
				m.t.Fatalf("payload %d is lost", candidates[0].number)
			}
			candidates = candidates[1:]
		}
		if len(candidates) == 0 || string(candidates[0].payload()) != string(payload) {
			m.t.Fatalf("payload %d was found but never appended", number)
		}
		found = append(found, &entry{number: number, size: len(payload), records: candidates[0].records, synced: true})
		records += candidates[0].records
		candidates = candidates[1:]
	}
	for _, e := range candidates {
		if needs(e) {
			m.t.Fatalf("payload %d is lost", e.number)
		}
	}
	if p, r, _ := m.spool.Len(); p != len(found) || r != records {
		m.t.Fatalf("Len: %d payloads, %d records; found %d and %d", p, r, len(found), records)
	}
	m.entries = found
	// The payloads read for the comparison are returned again, as after another crash of the
	// process.
	m.fs = m.fs.crash(false, nil)
	m.open()
}

func (m *model) reopen(*rapid.T) {
	if err := m.spool.Close(); err != nil {
		m.t.Fatal(err)
	}
	if len(m.fs.locked) != 0 {
		m.t.Fatal("Close left the lock")
	}
	m.exact()
}

// exact: only a crash of the machine loses anything or returns payloads again that are
// before the oldest one that isn't done.
func (m *model) exact() {
	first := m.pendingFrom()
	m.recover(first, func(*entry) bool { return true }, nil)
}

func (m *model) crashProcess(*rapid.T) {
	m.fs = m.fs.crash(false, nil)
	m.exact()
}

func (m *model) crashMachine(t *rapid.T) {
	m.fs = m.fs.crash(true, chooser(t))
	m.recover(0, func(e *entry) bool { return e.synced && !e.done }, nil)
}

// crashAmid turns the power off within one of the next calls.
func (m *model) crashAmid(t *rapid.T) {
	m.fs.opsLeft = rapid.IntRange(1, 12).Draw(t, "ops")
	first := m.pendingFrom()
	var maybe *entry
	m.spool.opts.Report = func(error) {} // progress can't be kept any more
	for range 12 {
		switch rapid.IntRange(0, 3).Draw(t, "call") {
		case 0:
			m.last++
			e := &entry{number: m.last, size: 100, records: 1}
			err := m.spool.Append(e.payload(), 1)
			if err == nil {
				e.synced = m.opts.Sync == SyncAlways
				m.entries = append(m.entries, e)
			} else if errors.Is(err, errDead) && maybe == nil {
				maybe = e
			}
		case 1:
			m.next(t)
		case 2:
			m.done(t)
		case 3:
			m.sync()
		}
	}
	machine := rapid.Bool().Draw(t, "machine")
	m.fs = m.fs.crash(machine, chooser(t))
	needs := func(e *entry) bool { return !e.done && e != maybe }
	if machine {
		first = 0
		needs = func(e *entry) bool { return e.synced && !e.done }
	}
	m.recover(first, needs, maybe)
}

func (m *model) sync() {
	if m.spool.Sync() == nil {
		for _, e := range m.entries {
			e.synced = true
		}
	}
}

func chooser(t *rapid.T) func(int) int {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
}

func (m *model) fill(t *rapid.T) {
	m.fs.room = int64(rapid.IntRange(0, 900).Draw(t, "room"))
}

func (m *model) check(t *rapid.T) {
	var want count
	for _, e := range m.entries {
		if !e.done {
			want.add(count{1, e.records, int64(e.size) + recordHeaderLen})
		}
	}
	payloads, records, bytes := m.spool.Len()
	if got := (count{payloads, records, bytes}); got != want {
		t.Fatalf("Len: %+v; want %+v", got, want)
	}
	var disk int64
	for _, f := range m.fs.files {
		disk += int64(len(f.data))
	}
	if disk > m.opts.MaxBytes || disk > m.spool.DiskBytes() {
		t.Fatalf("%d bytes on disk, DiskBytes returned %d, the bound is %d", disk, m.spool.DiskBytes(), m.opts.MaxBytes)
	}
	if want == (count{}) && len(m.fs.files) > 1 {
		t.Fatalf("all is done, and there are %d files", len(m.fs.files))
	}
}

func TestModel(t *testing.T) {
	for _, sync := range []time.Duration{SyncAlways, SyncNever, time.Hour} {
		t.Run(fmt.Sprint(sync), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &model{t: t, fs: newMemFS(), opts: Options{
					MaxBytes: int64(rapid.SampledFrom([]int{4 << 10, 16 << 10, 1 << 20}).Draw(t, "max")), Sync: sync,
				}}
				m.open()
				t.Repeat(map[string]func(*rapid.T){
					"append":        m.append,
					"append2":       m.append,
					"append3":       m.append,
					"next":          m.next,
					"next2":         m.next,
					"done":          m.done,
					"done2":         m.done,
					"sync":          func(*rapid.T) { m.sync() },
					"reopen":        m.reopen,
					"crash process": m.crashProcess,
					"crash machine": m.crashMachine,
					"crash amid":    m.crashAmid,
					"fill disk":     m.fill,
					"free disk":     func(*rapid.T) { m.fs.room = 1 << 40 },
					"":              m.check,
				})
				m.spool.Close()
			})
		})
	}
}
