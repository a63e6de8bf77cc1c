package flight

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
)

// purgeModel records every purge and every write in lists.
type purgeModel struct {
	s       *engine
	events  []modelPurge
	stored  map[string]modelObject
	flights []*modelFlight
	serial  int
}

// modelPurge is a purge, or a write of a URL.
type modelPurge struct {
	store.Purge
	write bool
}

// modelObject is what should be found, unless a later event removes it.
type modelObject struct {
	value string
	tags  []string
	begun int // number of events before its origin was asked
}

// modelFlight is a running flight with what is expected of it.
type modelFlight struct {
	modelObject
	url      string
	source   *source
	waiters  []*Waiter
	headed   bool
	outdated bool // a sweep has removed purges that followed its beginning
}

var (
	modelURLs   = []string{"http://h/a", "http://h/a?x=1", "http://h/b/c.png", "http://i/a"}
	modelTags   = []string{"t1", "t2", "t3"}
	modelPurges = []store.Purge{
		{Selector: purge.By(purge.Prefix, "http://h/")},
		{Selector: purge.By(purge.Prefix, "/a")},
		{Selector: purge.By(purge.Pattern, "/*.png")},
		{Selector: purge.By(purge.Pattern, "http://*/a")},
		{Selector: purge.By(purge.Pattern, "/a?*")},
		{Selector: purge.By(purge.Prefix, "/none")},
		{},
	}
)

// matches reports whether the event concerns the URL or one of the tags.
func (e modelPurge) matches(url string, tags []string) bool {
	path := url[strings.Index(url, "/")+2:]
	path = path[strings.Index(path, "/"):]
	switch text := e.Selector.Text; e.Selector.Kind {
	case purge.URL:
		return text == url
	case purge.Tag:
		return slices.Contains(tags, text)
	case purge.All:
		return true
	case purge.Prefix:
		return strings.HasPrefix(url, text) || strings.HasPrefix(path, text)
	}
	switch e.Selector.Text {
	case "/*.png":
		return strings.HasSuffix(url, ".png")
	case "http://*/a":
		return path == "/a"
	}
	return strings.HasPrefix(path, "/a?")
}

// numbered reports whether the event gets a number: hard purges of URLs and writes move
// generations instead.
func (e modelPurge) numbered() bool { return !e.write && (e.Selector.Kind != purge.URL || e.Soft) }

// effect is what events do to an object. The greatest one counts.
type effect uint8

const (
	unaffected effect = iota
	softened          // stale
	purged            // out of reach
)

// effect returns what all events since the object's fetch began do to it.
func (m *purgeModel) effect(url string, o modelObject) effect {
	worst := unaffected
	for _, e := range m.events[o.begun:] {
		switch {
		case !e.matches(url, o.tags):
		case !e.Soft:
			return purged
		default:
			worst = softened
		}
	}
	return worst
}

// joinable reports whether a new request may join the flight. Before its head, a purge of
// any tag prevents that.
func (m *purgeModel) joinable(f *modelFlight) bool {
	tags := f.tags
	if !f.headed {
		tags = append(modelTags, "none")
	}
	return !f.outdated && m.effect(f.url, modelObject{tags: tags, begun: f.begun}) == unaffected
}

func (m *purgeModel) Ask(t *rapid.T) {
	url := rapid.SampledFrom(modelURLs).Draw(t, "url")
	src := newSource()
	waiter := m.s.Join(&Request{Query: get(url), Seen: m.s.Find(get(url)).Object, Fill: src.fill})
	synctest.Wait()
	for _, f := range m.flights {
		if f.url == url && m.joinable(f) {
			if src.asks() != 0 || waiter.flight != f.waiters[0].flight {
				t.Fatalf("a request for %s did not join the running flight", url)
			}
			f.waiters = append(f.waiters, waiter)
			return
		}
	}
	if src.asks() != 1 {
		t.Fatalf("a request for %s joined a flight from before a purge", url)
	}
	m.serial++
	m.flights = append(m.flights, &modelFlight{
		url: url, source: src, waiters: []*Waiter{waiter},
		modelObject: modelObject{value: fmt.Sprint(m.serial), begun: len(m.events)},
	})
}

func (m *purgeModel) drawFlight(t *rapid.T, headed bool) *modelFlight {
	var all []*modelFlight
	for _, f := range m.flights {
		if f.headed == headed {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return rapid.SampledFrom(all).Draw(t, "flight")
}

func (m *purgeModel) Head(t *rapid.T) {
	f := m.drawFlight(t, false)
	if f == nil {
		return
	}
	f.tags = rapid.SliceOfNDistinct(rapid.SampledFrom(modelTags), 0, 2, rapid.ID[string]).Draw(t, "tags")
	f.headed = true
	f.source.head(shared(get(f.url), "Surrogate-Key", strings.Join(f.tags, " ")), int64(len(f.value)))
}

func (m *purgeModel) End(t *rapid.T) {
	f := m.drawFlight(t, true)
	if f == nil {
		return
	}
	m.flights = slices.DeleteFunc(m.flights, func(g *modelFlight) bool { return g == f })
	f.source.send(f.value)
	f.source.end(nil)
	for _, waiter := range f.waiters {
		waiter.Leave()
	}
	if !f.outdated && m.effect(f.url, f.modelObject) != purged {
		m.stored[f.url] = f.modelObject
	}
}

func (m *purgeModel) Purge(t *rapid.T) {
	purges := slices.Clone(modelPurges)
	for _, tag := range append(modelTags, "none") {
		purges = append(purges, store.Purge{Selector: purge.By(purge.Tag, tag)})
	}
	for _, url := range modelURLs {
		purges = append(purges, store.Purge{Selector: purge.By(purge.URL, url)})
	}
	p := rapid.SampledFrom(purges).Draw(t, "what")
	p.Soft = rapid.Bool().Draw(t, "soft")
	if err := m.s.Purge(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	m.events = append(m.events, modelPurge{Purge: p})
}

func (m *purgeModel) Write(t *rapid.T) {
	url := rapid.SampledFrom(modelURLs).Draw(t, "url")
	m.s.Invalidate(context.Background(), get(url).Key)
	m.events = append(m.events, modelPurge{Purge: store.Purge{Selector: purge.By(purge.URL, url)}, write: true})
}

func (m *purgeModel) Sweep(t *rapid.T) {
	m.s.Sweep()
	for _, f := range m.flights {
		f.outdated = f.outdated || slices.ContainsFunc(m.events[f.begun:], modelPurge.numbered)
	}
}

// Check is run after every step.
func (m *purgeModel) Check(t *rapid.T) {
	for _, url := range modelURLs {
		o, ok := m.stored[url]
		effect := purged
		if ok {
			effect = m.effect(url, o)
		}
		switch f := m.s.Find(get(url)); {
		case effect == purged && f.Object != nil:
			t.Fatalf("%s: found %s, which was purged", url, text(f.Object))
		case effect == purged:
		case f.Object == nil || text(f.Object) != o.value:
			t.Fatalf("%s: found %+v, want %s", url, f, o.value)
		case (effect == softened) != (f.Object.Mark() == policy.Outdated):
			t.Fatalf("%s has the mark %d, but it was purged softly: %v", url, f.Object.Mark(), effect == softened)
		}
	}
}

// TestPurgeModel runs random sequences of requests, fills, purges and writes against the
// model: purged responses are not found, a request after a purge joins no flight from before
// it, and all other responses are kept.
func TestPurgeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			s, done := openIn(t)
			defer done()
			m := &purgeModel{s: s, stored: make(map[string]modelObject)}
			t.Repeat(rapid.StateMachineActions(m))
			for _, f := range m.flights {
				for _, waiter := range f.waiters {
					waiter.Leave()
				}
			}
		})
	})
}

// modelChecks is the number of runs of a model. As a step takes microseconds, there are more
// and longer runs than rapid's default, unless RAPID_CHECKS or the command line sets the
// number.
const modelChecks = "300"

func init() {
	set("rapid.steps", "60")
	if os.Getenv("RAPID_CHECKS") == "" {
		set("rapid.checks", modelChecks)
	}
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}
