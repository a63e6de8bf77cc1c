package protocol

import "fmt"

// simNode is a node of a world: a machine, the cache that it protects, and clients.
type simNode struct {
	w           *world
	name        string
	place       int // in the network
	life        int // advanced by each restart
	alive       bool
	pausedUntil Time
	rate        float64 // of its clock
	offset      Time
	machine     *Machine

	instance Instance
	lease    Time
	cold     Time
	settle   Time
	era      int
	tags     [simTags]simTag
	entries  [simTags]simEntry
	holds    map[heldKey]map[int]bool
	ops      map[uint64]*simWrite
}

// simTag is a generation with its writers, as package cache has it.
type simTag struct {
	generation  int
	writers     int
	quarantined Time
	written     Time // when it was last moved
}

type simEntry struct {
	stored  bool
	version int
}

// simWrite is a client's write.
type simWrite struct {
	tag        int
	indexed    bool
	purge      bool
	seq        uint64
	era        int
	generation int
	version    int
	sent       bool
	ended      bool
}

func (w *world) addNode() *simNode {
	n := &simNode{w: w, name: fmt.Sprintf("n%d", w.names), place: w.names}
	w.names++
	w.nodes = append(w.nodes, n)
	n.start()
	return n
}

// start begins a new life of the process.
func (n *simNode) start() {
	w := n.w
	n.life++
	n.alive, n.pausedUntil = true, 0
	n.rate = 1 + (w.rng.Float64()*2-1)*w.chaos.drift
	n.offset = w.between(0, 10*Second) - Time(float64(w.now)*n.rate)
	n.lease, n.cold, n.settle = 0, 0, 0
	n.tags, n.entries = [simTags]simTag{}, [simTags]simEntry{}
	n.holds, n.ops = map[heldKey]map[int]bool{}, map[uint64]*simWrite{}
	n.machine = New(w.cfg, n)
	n.machine.Start(Member{Node: n.name}, false)
	n.tick()
	w.after(w.about(w.chaos.ops), n, n.operate)
	w.logf("%s starts", n.name)
}

// local returns the time of the node's clock.
func (n *simNode) local() Time { return Time(float64(n.w.now)*n.rate) + n.offset }

func (n *simNode) tick() {
	n.machine.Tick(n.local())
	n.w.after(n.machine.Next(n.local())-n.local(), n, n.tick)
}

// The methods of Host.

func (n *simNode) Send(to Instance, m *Message) {
	for _, o := range n.w.nodes {
		if o != n && o.alive && (to == 0 || o.instance == to) {
			n.w.deliver(n, o, m)
		}
	}
}

func (n *simNode) ReadView() {
	w, life := n.w, n.life
	w.after(w.between(0, 3*Millisecond), nil, func() {
		v, err := w.view, error(nil)
		if w.absent {
			err = fmt.Errorf("unavailable")
		}
		v = v.clone()
		delay := w.between(0, 3*Millisecond)
		if w.chance(w.chaos.slow) {
			delay = w.between(0, w.cfg.Lease)
		}
		if n.life != life {
			return
		}
		w.after(delay, n, func() { n.machine.Viewed(n.local(), v, err) })
	})
}

func (n *simNode) WriteView(v View) {
	w := n.w
	v = v.clone()
	life := n.life
	answer := func(err error) {
		if n.life == life {
			w.after(w.between(0, 3*Millisecond), n, func() { n.machine.Wrote(n.local(), err) })
		}
	}
	write := func() error {
		if w.view.Rev != v.Rev-1 || w.view.Rev > 0 && w.view.Creator != v.Creator {
			return ErrConflict
		}
		w.view = v
		w.logf("view %d of epoch %d by %s: %s", v.Rev, v.Epoch, n.name, describe(&v))
		return nil
	}
	w.after(w.between(0, 3*Millisecond), nil, func() {
		switch {
		case w.absent && w.chance(0.5):
			answer(fmt.Errorf("unavailable"))
		case w.absent:
			// It is executed later, and its answer is lost.
			answer(fmt.Errorf("timeout"))
			w.after(w.between(0, 50*Millisecond), nil, func() { _ = write() })
		default:
			answer(write())
		}
	})
}

func describe(v *View) (s string) {
	for _, m := range v.Members {
		s += fmt.Sprintf(" %s/%d", m.Node, m.Instance)
		if m.Joining {
			s += "(joining)"
		}
	}
	for _, p := range v.Suspended {
		s += fmt.Sprintf(" %d suspends %d", p.By, p.Of)
	}
	return s
}

func (n *simNode) Fence(owner Instance, seq uint64, tags []uint64) {
	k := heldKey{owner, seq}
	if n.holds[k] == nil {
		n.holds[k] = map[int]bool{}
	}
	for _, t := range tags {
		if !n.holds[k][int(t)] {
			n.holds[k][int(t)] = true
			n.tags[t].writers++
		}
		n.move(int(t))
	}
}

func (n *simNode) Release(owner Instance, seq uint64) { n.release(owner, seq, 0) }

func (n *simNode) ReleaseIn(owner Instance, seq uint64, d Time) { n.release(owner, seq, d) }

func (n *simNode) release(owner Instance, seq uint64, d Time) {
	k := heldKey{owner, seq}
	for t := range n.holds[k] {
		n.move(t)
		n.quarantine(t, d)
		n.tags[t].writers--
	}
	delete(n.holds, k)
}

func (n *simNode) Quarantine(tags []uint64, d Time) {
	for _, t := range tags {
		n.move(int(t))
		n.quarantine(int(t), d)
	}
}

func (n *simNode) quarantine(tag int, d Time) {
	if d > 0 {
		n.tags[tag].quarantined = max(n.tags[tag].quarantined, n.local()+d)
	}
}

// move moves a generation: what was stored or noted before is out of reach.
func (n *simNode) move(tag int) {
	n.tags[tag].generation++
	n.tags[tag].written = n.local()
	n.entries[tag] = simEntry{}
}

func (n *simNode) Apply(owner Instance, seq uint64, payload []byte) {
	n.w.after(n.w.between(0, Millisecond), n, func() {
		for _, t := range payload {
			n.move(int(t))
		}
		n.machine.Applied(owner, seq)
	})
}

func (n *simNode) Lease(until Time) { n.lease = until }

func (n *simNode) Empty() {
	n.era++
	n.entries = [simTags]simEntry{}
}

func (n *simNode) Cold(until Time)   { n.cold = until }
func (n *simNode) Settle(until Time) { n.settle = until }
func (n *simNode) Changed()          {}

func (n *simNode) Wall() int64 { return int64(n.w.now / Millisecond) }

func (n *simNode) Instance() Instance {
	n.w.next++
	n.instance = n.w.next
	return n.instance
}

// The clients.

func (n *simNode) operate() {
	w := n.w
	w.after(w.about(w.chaos.ops), n, n.operate)
	switch tag := w.rng.IntN(2); {
	case w.chance(0.6):
		n.get(w.rng.IntN(simTags))
	case w.chance(0.2):
		n.begin(&simWrite{tag: tag, purge: true})
	default:
		n.begin(&simWrite{tag: tag, indexed: w.chance(0.4)})
	}
}

// get reads a tag: a hit, or a fill.
func (n *simNode) get(tag int) {
	w, now := n.w, n.local()
	serves := now < n.lease
	if serves && n.entries[tag].stored {
		w.counts.hits++
		return // check has compared it
	}
	t := &n.tags[tag]
	settled := serves && t.writers == 0 && now >= t.quarantined && now >= n.cold
	strong := !settled || now < max(t.written, t.quarantined)+w.cfg.Settle || now < n.settle
	if tag == query && strong {
		settled = false // the index has no strong reads
	}
	generation, era, life := t.generation, n.era, n.life
	w.after(w.between(0, 5*Millisecond), nil, func() {
		version := w.value(tag, strong)
		if n.life != life {
			return
		}
		w.after(w.between(0, 5*Millisecond), n, func() {
			if settled && n.tags[tag].generation == generation && n.era == era {
				n.entries[tag] = simEntry{true, version}
			}
		})
	})
}

// begin begins a write: first the fence of this node.
func (n *simNode) begin(o *simWrite) {
	now := n.local()
	o.era = n.era
	n.tags[o.tag].writers++
	n.move(o.tag)
	o.generation = n.tags[o.tag].generation
	if n.tags[o.tag].quarantined > now || n.cold > now {
		o.generation = -1
	}
	var payload []byte
	if o.purge {
		payload = []byte{byte(o.tag)}
	}
	n.ops[n.machine.seq+1] = o
	o.seq = n.machine.seq + 1
	n.machine.Begin(now, []uint64{uint64(o.tag)}, payload)
	n.w.after(700*Millisecond, n, func() { n.giveUp(o) })
}

// giveUp ends a write whose client does not wait any longer.
func (n *simNode) giveUp(o *simWrite) {
	switch {
	case o.ended || o.sent && o.version == 0:
	case o.version == 0:
		n.machine.Commit(o.seq)
		n.end(o, 0)
		n.w.counts.refusals++
	default:
		n.unsure(o)
	}
}

// Allowed sends the request, after the moment that a goroutine needs.
func (n *simNode) Allowed(seq uint64) {
	w, o := n.w, n.ops[seq]
	w.after(w.between(0, Millisecond), n, func() { n.send(o) })
}

func (n *simNode) send(o *simWrite) {
	w := n.w
	if o.ended {
		return
	}
	if n.local() >= n.lease {
		n.machine.Commit(o.seq)
		n.end(o, 0) // refused
		w.counts.refusals++
		return
	}
	if o.purge {
		n.machine.Commit(o.seq)
		n.end(o, 0)
		w.counts.puts++
		return
	}
	o.sent = true
	const timeout = 80 * Millisecond
	w.after(timeout, n, func() {
		if !o.ended && o.version == 0 {
			n.unsure(o)
		}
	})
	switch {
	case w.chance(0.03): // lost on the way
	case w.chance(0.05): // late
		w.logf("%s: write %d of tag %d is late", n.name, o.seq, o.tag)
		w.after(w.between(0, timeout+w.cfg.Quarantine*9/10), nil, func() { w.apply(o.tag, o.indexed) })
	default:
		life := n.life
		w.after(w.between(0, 10*Millisecond), nil, func() {
			version := w.apply(o.tag, o.indexed)
			if n.life == life {
				w.after(w.between(0, 10*Millisecond), n, func() { n.answered(o, version) })
			}
		})
	}
}

// answered handles the origin's answer.
func (n *simNode) answered(o *simWrite, version int) {
	if o.ended {
		return
	}
	o.version = version
	if !o.indexed {
		n.commit(o)
		return
	}
	n.tags[query].writers++
	n.move(query)
	n.machine.Extend(n.local(), o.seq, []uint64{query})
}

// Extended ends an indexed write.
func (n *simNode) Extended(seq uint64) { n.commit(n.ops[seq]) }

func (n *simNode) commit(o *simWrite) {
	w := n.w
	alone := n.tags[o.tag].writers == 1 && n.tags[o.tag].generation == o.generation && n.era == o.era
	n.end(o, 0)
	if alone {
		n.entries[o.tag] = simEntry{true, o.version}
	}
	n.machine.Commit(o.seq)
	w.acked[o.tag] = max(w.acked[o.tag], o.version)
	if o.indexed {
		w.acked[query] = max(w.acked[query], o.version)
	}
	w.counts.acks++
}

// unsure ends a write with an unknown outcome.
func (n *simNode) unsure(o *simWrite) {
	n.w.logf("%s: write %d of tag %d is unknown", n.name, o.seq, o.tag)
	n.end(o, n.w.cfg.Quarantine)
	n.move(query)
	n.quarantine(query, n.w.cfg.Quarantine)
	n.machine.Unknown(n.local(), o.seq, []uint64{query})
	n.w.counts.unknown++
}

// Failed ends a write that was refused, or whose further tags could not be fenced.
func (n *simNode) Failed(seq uint64, _ error) {
	o := n.ops[seq]
	switch {
	case o.ended:
	case o.version == 0:
		n.end(o, 0)
		n.w.counts.refusals++
	default:
		n.unsure(o)
	}
}

// end ends a write on this node.
func (n *simNode) end(o *simWrite, quarantine Time) {
	o.ended = true
	n.move(o.tag)
	n.quarantine(o.tag, quarantine)
	n.tags[o.tag].writers--
	if o.indexed && o.version != 0 {
		n.move(query)
		n.quarantine(query, quarantine)
		n.tags[query].writers--
	}
	delete(n.ops, o.seq)
}
