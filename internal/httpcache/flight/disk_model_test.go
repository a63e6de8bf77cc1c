package flight

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

// diskModel is a store on a file system that fails at any step and is opened again as by the
// next process. It tracks what may be served and what must not be.
type diskModel struct {
	fs     *memfs.FS
	cache  *cache.Cache
	tier   *disk.Tier
	s      *engine
	serial int
	size   int64 // of the tier
	closed bool
	may    map[string][]allowed
	ending bool // the process is about to end: steps may fail
}

// allowed is what may be found under a URL. must means that it has to be found.
type allowed struct {
	value  string
	tags   []string
	soft   bool // it has to be stale
	maybe  bool // it may be stale: a soft purge was interrupted
	must   bool
	onDisk bool
}

func newDiskModel(size int64) *diskModel {
	m := &diskModel{fs: memfs.New(), size: size, may: map[string][]allowed{}}
	m.open()
	return m
}

func (m *diskModel) open() {
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16})
	if err != nil {
		panic(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		panic(err)
	}
	if m.tier, err = disk.Open("d", disk.Options{Size: m.size, MaxBody: m.size, FS: m.fs}); err != nil {
		panic(err)
	}
	m.closed = false
	m.cache, m.s = c, newEngine(space, Limits{}, store.Limits{DiskFrom: 100})
	if err := m.s.OpenDisk(m.tier, "p", &options); err != nil {
		panic(err)
	}
}

func (m *diskModel) close() {
	if m.closed {
		return
	}
	m.closed = true
	m.s.Close()
	m.cache.Close()
	m.tier.Close()
}

// evicts reports whether bodies on disk may have been evicted.
func (m *diskModel) evicts() bool { return m.size < 1<<20 }

// body returns n bytes that contain the serial number.
func body(serial, n int) string { return strings.Repeat(fmt.Sprintf("%d;", serial), n)[:n] }

// step runs the action f, within which the process may end.
func (m *diskModel) step(t *rapid.T, f func()) {
	if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
		m.fs.EndAfter(rapid.IntRange(1, 12).Draw(t, "after"))
		m.ending = true
	}
	f()
	synctest.Wait()
	if m.ending {
		m.restart(t)
	}
}

// restart ends the process, or the machine, and starts the next one.
func (m *diskModel) restart(t *rapid.T) {
	machine := rapid.Bool().Draw(t, "machine")
	random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
	found := m.fs.Crash(machine, random.Intn)
	m.close()
	m.fs, m.ending = found, false
	m.open()
	for url, list := range m.may {
		var left []allowed
		for _, a := range list {
			if a.must = a.must && !machine; a.onDisk {
				left = append(left, a)
			}
		}
		m.may[url] = left
	}
}

// allowMissing allows everything to be missing that may have been removed.
func (m *diskModel) allowMissing() {
	for _, list := range m.may {
		for i := range list {
			list[i].must = false
		}
	}
}

// Store stores a body, in memory or on disk, that replaces the former one.
func (m *diskModel) Store(t *rapid.T) {
	url := rapid.SampledFrom(modelURLs).Draw(t, "url")
	n := rapid.SampledFrom([]int{50, 200, 70_000}).Draw(t, "length")
	tags := rapid.SliceOfNDistinct(rapid.SampledFrom(modelTags), 0, 2, rapid.ID[string]).Draw(t, "tags")
	m.serial++
	a := allowed{value: body(m.serial, n), tags: tags, must: n <= 100 || !m.evicts(), onDisk: n > 100}
	m.step(t, func() {
		q := get(url)
		src := answer(q, a.value, "Surrogate-Key", strings.Join(tags, " "))
		waiter := m.s.Join(&Request{Query: q, Seen: m.s.Find(q).Object, Fill: fillWith(src)})
		defer waiter.Leave()
		out, err := waiter.Wait(t.Context())
		if err == nil && out.Kind == Streaming {
			_, err = readAll(t.Context(), waiter)
		}
		if err != nil && !m.ending {
			t.Fatal(err)
		}
		if m.ending {
			a.must = false
			m.allowMissing()
			m.may[url] = append(m.may[url], a)
		} else {
			m.may[url] = []allowed{a}
		}
	})
}

// Purge purges in any way.
func (m *diskModel) Purge(t *rapid.T) {
	purges := slices.Clone(modelPurges)
	for _, tag := range modelTags {
		purges = append(purges, store.Purge{Selector: purge.By(purge.Tag, tag)})
	}
	for _, url := range modelURLs {
		purges = append(purges, store.Purge{Selector: purge.By(purge.URL, url)})
	}
	p := rapid.SampledFrom(purges).Draw(t, "what")
	p.Soft = rapid.Bool().Draw(t, "soft")
	m.step(t, func() {
		err := m.s.Purge(context.Background(), p)
		if err != nil && !m.ending {
			t.Fatal(err)
		}
		m.removeMatches(modelPurge{Purge: p}, err == nil)
	})
}

// removeMatches removes what an event concerns, if it is certain that it was removed.
func (m *diskModel) removeMatches(e modelPurge, certain bool) {
	for url, list := range m.may {
		var left []allowed
		for _, a := range list {
			switch {
			case !e.matches(url, a.tags):
			case certain && !e.Soft:
				continue
			case certain:
				a.soft = true
			case e.Soft:
				a.must, a.maybe = false, true
			default:
				a.must = false
			}
			left = append(left, a)
		}
		m.may[url] = left
	}
}

// Write is a write that succeeds.
func (m *diskModel) Write(t *rapid.T) {
	url := rapid.SampledFrom(modelURLs).Draw(t, "url")
	m.step(t, func() {
		_ = m.s.Invalidate(context.Background(), get(url).Key)
		// The writer gets no error of the disk.
		m.removeMatches(modelPurge{Purge: store.Purge{Selector: purge.By(purge.URL, url)}, write: true}, !m.fs.Ended())
	})
}

// Restart ends the process in order, or without notice.
func (m *diskModel) Restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "orderly") {
		m.close()
	}
	m.restart(t)
}

// Head updates what is stored by a HEAD.
func (m *diskModel) Head(t *rapid.T) {
	url := rapid.SampledFrom(modelURLs).Draw(t, "url")
	tag := rapid.SampledFrom(modelTags).Draw(t, "tag")
	m.step(t, func() {
		o := m.s.Find(get(url)).Object
		if o == nil || len(m.may[url]) != 1 {
			return
		}
		m.s.Update(get(url).Key, o, head(get(url), "Surrogate-Key", tag))
		a := m.may[url][0]
		if m.ending {
			a.must = false
			m.may[url][0] = a
		}
		if a.tags = []string{tag}; !m.ending {
			m.may[url] = []allowed{a}
		} else {
			m.may[url] = append(m.may[url], a)
		}
	})
}

// Check is run after every step.
func (m *diskModel) Check(t *rapid.T) {
	for _, url := range modelURLs {
		f := m.s.Find(get(url))
		if f.Object == nil {
			for _, a := range m.may[url] {
				if a.must {
					t.Fatalf("%s: nothing found, want %.20s...", url, a.value)
				}
			}
			continue
		}
		var b strings.Builder
		b.Grow(int(f.Object.Body.Len()))
		if err := f.Object.Body.WriteRange(&b, 0, f.Object.Body.Len()); err != nil {
			if i := slices.IndexFunc(m.may[url], func(a allowed) bool { return a.must }); i >= 0 {
				t.Fatalf("%s can't be read: %v", url, err)
			}
			m.s.Drop(get(url).Key, f.Object)
			continue
		}
		soft := f.Object.Mark() == policy.Outdated
		if !slices.ContainsFunc(m.may[url], func(a allowed) bool { return a.value == b.String() && (a.maybe || a.soft == soft) }) {
			t.Fatalf("%s: found %.20s..., stale %v; want one of %.20v", url, b.String(), soft, m.may[url])
		}
	}
}

// TestDiskModel runs random sequences of fills, purges of all kinds, writes, updates,
// restarts, and ends of the process and the machine within any of these, against the model:
// nothing is served that was purged, overwritten, replaced or damaged, and nothing else is
// lost except by a crash of the machine.
func TestDiskModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := newDiskModel(rapid.SampledFrom([]int64{1 << 30, 250_000}).Draw(t, "size"))
			defer func() { m.close() }()
			t.Repeat(rapid.StateMachineActions(m))
		})
	})
}
