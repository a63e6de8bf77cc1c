package protocol

import (
	"fmt"
	"math/rand/v2"
)

// world is a simulated cluster before one origin: nodes with clocks, caches and clients, a
// network, and the store of the view. All that happens is an event at a time, and all chance
// is taken from the seed, so that a run can be repeated exactly.
type world struct {
	rng    *rand.Rand
	cfg    Config
	chaos  chaos
	now    Time
	number uint64  // of the newest event
	events []event // those in queue, and free ones
	free   []int32
	queue  []due // a heap
	nodes  []*simNode
	names  int
	next   Instance
	cut    map[[2]int]bool // direction of the network that loses everything

	view   View // the item
	absent bool // the item's table can't be reached

	versions []applied // of all writes, in the order of the origin
	current  [simTags]int
	acked    [simTags]int  // by tag: the newest acknowledged version
	purged   [simTags]Time // by tag: when the newest acknowledged purge began

	steps   stepLog                          // nil for none
	trace   func(format string, args ...any) // nil for none
	problem string
	counts  simCounts
}

// stepLog records the steps of a run for the check against the specification. A Recorder is
// one.
type stepLog interface {
	Watch(process string, m *Machine)
	Joins(process string, i Instance)
	Read(process string)
	View(process string, by Instance, from, to *View)
	Lose()
	Send(m *Machine, seq uint64)
	Apply(process string, seq uint64)
	Serve(node, process string, seq uint64)
}

// simCounts counts what has happened.
type simCounts struct{ hits, fills, peers, acks, purges, refusals, unknown, epochs int }

func (c *simCounts) add(o simCounts) {
	c.hits, c.fills, c.peers = c.hits+o.hits, c.fills+o.fills, c.peers+o.peers
	c.acks, c.purges, c.refusals = c.acks+o.acks, c.purges+o.purges, c.refusals+o.refusals
	c.unknown, c.epochs = c.unknown+o.unknown, c.epochs+o.epochs
}

// The tags of the simulation. An indexed write changes the item, and the query, which is
// known only from the origin's answer.
const (
	itemA = iota
	itemB
	query
	simTags
)

type applied struct {
	at      Time
	tag     int
	version int
	process string // that has sent it
	seq     uint64
}

// chaos is what happens in a run, as probabilities and intervals.
type chaos struct {
	nodes     int
	cold      bool // the nodes start without a sign that nothing is in flight
	coded     bool // messages are sent as bytes
	length    Time
	ops       Time    // mean interval of a client's operations; 0 for none
	writes    float64 // part of the operations
	purges    float64 // part of the writes
	faults    Time    // mean interval of faults
	kinds     []string
	loss, dup float64
	slow      float64 // messages that take long
	lag       float64 // answers of the origin that take long
	drift     float64
	late      float64 // requests of writes that are late
	timeout   Time    // limit of a request to the origin
	reach     Time    // limit of the lateness of a request; its timeout is included
}

// event is something that happens at a node, or in the world if node is nil.
type event struct {
	node *simNode
	life int
	do   func()
}

// due is an event in the queue, which holds its place in events, so that sorting moves no
// pointers.
type due struct {
	at     Time
	number uint64
	place  int32
}

// before reports whether d is due before o.
func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.number < o.number }

// simConfig is like the real delays, but faster.
func simConfig(c chaos) Config {
	return Config{
		Lease: 150 * Millisecond, Wait: 165 * Millisecond, Quarantine: (c.reach - c.timeout) * 11 / 10, Reach: c.reach * 11 / 10,
		Settle: 60 * Millisecond, Suspect: 40 * Millisecond, Silent: 100 * Millisecond, Resend: 12 * Millisecond,
		Beat: 40 * Millisecond, Idle: 60 * Millisecond, Renew: 50 * Millisecond, Hold: 100 * Millisecond,
	}
}

func newWorld(seed uint64, c chaos, steps stepLog) *world {
	w := &world{steps: steps, rng: rand.New(rand.NewPCG(seed, 1)), cfg: simConfig(c), chaos: c, cut: map[[2]int]bool{}}
	for range c.nodes {
		w.addNode()
	}
	return w
}

func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		w.trace("%8.3f  "+format, append([]any{float64(w.now) / float64(Second)}, args...)...)
	}
}

func (w *world) fail(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf("at %.3f s: ", float64(w.now)/float64(Second)) + fmt.Sprintf(format, args...)
		w.logf("FAILED: %s", w.problem)
	}
}

// after schedules do at a node, unless the node's process has ended by then.
func (w *world) after(d Time, n *simNode, do func()) {
	w.number++
	e := event{node: n, do: do}
	if n != nil {
		e.life = n.life
	}
	var place int32
	if last := len(w.free) - 1; last >= 0 {
		place, w.free = w.free[last], w.free[:last]
	} else {
		place = int32(len(w.events))
		w.events = append(w.events, event{})
	}
	w.events[place] = e
	added := due{w.now + max(0, d), w.number, place}
	w.queue = append(w.queue, added)
	i := len(w.queue) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !added.before(w.queue[up]) {
			break
		}
		w.queue[i] = w.queue[up]
		i = up
	}
	w.queue[i] = added
}

// pop removes the next event.
func (w *world) pop() (Time, event) {
	top := w.queue[0]
	e := w.events[top.place]
	w.events[top.place].do = nil
	w.free = append(w.free, top.place)
	last := len(w.queue) - 1
	moved := w.queue[last]
	w.queue = w.queue[:last]
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && w.queue[c+1].before(w.queue[c]) {
			c++
		}
		if !w.queue[c].before(moved) {
			break
		}
		w.queue[i] = w.queue[c]
		i = c
	}
	if last > 0 {
		w.queue[i] = moved
	}
	return top.at, e
}

// run runs the events until a time, or until a promise is broken.
func (w *world) run(until Time) {
	for len(w.queue) > 0 && w.queue[0].at <= until && w.problem == "" {
		at, e := w.pop()
		w.now = at
		if n := e.node; n != nil {
			if !n.alive || n.life != e.life {
				continue
			}
			if w.now < n.pausedUntil {
				w.after(n.pausedUntil-w.now, n, e.do)
				continue
			}
		}
		e.do()
		w.check()
	}
	w.now = max(w.now, until)
}

// between returns a random time.
func (w *world) between(a, b Time) Time { return a + Time(w.rng.Int64N(int64(b-a)+1)) }

// moment returns a short time, or seldom a long one.
func (w *world) moment(short, long Time, p float64) Time {
	if w.chance(p) {
		return w.between(0, long)
	}
	return w.between(0, short)
}

// about returns a random time with a mean.
func (w *world) about(mean Time) Time { return Time(w.rng.ExpFloat64() * float64(mean)) }

func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// check compares what the nodes would serve now with the origin: an answer older than a
// strongly consistent read's, which may happen at any time, would go back in time. A fill
// whose answer is on the way is served to all requests that join it.
func (w *world) check() {
	for _, n := range w.nodes {
		if !n.alive || w.now < n.pausedUntil {
			continue
		}
		serves := n.local() < n.lease
		for tag := range simTags {
			if e := &n.entries[tag]; e.stored && (serves || off(hostLeaseOnHit)) {
				w.compare(n, tag, e)
			}
			if f := n.fills[tag]; f != nil && f.entry.stored && (serves || off(hostLeaseOnJoin)) && n.joinable(f) {
				w.compare(n, tag, &f.entry)
			}
		}
	}
}

// compare checks an entry that a node would serve now.
func (w *world) compare(n *simNode, tag int, e *simEntry) {
	least := w.current[tag]
	if tag == query {
		least = w.acked[query]
	}
	if e.version < least {
		n.serve(tag, e)
		w.fail("node %s serves version %d of tag %d; the origin has %d", n.name, e.version, tag, least)
	}
	if e.read < w.purged[tag] {
		w.fail("node %s serves tag %d, read %d ms before it was purged", n.name, tag, (w.purged[tag]-e.read)/Millisecond)
	}
}

// apply is the execution of a process's write by the origin.
func (w *world) apply(process string, o *simWrite) int {
	tag := o.tag
	version := len(w.versions) + 1
	w.versions = append(w.versions, applied{w.now, tag, version, process, o.seq})
	w.current[tag] = version
	if o.indexed {
		w.current[query] = version
	}
	if w.steps != nil {
		w.steps.Apply(process, o.seq)
	}
	w.logf("origin: version %d of tag %d", version, tag)
	return version
}

// value is a read at the origin: of a replica that lags, unless it is strong.
func (w *world) value(tag int, strong bool) int {
	if strong || w.chance(0.5) {
		return w.current[tag]
	}
	horizon := w.now - w.cfg.Settle*9/10
	value := w.current[tag]
	for i := len(w.versions) - 1; i >= 0; i-- {
		v := w.versions[i]
		if v.at < horizon {
			break
		}
		if v.tag == tag || tag == query {
			// The replica may not have this version yet.
			value = w.earlier(tag, i)
		}
	}
	return value
}

// earlier returns the version of tag before the i-th write.
func (w *world) earlier(tag, i int) int {
	for i--; i >= 0; i-- {
		if w.versions[i].tag == tag || tag == query {
			return w.versions[i].version
		}
	}
	return 0
}

// deliver sends a message over the network.
func (w *world) deliver(from, to *simNode, m *Message) {
	delay, ok := w.travel(from, to)
	if !ok {
		return
	}
	sender := from.machine.Self()
	receive := func() { to.machine.Receive(to.local(), sender, m) }
	if w.chaos.coded {
		frame := AppendMessage(AppendHeader(nil, sender), m)
		receive = func() {
			if err := Parse(frame, func(from Instance, m *Message) { to.machine.Receive(to.local(), from, m) }); err != nil {
				w.fail("%v", err)
			}
		}
	}
	w.after(delay, to, receive)
	if w.chance(w.chaos.dup) {
		w.after(delay+w.between(0, 100*Millisecond), to, receive)
	}
}

// travel returns how long a message takes, and whether it arrives.
func (w *world) travel(from, to *simNode) (Time, bool) {
	if len(w.cut) > 0 && w.cut[[2]int{from.place, to.place}] || w.chance(w.chaos.loss) {
		return 0, false
	}
	if w.chance(w.chaos.slow) {
		return w.between(Millisecond, 80*Millisecond), true
	}
	return w.between(50_000, Millisecond), true
}
