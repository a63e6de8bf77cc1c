package cache

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Fetch implements Peers. Messages take a while, and the owner of a key is one of all nodes,
// whether it is a member or not.
func (k clusterNode) Fetch(ctx context.Context, service string, key, request []byte) (s Shared, ok bool) {
	cl := k.cl
	owner := cl.all[xxhash.Sum64(key)%uint64(len(cl.all))]
	cl.mu.Lock()
	lost := cl.r.IntN(10) == 0
	cl.mu.Unlock()
	if owner == k.n {
		return k.FetchStored(ctx, service, key, request)
	}
	if lost {
		return s, false
	}
	cl.nap(4)
	s, ok = owner.c.Answer(ctx, service, request)
	ok = ok && (cl.faults.sharesAnyway || owner.c.Serves(owner.c.Now()))
	cl.nap(4)
	return s, ok
}

// FetchStored implements Peers. It asks any other node, which may be no member.
func (k clusterNode) FetchStored(_ context.Context, service string, _, request []byte) (s Shared, ok bool) {
	other := k.n
	k.cl.mu.Lock()
	for other == k.n {
		other = k.cl.all[k.cl.r.IntN(len(k.cl.all))]
	}
	k.cl.mu.Unlock()
	k.cl.nap(4)
	s, ok = other.c.Stored(service, request)
	ok = ok && (k.cl.faults.sharesAnyway || other.c.Serves(other.c.Now()))
	k.cl.nap(4)
	return s, ok
}

func (clusterNode) Owns([]byte) bool { return false }

// FetchAll implements Peers. It is not used here.
func (clusterNode) FetchAll(context.Context, string, []byte) []Shared { return nil }

// warmer is the Warmer of a node.
type warmer struct {
	*round
	*node
}

func (w warmer) Hottest(n int, yield func([]byte) bool) {
	for _, e := range w.s.Hottest(n) {
		if !yield(e.Key()) {
			return
		}
	}
}

func (w warmer) Stored(question []byte) (Shared, bool) {
	if e, ok := w.s.store.otter.GetIfPresent(w.s.hash(question)); ok && w.cluster.faults.sharesAnyway && w.c.unmoved(&e.slots, &e.gens, e.tags()) {
		return Shared{Payload: e.Payload(), TTL: e.TTL(w.c.Now())}, true
	}
	return w.s.Fresh(question)
}

func (w warmer) Expect(_ context.Context, question []byte) func(Shared) bool {
	_, ts := itemsUnder(string(question))
	return w.s.Expect(question, ts, w.use)
}

// warm takes over all that another node has stored.
func (c *client) warm(other *node) {
	other.c.Warmer("history").Hottest(items+1, func(question []byte) bool {
		expect := func() func(Shared) bool { return c.c.Warmer("history").Expect(context.Background(), question) }
		store := expect()
		if store == nil {
			return true
		}
		c.nap()
		s, ok := other.c.Stored("history", question)
		ok = ok && (c.cluster.faults.sharesAnyway || other.c.Serves(other.c.Now()))
		c.nap()
		if c.cluster.faults.notesLate {
			pass(originLag) // for a write to begin and end
			store = expect()
		}
		if ok && store != nil && store(s) {
			c.warmed.Add(1)
		}
		return true
	})
}

// use returns what is stored of an answer of another node.
func (r *round) use(s Shared) (Filling, bool) {
	r.shared.Add(1)
	return Filling{Payload: s.Payload, TTL: 150 * time.Millisecond, Refresh: 100 * time.Millisecond}, true
}

func (clusterNode) Owner([]byte) string { return "" }

var _ Peers = clusterNode{}

// itemsUnder returns the items that a key shows, and the tags on which they depend.
func itemsUnder(key string) (of []int, ts []Tag) {
	if key == "query" {
		return []int{0, 1, 2, 3}, tags("partition", "table")
	}
	var item int
	if _, err := fmt.Sscanf(key, "item %d", &item); err != nil {
		panic(err)
	}
	return []int{item}, itemTags(item)
}

// share lets n answer the other nodes of the round.
func (r *round) share(n *node) {
	n.c.OnWarm("history", warmer{r, n})
	n.c.OnFetch("history", func(ctx context.Context, request []byte) (Shared, bool) {
		r.cluster.mu.Lock()
		c := &client{round: r, node: n, r: rand.New(rand.NewPCG(r.cluster.r.Uint64(), 0))}
		r.cluster.mu.Unlock()
		if e, ok := n.s.store.otter.GetIfPresent(n.s.hash(request)); ok && r.cluster.faults.sharesAnyway && n.c.unmoved(&e.slots, &e.gens, e.tags()) {
			return Shared{Payload: e.Payload(), TTL: e.TTL(n.c.Now())}, true
		}
		var batch [2]int
		if _, err := fmt.Sscanf(string(request), "batch %d %d", &batch[0], &batch[1]); err == nil {
			return c.shareBatch(ctx, batch)
		}
		of, ts := itemsUnder(string(request))
		return n.s.Share(ctx, request, ts, n.c.AskStored(r.query(string(request)), c.fill(of...)))
	})
}

// shareBatch answers a question for two items, with one fill for the ones that are not stored.
// The answer for an item is its value, or nothing.
func (c *client) shareBatch(ctx context.Context, of [2]int) (s Shared, ok bool) {
	s.TTL = time.Hour
	take := func(e *Entry) []byte {
		s.TTL = min(s.TTL, e.TTL(c.c.Now()))
		return e.Payload()
	}
	var values [2][]byte
	g := c.s.NewGroup()
	defer g.End()
	var fills [2]GroupFill
	for i, item := range of {
		if e, found := c.s.Peek([]byte(itemName(item)), c.c.Now()); found == Fresh {
			values[i] = take(e)
			continue
		}
		fills[i], _ = g.Join([]byte(itemName(item)), itemTags(item))
	}
	c.nap()
	for i, item := range of {
		if fills[i].Own() && c.r.IntN(10) > 0 { // otherwise the origin has left it out
			f := c.filling(c.origin.read(item, c.lag(&Stamp{Strong: fills[i].Strong()})))
			c.nap()
			g.Store(fills[i], &f)
		}
	}
	g.End()
	for i, f := range fills {
		if e, stored := g.Wait(ctx, f); stored {
			values[i] = take(e)
		}
	}
	for i, v := range values {
		if v != nil {
			s.Payload = append(append(s.Payload, byte(i)), v...)
		}
	}
	return s, true
}

// askBatch asks another node for two items, and stores what it has answered. It returns the
// values, or nil for those that the origin must be asked for.
func (c *client) askBatch(of [2]int, st [2]Stamp) (values [2]*uint32) {
	if !c.c.HasPeers() || !st[0].Settled || !st[1].Settled {
		return values
	}
	start := c.c.Now()
	s, ok := c.c.AskOwner(context.Background(), "history", []byte(itemName(of[0])), fmt.Appendf(nil, "batch %d %d", of[0], of[1]))
	took := time.Duration(c.c.Now() - start)
	for ; ok && len(s.Payload) >= 5; s.Payload = s.Payload[5:] {
		c.round.shared.Add(1)
		i, v := s.Payload[0], binary.BigEndian.Uint32(s.Payload[1:])
		f := c.filling(v)
		f.TTL = min(f.TTL, s.TTL-took)
		c.s.Store(st[i], []byte(itemName(of[i])), &f)
		values[i] = &v
	}
	return values
}

// peerFill returns fill with the owner of the key asked first, in a cluster.
func (c *client) peerFill(key string, fill FillFunc) FillFunc {
	return c.c.AskFirst(c.query(key), fill)
}

// query returns the question for a key.
func (r *round) query(key string) Query {
	return Query{Service: "history", Key: []byte(key), Request: []byte(key), Use: r.use}
}
