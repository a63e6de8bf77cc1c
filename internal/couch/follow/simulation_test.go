package follow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulation has two nodes that replicate to each other with a delay, clients that write through
// Kasoku and directly, copies that are cached as by a service, and all faults. A document is
// written to its home node only: even ones to the first, odd ones to the second. Its revision is
// its generation.
type simulation struct {
	*scene
	r          *rand.Rand
	down       [2]bool // killed
	reportedUp [2]bool // the balancer reports it as up
	homes      []int   // by document
	gens       []int
	writes     [][]written // by document
	pending    [2][]int    // changes not yet replicated to the other node, in order
	fills      []*copied   // in transit
	copies     []*copied
	log        []string
	served     int

	epoch     int   // how often the database was recreated
	createdAt int64 // when the database was last created
}

type written struct {
	gen   int
	at    int64
	acked bool // through Kasoku
}

// copied is an answer that is cached or in transit.
type copied struct {
	*reading
	doc, node int
	gen       int // -1 until the node has answered
	epoch     int // the database's at that time
}

const documents = 5

func id(doc int) string { return fmt.Sprint("doc", doc) }

func (w *simulation) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8s ", time.Duration(w.cache.Now()).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// write stores the next generation of a document on its home node.
func (w *simulation) write(doc int) {
	home := w.homes[doc]
	if w.down[home] {
		return
	}
	w.gens[doc]++
	gen := w.gens[doc]
	rev, direct := fmt.Sprint(gen, "-x"), w.r.IntN(2) == 0
	w.note("write %s %s to %d, directly: %t", id(doc), rev, home, direct)
	if direct {
		w.nodes[home].put(id(doc), rev)
	} else {
		w.scene.write(home, id(doc), rev)
	}
	w.writes[doc] = append(w.writes[doc], written{gen, w.cache.Now(), !direct})
	w.pending[home] = append(w.pending[home], doc)
}

// replicate replicates some of a node's changes to the other one.
func (w *simulation) replicate(from int) {
	if w.down[0] || w.down[1] {
		return
	}
	n := min(w.r.IntN(4), len(w.pending[from]))
	for _, doc := range w.pending[from][:n] {
		rev := w.nodes[from].winner(id(doc))
		w.note("replicate %s %s to %d", id(doc), rev, 1-from)
		w.nodes[1-from].put(id(doc), rev)
	}
	w.pending[from] = w.pending[from][n:]
}

// recreate deletes and creates the database on both nodes, without Kasoku.
func (w *simulation) recreate() {
	if w.down[0] || w.down[1] {
		return
	}
	w.note("the database is recreated")
	for node, n := range w.nodes {
		n.remove()
		n.create()
		w.pending[node] = nil
	}
	w.writes = make([][]written, documents)
	w.epoch++
	w.createdAt = w.cache.Now()
}

// fail begins or ends a fault of a node.
func (w *simulation) fail(node int) {
	n := w.nodes[node]
	switch w.r.IntN(6) {
	case 0:
		w.note("kill %d", node)
		w.down[node] = true
		n.kill()
	case 1, 2:
		w.note("restart %d", node)
		w.down[node] = false
		n.restart()
	case 3:
		w.note("cut the feed of %d", node)
		n.change(func() {})
	case 4:
		w.note("mute %d", node)
		n.set(func() { n.silent = true })
	case 5:
		w.note("unmute %d", node)
		n.set(func() { n.silent = false })
	}
}

// updateBalancer updates the balancer's view of the nodes, after a delay.
func (w *simulation) updateBalancer() {
	for node, down := range w.down {
		if w.reportedUp[node] == down && w.r.IntN(10) == 0 {
			w.reportedUp[node] = !down
			w.note("the balancer reports %d as up: %t", node, !down)
			w.table.SetUp(node, !down)
		}
	}
}

// ask begins to read a document from a node whose answer may be cached.
func (w *simulation) ask(doc int) {
	r := &reading{scene: w.scene, db: w.db, stamp: w.cache.Note(w.tags(id(doc))...), keep: true}
	current := w.db.Current([]byte(id(doc)))
	for node := range w.nodes {
		if current.Has(node) && !w.down[node] && w.r.IntN(2) == 0 {
			w.fills = append(w.fills, &copied{reading: r, doc: doc, node: node, gen: -1})
			return
		}
	}
}

// answer sends a node's answer to a read, or delivers it.
func (w *simulation) answer() {
	if len(w.fills) == 0 {
		return
	}
	i := w.r.IntN(len(w.fills))
	c := w.fills[i]
	switch {
	case c.gen < 0 && w.down[c.node]:
		w.fills = slices.Delete(w.fills, i, i+1)
	case c.gen < 0:
		c.gen, c.epoch = 0, w.epoch
		fmt.Sscanf(w.nodes[c.node].winner(id(c.doc)), "%d-x", &c.gen)
	case w.cache.Current(&c.stamp):
		w.copies = append(w.copies, c)
		fallthrough
	default:
		w.fills = slices.Delete(w.fills, i, i+1)
	}
}

// check checks every copy that would be served.
func (w *simulation) check() {
	now := w.cache.Now()
	w.copies = slices.DeleteFunc(w.copies, func(c *copied) bool { return !w.cache.Current(&c.stamp) })
	for _, c := range w.copies {
		if !c.served() {
			continue
		}
		w.served++
		out := w.db.ReplicaState(w.homes[c.doc], now).Out
		if c.epoch < w.epoch && !out && now-w.createdAt > int64(time.Second) {
			w.Fatalf("%s of node %d is served %s after its database was deleted\n%s", id(c.doc), c.node, time.Duration(now-w.createdAt), w.tail())
		}
		for _, write := range w.writes[c.doc] {
			old := write.gen > c.gen && c.epoch == w.epoch
			if old && !out && (write.acked || now-write.at > int64(time.Second)) {
				w.Fatalf("%s of node %d in generation %d is served %s after generation %d was written (through Kasoku: %t)\n%s", id(c.doc), c.node, c.gen,
					time.Duration(now-write.at), write.gen, write.acked, w.tail())
			}
		}
	}
}

// tail returns the latest events.
func (w *simulation) tail() (text string) {
	for _, line := range w.log[max(0, len(w.log)-60):] {
		text += line + "\n"
	}
	return text
}

// step executes a random step.
func (w *simulation) step() {
	w.updateBalancer()
	switch w.r.IntN(30) {
	case 0, 1:
		w.write(w.r.IntN(documents))
	case 2, 3, 4, 5, 6:
		w.replicate(w.r.IntN(2))
	case 7:
		w.fail(w.r.IntN(2))
	case 8, 9, 10, 11, 12, 13:
		w.ask(w.r.IntN(documents))
	default:
		w.answer()
	}
	if w.r.IntN(200) == 0 {
		w.recreate()
	}
	if w.r.IntN(3) == 0 {
		w.pass(time.Duration(w.r.IntN(300)) * time.Millisecond)
	}
}

// recover ends all faults, and checks that all nodes then become current and copies are served.
func (w *simulation) recover() {
	for node, n := range w.nodes {
		w.down[node] = false
		n.restart()
		n.set(func() { n.silent = false })
		w.table.SetUp(node, true)
	}
	w.pass(time.Minute)
	for node := range w.nodes {
		for len(w.pending[node]) > 0 {
			w.replicate(node)
		}
	}
	w.pass(time.Minute)
	if got := w.db.Current(nil); got != 0b11 || !w.db.Servable(w.cache.Now()) {
		w.Errorf("in the end got the current nodes %b, servable: %t\n%s", got, w.db.Servable(w.cache.Now()), w.tail())
	}
}

// TestSimulation checks in random histories that no copy is served that is older than a write
// through Kasoku, or than a direct write more than max_unfollowed ago, unless the node that has it
// is out. After the faults all nodes must become current again.
func TestSimulation(t *testing.T) {
	served := 0
	for seed := range uint64(100) {
		play(t, 2, func(s *scene) {
			w := &simulation{scene: s, r: rand.New(rand.NewPCG(seed, 1)), reportedUp: [2]bool{true, true}}
			w.gens, w.writes = make([]int, documents), make([][]written, documents)
			for doc := range documents {
				w.homes = append(w.homes, doc%2)
			}
			for range 600 {
				w.step()
				w.check()
			}
			served += w.served
			w.recover()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if served < 10000 {
		t.Errorf("only %d copies were checked", served)
	}
}
