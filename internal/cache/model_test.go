//go:build !kasokubroken

package cache

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// model is a naive model of the cache: it lists every event of every tag, and has no
// generations and no counters.
type model struct {
	now     time.Duration
	settle  time.Duration
	lease   time.Duration // its end
	strong  time.Duration // fills are strong until then
	cold    time.Duration // nothing is stored until then
	emptied int           // the event at which the cache was emptied
	tags    map[string]*modelTag
	entries map[string]modelEntry
	events  int // so far, to order them
}

type modelTag struct {
	open       []*modelWrite
	quarantine time.Duration // its end
	moved      []modelMove
}

type modelMove struct {
	event int
	at    time.Duration
}

type modelEntry struct {
	value        string
	attached     string // its variant
	tags         []string
	read         int // the event after which nothing may have moved
	fresh, stale time.Duration
}

// modelWrite is a write in flight, with the write or the hold that it models.
type modelWrite struct {
	real       *Write
	held       *Hold
	tags       []string
	watch      []string
	begun      int
	overlapped map[string]bool // its tags on which it was not alone
}

// modelFill is a fill between its note and its store.
type modelFill struct {
	stamp   Stamp
	key     string
	tags    []string
	read    int
	settled bool
}

func (m *model) move(tag string, quarantine time.Duration) {
	m.events++
	t := m.tags[tag]
	t.moved = append(t.moved, modelMove{m.events, m.now})
	if quarantine > 0 {
		t.quarantine = max(t.quarantine, m.now+quarantine)
	}
}

func (m *model) movedSince(event int, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(m.tags[name].moved, func(v modelMove) bool { return v.event > event })
	})
}

// stores reports whether answers of fills and writes that begin now may be stored.
func (m *model) stores() bool { return m.now < m.lease && m.now >= m.cold }

func (m *model) note(names []string) (settled, strong bool) {
	settled = m.stores()
	strong = !settled || m.now < m.settle || m.now < m.strong
	for _, name := range names {
		t := m.tags[name]
		if len(t.open) > 0 || t.quarantine >= m.now && t.quarantine > 0 {
			settled, strong = false, true
		}
		// The margin of a millisecond is the resolution of generations.
		if m.now < m.settle+time.Millisecond || t.quarantine > 0 && m.now < t.quarantine+m.settle+2*time.Millisecond {
			strong = true
		}
		for _, v := range t.moved {
			strong = strong || m.now <= v.at+m.settle
		}
	}
	return settled, strong
}

func (m *model) store(key, value string, names []string, read int, ttl, stale time.Duration) {
	m.entries[key] = modelEntry{
		value: value, tags: names, read: read,
		fresh: m.now + ttl, stale: m.now + ttl + stale,
	}
}

func (m *model) lookup(key string) (string, Found) {
	e, ok := m.entries[key]
	switch {
	case m.now >= m.lease:
		return "", Unleased
	case !ok:
		return "", Absent
	case m.movedSince(e.read, e.tags):
		return "", Invalidated
	case m.now < e.fresh:
		return e.value, Fresh
	case m.now < e.stale:
		return e.value, Stale
	}
	return "", Expired
}

func (m *model) begin(w *modelWrite) {
	w.overlapped = make(map[string]bool)
	m.events++
	w.begun = m.events
	for _, name := range slices.Concat(w.tags, w.watch) {
		t := m.tags[name]
		w.overlapped[name] = len(t.open) > 0 || t.quarantine >= m.now && t.quarantine > 0 || !m.stores()
	}
	m.open(w, w.tags)
	w.begun = m.events
}

// open adds w to the writes in flight of tags.
func (m *model) open(w *modelWrite, names []string) {
	for _, name := range names {
		t := m.tags[name]
		for _, other := range t.open {
			other.overlapped[name] = true
		}
		t.open = append(t.open, w)
		m.move(name, 0)
	}
}

// end returns the tags of the write that allow a put.
func (m *model) end(w *modelWrite, more []string, quarantine time.Duration) (alone map[string]bool) {
	alone = make(map[string]bool)
	for _, name := range slices.Concat(w.tags, w.watch) {
		alone[name] = !w.overlapped[name] && !m.movedSince(w.begun, []string{name}) && m.emptied < w.begun
	}
	for _, name := range more {
		if !slices.Contains(w.tags, name) {
			alone[name] = false // moved by a tag known only from the answer
		}
		m.move(name, quarantine)
	}
	for _, name := range w.tags {
		m.move(name, quarantine)
		t := m.tags[name]
		t.open = slices.DeleteFunc(t.open, func(o *modelWrite) bool { return o == w })
	}
	return alone
}

// machine runs the cache and the model side by side.
type machine struct {
	*model
	c      *Cache
	s      *Space
	fills  []*modelFill
	writes []*modelWrite
	holds  []*modelWrite
	seen   []*Entry // entries returned by look-ups
	alone  *alone   // the coordinator; nil without one
	serial int
}

var (
	modelTags = []string{"a", "b", "c", "d", "table"}
	modelKeys = []string{"k1", "k2", "k3"}
)

func someTags(t *rapid.T, label string, minimum int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(modelTags), minimum, 3, rapid.ID[string]).Draw(t, label)
}

func (m *machine) fresh() (value string, ttl, stale time.Duration) {
	m.serial++
	return fmt.Sprint(m.serial), 20 * time.Second, 5 * time.Second
}

// alone is the coordinator of the only member of a cluster.
type alone struct{ refuse bool }

var errAlone = errors.New("the coordinator refuses")

func (*alone) Broadcast(context.Context, []byte) error { return nil }

func (a *alone) Begin(context.Context, []Tag, []Tag) (Round, error) {
	if a.refuse {
		return nil, errAlone
	}
	return a, nil
}

func (a *alone) Extend(context.Context, []Tag) error {
	if a.refuse {
		return errAlone
	}
	return nil
}

func (*alone) Sendable() bool { return true }
func (*alone) Commit()        {}
func (*alone) Unknown([]Tag)  {}

// take removes one of list, or skips the action if there is none.
func take[T any](t *rapid.T, list *[]T) T {
	if len(*list) == 0 {
		t.Skip("none")
	}
	i := rapid.IntRange(0, len(*list)-1).Draw(t, "which")
	x := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return x
}

func (m *machine) Pass(t *rapid.T) {
	ms := rapid.SampledFrom([]int{1, 10, 999, 1000, 4999, 5000, 5001, 29999, 30000, 30001}).Draw(t, "ms")
	d := time.Duration(ms) * time.Millisecond
	pass(d)
	m.now += d
}

func (m *machine) Note(t *rapid.T) {
	f := &modelFill{key: rapid.SampledFrom(modelKeys).Draw(t, "key"), tags: someTags(t, "tags", 0), read: m.events}
	f.stamp = m.c.Note(tags(f.tags...)...)
	settled, strong := m.note(f.tags)
	f.settled = settled
	if f.stamp.Settled != settled || f.stamp.Strong != strong {
		t.Fatalf("note: settled %v, strong %v; want %v, %v", f.stamp.Settled, f.stamp.Strong, settled, strong)
	}
	m.fills = append(m.fills, f)
}

func (m *machine) Store(t *rapid.T) {
	f := take(t, &m.fills)
	v, ttl, stale := m.fresh()
	_, stored := m.s.Store(f.stamp, []byte(f.key), &Filling{Payload: []byte(v), TTL: ttl, Stale: stale})
	want := f.settled && !m.movedSince(f.read, f.tags) && m.emptied <= f.read
	if stored != want {
		t.Fatalf("stored %v; want %v", stored, want)
	}
	if stored {
		m.store(f.key, v, f.tags, f.read, ttl, stale)
	}
}

func (m *machine) Begin(t *rapid.T) {
	w := &modelWrite{tags: someTags(t, "tags", 1)}
	for _, name := range someTags(t, "watch", 0) {
		if !slices.Contains(w.tags, name) {
			w.watch = append(w.watch, name)
		}
	}
	m.begin(w)
	if m.refuses(t) {
		if _, err := m.c.Begin(context.Background(), tags(w.tags...), tags(w.watch...)); !errors.Is(err, errAlone) {
			t.Fatalf("refused by the coordinator: got error %v", err)
		}
		m.end(w, nil, 0)
		return
	}
	w.real = begin(m.c, tags(w.tags...), tags(w.watch...))
	m.writes = append(m.writes, w)
}

// refuses makes the coordinator refuse the next call, or not, and reports it.
func (m *machine) refuses(t *rapid.T) bool {
	if m.alone == nil {
		return false
	}
	m.alone.refuse = rapid.IntRange(0, 3).Draw(t, "refuse") == 0
	return m.alone.refuse
}

// Hold begins a write of another member.
func (m *machine) Hold(t *rapid.T) {
	w := &modelWrite{tags: someTags(t, "tags", 1), overlapped: make(map[string]bool)}
	w.held = m.c.Hold(tags(w.tags...))
	m.open(w, w.tags)
	m.holds = append(m.holds, w)
}

// ExtendHold adds tags to a write of another member.
func (m *machine) ExtendHold(t *rapid.T) {
	w := take(t, &m.holds)
	m.holds = append(m.holds, w)
	more := someTags(t, "more", 0)
	w.held.Extend(tags(more...))
	more = slices.DeleteFunc(more, func(name string) bool { return slices.Contains(w.tags, name) })
	m.open(w, more)
	w.tags = append(w.tags, more...)
}

// Release ends a write of another member.
func (m *machine) Release(t *rapid.T) {
	w := take(t, &m.holds)
	w.held.Release()
	m.end(w, nil, 0)
}

// QuarantineHold ends a write of another member whose outcome is unknown.
func (m *machine) QuarantineHold(t *rapid.T) {
	w, more := take(t, &m.holds), someTags(t, "more", 0)
	w.held.Quarantine(time.Minute, tags(more...)...)
	m.end(w, more, time.Minute)
}

func (m *machine) Quarantine(t *rapid.T) {
	of := someTags(t, "tags", 1)
	m.c.Quarantine(time.Second, tags(of...)...)
	for _, name := range of {
		m.move(name, time.Second)
	}
}

func (m *machine) Lease(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{-1, 0, 1, time.Second, 10 * time.Second, time.Hour, time.Hour}).Draw(t, "lease")
	m.lease = m.now + d
	m.c.SetLease(int64(m.lease))
}

func (m *machine) Empty(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		t.Skip("not now")
	}
	m.c.Empty()
	m.events++
	m.emptied = m.events
	clear(m.entries)
	synctest.Wait()
	if n := m.s.Usage().Entries; n != 0 {
		t.Fatalf("%d entries after Empty, want none", n)
	}
}

func (m *machine) SettleUntil(t *rapid.T) {
	d := time.Duration(rapid.IntRange(-2, 20).Draw(t, "seconds")) * time.Second
	m.c.SettleUntil(int64(m.now + d))
	m.strong = max(m.strong, m.now+d)
}

func (m *machine) ColdUntil(t *rapid.T) {
	d := time.Duration(rapid.IntRange(-2, 3).Draw(t, "seconds")) * time.Second
	m.c.ColdUntil(int64(m.now + d))
	m.cold = max(m.cold, m.now+d)
	m.strong = max(m.strong, m.now+d+m.settle)
}

func (m *machine) Commit(t *rapid.T) {
	w := take(t, &m.writes)
	key, of, found := rapid.SampledFrom(modelKeys).Draw(t, "key"), someTags(t, "put", 0), someTags(t, "found", 0)
	v, ttl, stale := m.fresh()
	further := slices.ContainsFunc(found, func(name string) bool { return !slices.Contains(w.tags, name) })
	if m.refuses(t) && further && w.real.round != nil {
		m.end(w, found, time.Duration(m.c.quarantine))
		if _, err := w.real.Commit(context.Background(), Change{Tags: tags(found...)}); !errors.Is(err, errAlone) {
			t.Fatalf("refused by the coordinator: got error %v", err)
		}
		return
	}
	alone := m.end(w, found, 0)
	want := 0
	if len(of) > 0 && !slices.ContainsFunc(of, func(name string) bool { return !alone[name] }) {
		want = 1
	}
	got := commit(w.real, Change{Tags: tags(found...), Puts: []Put{{
		Space: m.s, Key: []byte(key), Tags: tags(of...), Filling: Filling{Payload: []byte(v), TTL: ttl, Stale: stale},
	}}})
	if got != want {
		t.Fatalf("%d puts stored; want %d", got, want)
	}
	if got == 1 {
		m.store(key, v, of, m.events, ttl, stale)
	}
}

func (m *machine) Unknown(t *rapid.T) {
	w := take(t, &m.writes)
	more := someTags(t, "more", 0)
	m.end(w, more, time.Duration(m.c.quarantine))
	w.real.Unknown(tags(more...)...)
}

func (m *machine) Apply(t *rapid.T) {
	moved := someTags(t, "tags", 1)
	m.c.Apply(Change{Cause: ByTable, Tags: tags(moved...)})
	for _, name := range moved {
		m.move(name, 0)
	}
}

// See looks up an entry, for a later Attach.
func (m *machine) See(t *rapid.T) {
	key := rapid.SampledFrom(modelKeys).Draw(t, "key")
	if e, _ := m.s.Peek([]byte(key), m.c.Now()); e != nil {
		m.seen = append(m.seen, e)
	}
}

// Attach attaches to an entry that was found, now or long ago.
func (m *machine) Attach(t *rapid.T) {
	e := take(t, &m.seen)
	m.serial++
	of := m.entries[string(e.Key())]
	want := of.value == string(e.Payload()) && of.attached == "" && !m.movedSince(of.read, of.tags)
	if got := m.s.Attach(e, fmt.Append(nil, m.serial)); got != want {
		t.Fatalf("attached to %s=%s: %v; want %v", e.Key(), e.Payload(), got, want)
	}
	if want {
		of.attached = fmt.Sprint(m.serial)
		m.entries[string(e.Key())] = of
	}
}

// Check is run after every step.
func (m *machine) Check(t *rapid.T) {
	for _, key := range modelKeys {
		value, want := m.lookup(key)
		e, found, _ := m.s.Lookup([]byte(key), m.c.Now())
		if found != want {
			t.Fatalf("look-up of %s: got state %d, want %d", key, found, want)
		}
		if e != nil && string(e.Payload()) != value {
			t.Fatalf("%s=%s; want %s", key, e.Payload(), value)
		}
		if e != nil && string(e.Variant()) != m.entries[key].attached {
			t.Fatalf("%s=%s with %q; want %q", key, e.Payload(), e.Variant(), m.entries[key].attached)
		}
	}
	for _, name := range modelTags {
		if got, want := m.c.slots[m.c.index(tags(name)[0])].writers.Load(), len(m.tags[name].open); int(got) != want {
			t.Fatalf("%d writes of %s in flight; want %d", got, name, want)
		}
	}
}

// TestModel runs random sequences of notes, stores, writes and waits against the
// naive model.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			c, err := New(Config{Memory: 1 << 20, Generations: 1 << 12})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			s, err := c.NewSpace(0)
			if err != nil {
				t.Fatal(err)
			}
			m := &machine{
				model: &model{settle: time.Duration(c.settle), lease: math.MaxInt64, tags: make(map[string]*modelTag), entries: make(map[string]modelEntry)},
				c:     c, s: s,
			}
			if rapid.Bool().Draw(t, "coordinated") {
				m.alone = &alone{}
				c.SetCoordinator(m.alone)
			}
			for _, name := range modelTags {
				m.tags[name] = &modelTag{}
			}
			t.Repeat(rapid.StateMachineActions(m))
		})
	})
}

// A step takes microseconds: run more than rapid's hundred short runs, unless RAPID_CHECKS
// or the command line sets the number.
func init() {
	for name, n := range map[string]string{"rapid.checks": "1000", "rapid.steps": "60"} {
		if name == "rapid.checks" && os.Getenv("RAPID_CHECKS") != "" {
			continue
		}
		if err := flag.Set(name, n); err != nil {
			panic(err)
		}
	}
}
