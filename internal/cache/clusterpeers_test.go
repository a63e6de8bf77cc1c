package cache

import (
	"context"
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
	if owner == k.n || lost {
		return s, false
	}
	cl.nap(4)
	s, ok = owner.c.Answer(ctx, service, request)
	ok = ok && (cl.faults.sharesAnyway || owner.c.Serves(owner.c.Now()))
	cl.nap(4)
	return s, ok
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
	n.c.OnFetch("history", func(ctx context.Context, request []byte) (Shared, bool) {
		r.cluster.mu.Lock()
		c := &client{round: r, node: n, r: rand.New(rand.NewPCG(r.cluster.r.Uint64(), 0))}
		r.cluster.mu.Unlock()
		if e, ok := n.s.store.otter.GetIfPresent(n.s.hash(request)); ok && r.cluster.faults.sharesAnyway && n.c.unmoved(&e.slots, &e.gens, e.tags()) {
			return Shared{Payload: e.Payload(), TTL: e.TTL(n.c.Now())}, true
		}
		of, ts := itemsUnder(string(request))
		return n.s.Share(ctx, request, ts, c.fill(of...))
	})
}

// peerFill returns fill with the owner of the key asked first, in a cluster.
func (c *client) peerFill(key string, fill FillFunc) FillFunc {
	r := c.round
	return c.c.AskFirst(Query{Service: "history", Key: []byte(key), Request: []byte(key), Use: func(s Shared) (Filling, bool) {
		r.shared.Add(1)
		return Filling{Payload: s.Payload, TTL: 150 * time.Millisecond, Refresh: 100 * time.Millisecond}, true
	}}, fill)
}
