package follow

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/cache"
)

// The model has two nodes that replicate to each other with a delay; their feeds, which are
// received with a delay; clients that read and write through Kasoku, and others that write
// directly to nodes. a and b are written to node 0, through Kasoku or directly; c to node 1,
// directly, or through Kasoku as well if several nodes take writes. A document is its generation.
var (
	modelIDs = []string{"a", "b", "c"}
	home     = map[string]int{"a": 0, "b": 0, "c": 1}
	tagger   = NewTagger("model")
	modelDB  = []byte("db")
)

type docs map[string]int // id -> generation

type modelNode struct {
	docs      docs
	replicate []string // IDs not yet replicated to the other node
	feed      []docRow // rows that its feed has not sent yet
}

type docRow struct {
	id  string
	gen int
}

func rev(gen int) []byte { return fmt.Appendf(nil, "%d-x", gen) }

// modelRead is an answer on its way from a node, and then a copy if it is cached.
type modelRead struct {
	id      string // "" for a view
	node    int
	keep    bool
	waits   bool // waits until a node covers the mark
	mark    mark
	stamp   cache.Stamp
	minimum docs // acknowledged before it began; if it waits, also what was announced
	value   docs // nil until the node has answered
}

type modelWrite struct {
	id    string
	fence *cache.Write
	gen   int // 0 until it is applied
}

type modelComparison struct {
	in   NodeSet // the nodes that are compared
	mark uint64
	seen [2]docs
}

type model struct {
	cache         *cache.Cache
	db            *tracker
	now           int64
	nodes         [2]modelNode
	out           NodeSet // unreachable nodes
	anyNodeWrites bool    // both nodes take writes through Kasoku
	readings      []*modelRead
	writings      []*modelWrite
	copies        map[string]*modelRead
	comparing     *modelComparison

	acked     docs // through Kasoku
	announced docs // by any feed
}

func newModel(t *rapid.T) *model {
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{cache: c, anyNodeWrites: rapid.Bool().Draw(t, "anyNodeWrites"), copies: map[string]*modelRead{}, acked: docs{}, announced: docs{}}
	m.nodes[0].docs, m.nodes[1].docs = docs{}, docs{}
	m.db = newTracker(trackerConfig{Nodes: 2, MaxOpen: rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "open"), Invalidate: m.invalidate})
	m.db.markSynced(AllNodes(2), 1<<60)
	return m
}

func (m *model) invalidate(id []byte) {
	tags := []cache.Tag{tagger.Database(modelDB)}
	if id != nil {
		tags = []cache.Tag{tagger.Document(modelDB, id), tagger.Results(modelDB)}
	}
	m.cache.Apply(cache.Change{Tags: tags})
}

func tagsOf(id string) []cache.Tag {
	if id == "" {
		return []cache.Tag{tagger.Database(modelDB), tagger.Results(modelDB)}
	}
	return []cache.Tag{tagger.Database(modelDB), tagger.Documents(modelDB), tagger.Document(modelDB, []byte(id))}
}

// apply stores a generation on a node.
func (m *model) apply(t *rapid.T, node int, id string, gen int) {
	n := &m.nodes[node]
	n.docs[id] = gen
	n.replicate = append(n.replicate, id)
	if rapid.Bool().Draw(t, "coalesce") { // a feed may announce only the last state
		n.feed = slices.DeleteFunc(n.feed, func(r docRow) bool { return r.id == id })
	}
	n.feed = append(n.feed, docRow{id, gen})
}

func pick[T any](t *rapid.T, list []T) int {
	if len(list) == 0 {
		t.Skip("none")
	}
	return rapid.IntRange(0, len(list)-1).Draw(t, "which")
}

func anyNode(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "node") }

// reachableNode selects a node that is up.
func (m *model) reachableNode(t *rapid.T) int {
	node := anyNode(t)
	if m.out.Has(node) {
		t.Skip("out")
	}
	return node
}

// Leave takes a node out, unless the other one is out: one must be left to read from. All nodes
// must be synced, or the other node's answers are the best available.
func (m *model) Leave(t *rapid.T) {
	if unsynced, _ := m.db.unsyncedNodes(); m.out != 0 || unsynced != 0 || m.db.cfg.MaxOpen < len(modelIDs) {
		t.Skip("a node is out or not synced")
	}
	m.out = m.out.with(anyNode(t))
	m.out.forEach(m.db.markOut)
}

// Return takes a node in again when its feed has delivered the missed changes.
func (m *model) Return(t *rapid.T) {
	m.out.forEach(func(node int) {
		if len(m.nodes[node].feed) > 0 {
			t.Skip("it has more rows to send")
		}
	})
	m.back()
}

func (m *model) back() {
	out := m.out
	m.out = 0
	out.forEach(m.db.rejoin)
}

func (m *model) Pass(t *rapid.T) {
	m.now += int64(rapid.SampledFrom([]time.Duration{1, 400, 600, 11000}).Draw(t, "ms") * time.Millisecond)
}

func (m *model) WritePast(t *rapid.T) {
	id := rapid.SampledFrom(modelIDs).Draw(t, "id")
	m.apply(t, home[id], id, m.nodes[home[id]].docs[id]+1)
}

func (m *model) BeginWrite(t *rapid.T) {
	ids := modelIDs[:2]
	if m.anyNodeWrites {
		ids = modelIDs
	}
	id := rapid.SampledFrom(ids).Draw(t, "id")
	tags := []cache.Tag{tagger.Document(modelDB, []byte(id)), tagger.Results(modelDB)}
	w, err := m.cache.Begin(t.Context(), tags, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.writings = append(m.writings, &modelWrite{id: id, fence: w})
}

func (m *model) ApplyWrite(t *rapid.T) {
	w := m.writings[pick(t, m.writings)]
	if w.gen != 0 || m.out.Has(home[w.id]) {
		t.Skip("applied, or no node can take it")
	}
	w.gen = m.nodes[home[w.id]].docs[w.id] + 1
	m.apply(t, home[w.id], w.id, w.gen)
}

func (m *model) EndWrite(t *rapid.T) {
	i := pick(t, m.writings)
	w := m.writings[i]
	if w.gen != 0 {
		m.db.wrote(home[w.id], []byte(w.id), rev(w.gen), m.now)
		m.acked[w.id] = max(m.acked[w.id], w.gen)
	} // else it was refused
	w.commit(t)
	m.writings = slices.Delete(m.writings, i, i+1)
}

func (w *modelWrite) commit(t *rapid.T) {
	if _, err := w.fence.Commit(t.Context(), cache.Change{}); err != nil {
		t.Fatal(err)
	}
}

func (m *model) Replicate(t *rapid.T) {
	from := anyNode(t)
	n := &m.nodes[from]
	i := pick(t, n.replicate) // in any order, because replication works in batches
	id := n.replicate[i]
	n.replicate = slices.Delete(n.replicate, i, i+1)
	if gen := n.docs[id]; gen > m.nodes[1-from].docs[id] {
		m.apply(t, 1-from, id, gen)
	}
}

func (m *model) Announce(t *rapid.T) {
	node := anyNode(t)
	if len(m.nodes[node].feed) == 0 {
		t.Skip("no rows to send")
	}
	m.announce(node)
}

func (m *model) announce(node int) {
	n := &m.nodes[node]
	r := n.feed[0]
	n.feed = n.feed[1:]
	m.db.announced(node, []byte(r.id), rev(r.gen), m.now)
	m.announced[r.id] = max(m.announced[r.id], r.gen)
}

// Rewind repeats rows of a feed, as after a loss on the node.
func (m *model) Rewind(t *rapid.T) {
	n := &m.nodes[anyNode(t)]
	for _, id := range modelIDs {
		if n.docs[id] > 0 && rapid.Bool().Draw(t, "again") {
			n.feed = append([]docRow{{id, n.docs[id]}}, n.feed...)
		}
	}
}

// Reset loses a feed and its position.
func (m *model) Reset(t *rapid.T) {
	node := anyNode(t)
	m.nodes[node].feed = nil
	m.db.resetNode(node, rapid.SampledFrom([]ResetReason{Opened, Recreated}).Draw(t, "why"))
}

func (m *model) BeginCompare(t *rapid.T) {
	nodes, mark := m.db.unsyncedNodes()
	if nodes == 0 {
		t.Skip("none is adrift")
	}
	m.comparing = &modelComparison{m.db.present(), mark, [2]docs{maps.Clone(m.nodes[0].docs), maps.Clone(m.nodes[1].docs)}}
}

func (m *model) EndCompare(t *rapid.T) {
	if m.comparing == nil {
		t.Skip("none")
	}
	m.endCompare()
}

func (m *model) endCompare() {
	c := m.comparing
	m.comparing = nil
	for holder := range 2 {
		if c.in.Len() < 2 {
			break
		}
		for _, id := range modelIDs { // in a fixed order, so that failures can be reproduced
			gen := c.seen[holder][id]
			if other := 1 - holder; m.nodes[other].docs[id] < gen {
				m.db.markMissing(other, []byte(id), rev(gen), m.now)
			}
		}
	}
	m.db.markSynced(c.in, c.mark)
}

func (m *model) Ask(t *rapid.T) { m.ask(m.reachableNode(t)) }

func (m *model) ask(node int) {
	for _, overdue := range m.db.overdue(node, m.now, 10) {
		var gen int
		fmt.Sscanf(overdue.Rev, "%d-", &gen)
		if m.nodes[node].docs[overdue.ID] >= gen {
			m.db.confirm(node, overdue, m.now)
		}
	}
}

func (m *model) Sweep(t *rapid.T) {
	if n := m.db.sweep(m.now); n > 0 && m.now < int64(10*time.Minute) {
		t.Fatalf("%d changes were abandoned", n)
	}
}

func (m *model) BeginRead(t *rapid.T) {
	r := &modelRead{id: rapid.SampledFrom(append(modelIDs, "")).Draw(t, "id"), minimum: maps.Clone(m.acked)}
	r.stamp = m.cache.Note(tagsOf(r.id)...)
	var id []byte
	if r.id != "" {
		id = []byte(r.id)
	}
	current := m.db.current(id)
	switch {
	case current != 0:
		r.chooseNode(t, current)
	case id == nil && (m.anyNodeWrites || rapid.Bool().Draw(t, "wait")):
		r.waits, r.mark = true, m.db.mark()
		for id, gen := range m.announced {
			r.minimum[id] = max(r.minimum[id], gen)
		}
	case m.anyNodeWrites, m.out.Has(0):
		t.Skip("no node is known to have it")
	default: // the node that takes writes
	}
	m.readings = append(m.readings, r)
}

// chooseNode selects one of the nodes whose answers may be cached.
func (r *modelRead) chooseNode(t *rapid.T, nodes NodeSet) {
	r.waits, r.keep, r.node = false, true, int(nodes)-1
	if nodes == 3 {
		r.node = anyNode(t)
	}
}

func (m *model) AnswerRead(t *rapid.T) {
	r := m.readings[pick(t, m.readings)]
	if r.value != nil {
		t.Skip("answered")
	}
	if r.waits {
		nodes := m.db.covers(r.mark)
		if nodes == 0 {
			t.Skip("no node has all of it")
		}
		r.chooseNode(t, nodes)
	}
	if m.out.Has(r.node) {
		t.Skip("it does not answer")
	}
	r.value = maps.Clone(m.nodes[r.node].docs)
	r.atLeast(t, "an answer", r.minimum)
}

func (m *model) EndRead(t *rapid.T) {
	i := pick(t, m.readings)
	r := m.readings[i]
	if r.value == nil {
		t.Skip("not answered")
	}
	m.readings = slices.Delete(m.readings, i, i+1)
	if r.keep && r.stamp.Settled && m.cache.Current(&r.stamp) {
		m.copies[r.id] = r
	}
}

// Check checks the answers that clients would get now.
func (m *model) Check(t *rapid.T) {
	m.hits(t, func(r *modelRead) {
		r.atLeast(t, "a hit after a write through us", m.acked)
		r.atLeast(t, "a hit after an announcement", m.announced)
	})
}

func (m *model) hits(t *rapid.T, f func(r *modelRead)) {
	for _, id := range append(modelIDs, "") {
		if r := m.copies[id]; r != nil && m.cache.Current(&r.stamp) {
			f(r)
		}
	}
}

// atLeast checks that the answer to r is not older than the minimum.
func (r *modelRead) atLeast(t *rapid.T, what string, least docs) {
	for id, gen := range least {
		if (r.id == "" || r.id == id) && r.value[id] < gen {
			t.Fatalf("%s: %q of node %d has %s in generation %d, want at least %d", what, r.id, r.node, id, r.value[id], gen)
		}
	}
}

// settle lets everything in transit arrive.
func (m *model) settle(t *rapid.T) {
	for len(m.writings) > 0 {
		m.writings[0].commit(t)
		if w := m.writings[0]; w.gen != 0 {
			m.acked[w.id] = max(m.acked[w.id], w.gen)
		}
		m.writings = m.writings[1:]
	}
	for range 3 {
		for from := range 2 {
			for _, id := range m.nodes[from].replicate {
				if gen := m.nodes[from].docs[id]; gen > m.nodes[1-from].docs[id] {
					m.apply(t, 1-from, id, gen)
				}
			}
			m.nodes[from].replicate = nil
			for len(m.nodes[from].feed) > 0 {
				m.announce(from)
			}
		}
	}
	m.back()
	for range 4 { // the tracker may overflow once more
		m.now += int64(time.Second)
		m.compareAll()
		m.ask(0)
		m.ask(1)
		m.now += int64(2 * closeAfter)
		m.db.sweep(m.now)
	}
}

func (m *model) compareAll() {
	if nodes, mark := m.db.unsyncedNodes(); nodes != 0 {
		m.comparing = &modelComparison{m.db.present(), mark, [2]docs{maps.Clone(m.nodes[0].docs), maps.Clone(m.nodes[1].docs)}}
		m.endCompare()
	}
}

// TestModel runs random histories. No answer and no copy may be older than a write that was
// acknowledged before its request, and no copy may be older than an announcement of any feed. When
// everything has arrived, none may be older than the nodes' state, and every node must be current
// again.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		defer m.cache.Close()
		t.Repeat(rapid.StateMachineActions(m))
		m.settle(t)
		m.hits(t, func(r *modelRead) { r.atLeast(t, "a copy when all is quiet", m.nodes[0].docs) })
		if got := m.db.current(nil); got != AllNodes(2) {
			t.Errorf("after everything has arrived: got the current nodes %b", got)
		}
		if len(m.db.open) != 0 || m.db.lacks != [MaxNodes]int{} {
			t.Errorf("after everything has arrived: %d changes are open, lacking %v", len(m.db.open), m.db.lacks[:2])
		}
	})
}
