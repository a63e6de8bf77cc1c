package protocol

import "fmt"

// simNode is a node of a world: a machine, the cache that it protects, and clients.
type simNode struct {
	w           *world
	name        string
	place       int    // in the network
	life        int    // advanced by each restart
	process     string // the name and the life
	alive       bool
	pausedUntil Time
	blindUntil  Time    // it can't reach the view
	rate        float64 // of its clock
	offset      Time
	machine     *Machine
	ticks       int // number of the newest call of tick that was scheduled

	instance Instance
	lease    Time
	cold     Time
	settle   Time
	era      int
	tags     [simTags]simTag
	entries  [simTags]simEntry
	fills    [simTags]*simFill // the newest ones that other requests may join
	holds    map[heldKey]uint8 // sets of tags
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
	read    Time // when the origin was read, on the world's clock
}

// simFill is a fill that is in flight.
type simFill struct {
	tag        int
	generation int
	era        int
	store      bool // its answer may be shared and stored
	strong     bool
	atOrigin   bool // the origin was asked
	entry      simEntry
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
	begun      Time // on the world's clock
	applied    Time // the same
	sent       bool
	ended      bool
}

// The rules of a host, which TestMutants turns off as well.
const (
	hostLeaseOnHit  rule = rulesEnd + 1 + iota // a hit needs a lease
	hostLeaseOnJoin                            // a request joins a fill only with a lease
	hostLeaseAtSend                            // the lease is checked again before the request is sent
	hostSendEra                                // so is whether the node was taken out meanwhile
	hostPeerLease                              // a peer answers only with a lease
	hostNote                                   // generations are noted before a fill asks
	hostFillEra                                // a fill from before an Empty is not stored
	hostPutAlone                               // the entry of a write is stored only if no other overlapped
	hostWriters                                // nothing is stored while a write is in flight
	hostQuarantine                             // nothing is stored in quarantine
	hostStrong                                 // reads are strong for a time after a write
	hostPurgePeers                             // no peer is asked during a purge
	hostCreator                                // the view is written only over the item that was read
	hostRulesEnd
)

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
	n.process = fmt.Sprintf("%s.%d", n.name, n.life)
	n.alive, n.pausedUntil, n.blindUntil = true, 0, 0
	n.rate = 1 + (w.rng.Float64()*2-1)*w.chaos.drift
	n.offset = w.between(0, 10*Second) - Time(float64(w.now)*n.rate)
	n.lease, n.cold, n.settle = 0, 0, 0
	n.tags, n.entries, n.fills = [simTags]simTag{}, [simTags]simEntry{}, [simTags]*simFill{}
	n.holds, n.ops = map[heldKey]uint8{}, map[uint64]*simWrite{}
	n.machine = New(w.cfg, n)
	if w.steps != nil {
		w.steps.Watch(n.process, n.machine)
	}
	fresh := Time(0)
	if n.place == 0 && n.life == 1 && !w.chaos.cold {
		fresh = n.local() + w.cfg.Lease
	}
	n.machine.Start(Member{Node: n.name}, fresh)
	n.tick()
	n.operate()
	w.logf("%s starts", n.name)
}

// local returns the time of the node's clock.
func (n *simNode) local() Time { return Time(float64(n.w.now)*n.rate) + n.offset }

func (n *simNode) tick() {
	n.machine.Tick(n.local())
	n.tickIn(n.machine.Next(n.local()) - n.local())
}

// tickIn calls tick after a time, in the place of the call that was scheduled before.
func (n *simNode) tickIn(d Time) {
	n.ticks++
	number := n.ticks
	n.w.after(d, n, func() {
		if n.ticks == number {
			n.tick()
		}
	})
}

// The methods of Host.

func (n *simNode) Send(to Instance, m *Message) {
	for _, o := range n.w.nodes {
		if o != n && o.alive && (to == 0 || o.instance == to) {
			n.w.deliver(n, o, m)
		}
	}
}

// blind reports whether the node can't reach the view.
func (n *simNode) blind() bool { return n.w.absent || n.w.now < n.blindUntil }

func (n *simNode) ReadView() {
	w, life := n.w, n.life
	w.after(w.between(0, 2*Millisecond), nil, func() {
		v, err := w.view, error(nil)
		if n.blind() {
			err = fmt.Errorf("unavailable")
		} else if w.steps != nil && n.life == life {
			w.steps.Read(n.process)
		}
		v = v.clone()
		delay := w.between(0, 2*Millisecond)
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
	life, process, by := n.life, n.process, n.instance
	answer := func(err error) {
		if w.now < n.blindUntil {
			err = fmt.Errorf("timeout")
		}
		delay := w.between(0, 2*Millisecond)
		if w.chance(w.chaos.slow) {
			delay = w.between(0, w.cfg.Lease)
		}
		if n.life == life {
			w.after(delay, n, func() { n.machine.Wrote(n.local(), err) })
		}
	}
	write := func() error {
		if w.view.Rev != v.Rev-1 || v.Rev > 1 && w.view.Creator != v.Creator && !off(hostCreator) {
			return ErrConflict
		}
		if w.steps != nil {
			w.steps.View(process, by, &w.view, &v)
		}
		w.view = v
		if n.machine.Mode() == Leaving && w.chance(0.2) {
			n.blindUntil = w.now + w.cfg.Lease // and has left without an answer
		}
		w.logf("view %d of epoch %d by %s: %s", v.Rev, v.Epoch, n.name, describe(&v))
		return nil
	}
	w.after(w.between(0, 2*Millisecond), nil, func() {
		switch {
		case n.blind() && w.chance(0.5):
			answer(fmt.Errorf("unavailable"))
		case n.blind():
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
	set := n.holds[k]
	for _, t := range tags {
		if set&(1<<t) == 0 {
			set |= 1 << t
			n.tags[t].writers++
		}
		n.move(int(t))
	}
	n.holds[k] = set
}

func (n *simNode) Release(owner Instance, seq uint64) { n.release(owner, seq, 0) }

func (n *simNode) ReleaseIn(owner Instance, seq uint64, d Time) { n.release(owner, seq, d) }

func (n *simNode) release(owner Instance, seq uint64, d Time) {
	k := heldKey{owner, seq}
	for t := range simTags {
		if n.holds[k]&(1<<t) != 0 {
			n.move(t)
			n.quarantine(t, d)
			n.tags[t].writers--
		}
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
	if d > 0 && !off(hostQuarantine) {
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
	n.w.after(n.w.moment(Millisecond, 100*Millisecond, n.w.chaos.slow), n, func() {
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
func (n *simNode) Wake()             { n.tickIn(0) }

func (n *simNode) Wall() int64 { return int64(n.w.now / Millisecond) }

func (n *simNode) Instance() Instance {
	n.w.next++
	n.instance = n.w.next
	if n.w.steps != nil {
		n.w.steps.Joins(n.process, n.instance)
	}
	return n.instance
}

// The clients.

func (n *simNode) operate() {
	w := n.w
	if w.chaos.ops == 0 {
		return
	}
	w.after(w.about(w.chaos.ops), n, n.operate)
	switch tag := w.rng.IntN(2); {
	case !w.chance(w.chaos.writes):
		n.get(w.rng.IntN(simTags))
	case w.chance(w.chaos.purges):
		n.begin(&simWrite{tag: tag, purge: true})
	default:
		n.begin(&simWrite{tag: tag, indexed: w.chance(0.3)})
	}
}

// get reads a tag: a hit, or a fill, by a peer if one has an entry.
func (n *simNode) get(tag int) {
	w, now := n.w, n.local()
	serves := now < n.lease
	if serves && n.entries[tag].stored {
		w.counts.hits++
		n.serve(tag, &n.entries[tag])
		return // check has compared it
	}
	if f := n.fills[tag]; serves && f != nil && n.joinable(f) {
		return // check compares its answer as well
	}
	t := &n.tags[tag]
	settled := serves && (t.writers == 0 || off(hostWriters)) && now >= t.quarantined && now >= n.cold
	strong := !settled || (now < max(t.written, t.quarantined)+w.cfg.Settle || now < n.settle) && !off(hostStrong)
	if tag == query && strong {
		settled = false // the index has no strong reads
	}
	f := &simFill{tag: tag, generation: t.generation, era: n.era, store: settled, strong: strong}
	if settled {
		n.fills[tag] = f
		if o := w.nodes[w.rng.IntN(len(w.nodes))]; n.machine.peers[o.instance] != nil && (!n.machine.Purging() || off(hostPurgePeers)) {
			n.askPeer(f, o)
			return
		}
	}
	n.askOrigin(f)
}

// serve records a hit.
func (n *simNode) serve(tag int, e *simEntry) {
	if n.w.steps == nil || tag != itemA {
		return
	}
	var of applied
	if e.version > 0 {
		of = n.w.versions[e.version-1]
	}
	n.w.steps.Serve(n.process, of.process, of.seq)
}

// joinable reports whether the answer of a fill may be shared and stored.
func (n *simNode) joinable(f *simFill) bool {
	same := n.tags[f.tag].generation == f.generation && n.era == f.era || off(hostFillEra) && n.tags[f.tag].generation == f.generation
	return f.store && same
}

// askPeer asks a member for its entry, and the origin if it has none, or is late.
func (n *simNode) askPeer(f *simFill, o *simNode) {
	w := n.w
	w.after(5*Millisecond, n, func() { n.askOrigin(f) })
	delay, ok := w.travel(n, o)
	if !ok {
		return
	}
	w.after(delay, o, func() {
		e := o.entries[f.tag]
		if o.local() >= o.lease && !off(hostPeerLease) || !e.stored {
			return
		}
		if delay, ok := w.travel(o, n); ok {
			w.after(delay, n, func() {
				if !f.atOrigin {
					f.atOrigin = true
					w.counts.peers++
					f.entry = e
					if off(hostNote) {
						f.generation = n.tags[f.tag].generation
					}
					n.store(f)
				}
			})
		}
	})
}

// askOrigin asks the origin, unless a peer has answered.
func (n *simNode) askOrigin(f *simFill) {
	if f.atOrigin {
		return
	}
	f.atOrigin = true
	w, life := n.w, n.life
	w.after(w.between(0, 4*Millisecond), nil, func() {
		f.entry = simEntry{true, w.value(f.tag, f.strong), w.now}
		if n.life == life {
			w.after(w.moment(2*Millisecond, 2*w.cfg.Lease, w.chaos.lag), n, func() { n.store(f) })
		}
	})
}

// store ends a fill.
func (n *simNode) store(f *simFill) {
	if n.joinable(f) {
		n.entries[f.tag] = f.entry
		n.w.counts.fills++
	}
	if n.fills[f.tag] == f {
		n.fills[f.tag] = nil
	}
}

// begin begins a write: first the fence of this node. A purge has no tags; it is carried out
// here at once.
func (n *simNode) begin(o *simWrite) {
	now := n.local()
	o.era, o.begun = n.era, n.w.now
	n.move(o.tag)
	o.generation = n.tags[o.tag].generation
	if n.tags[o.tag].quarantined > now || n.cold > now {
		o.generation = -1
	}
	o.seq = n.machine.seq + 1
	n.ops[o.seq] = o
	if o.purge {
		n.machine.Begin(now, nil, []byte{byte(o.tag)})
	} else {
		n.tags[o.tag].writers++
		n.machine.Begin(now, []uint64{uint64(o.tag)}, nil)
	}
	n.w.after(6*n.w.cfg.Lease, n, func() { n.giveUp(o) })
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
	delay := w.moment(Millisecond, 5*w.cfg.Lease, w.chaos.slow)
	if delay > Millisecond && w.chance(0.5) {
		w.injectAt(n)
	}
	w.after(delay, n, func() { n.send(o) })
}

func (n *simNode) send(o *simWrite) {
	w := n.w
	if o.ended {
		return
	}
	isolated := n.local() >= n.lease && !off(hostLeaseAtSend) && !off(ruleLeaseAtRound)
	if isolated || n.era != o.era && !off(hostSendEra) {
		n.machine.Commit(o.seq)
		n.end(o, 0) // refused
		w.counts.refusals++
		return
	}
	if o.purge {
		n.machine.Commit(o.seq)
		n.end(o, 0)
		w.purged[o.tag] = max(w.purged[o.tag], o.begun)
		w.counts.purges++
		return
	}
	o.sent = true
	if w.steps != nil {
		w.steps.Send(n.machine, o.seq)
	}
	process := n.process
	w.after(w.chaos.timeout, n, func() {
		if !o.ended && o.version == 0 {
			n.unsure(o)
		}
	})
	switch {
	case w.chance(w.chaos.late / 2): // lost on the way
	case w.chance(w.chaos.late):
		w.logf("%s: write %d of tag %d is late", n.name, o.seq, o.tag)
		if w.chance(0.3) {
			w.injectAt(n)
		}
		w.after(w.between(0, w.chaos.reach), nil, func() { w.apply(process, o) })
	default:
		life := n.life
		w.after(w.between(0, 5*Millisecond), nil, func() {
			version := w.apply(process, o)
			o.applied = w.now
			if n.life == life {
				w.after(w.moment(5*Millisecond, w.chaos.timeout, w.chaos.lag), n, func() { n.answered(o, version) })
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
	alone := n.tags[o.tag].writers == 1 && n.tags[o.tag].generation == o.generation || off(hostPutAlone)
	alone = alone && n.era == o.era
	n.end(o, 0)
	if alone {
		n.entries[o.tag] = simEntry{true, o.version, o.applied}
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
	delete(n.ops, o.seq)
	if o.purge {
		return
	}
	n.move(o.tag)
	n.quarantine(o.tag, quarantine)
	n.tags[o.tag].writers--
	if o.indexed && o.version != 0 {
		n.move(query)
		n.quarantine(query, quarantine)
		n.tags[query].writers--
	}
}
