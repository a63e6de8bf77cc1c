package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

var (
	historyOps  = flag.Int("history.ops", 0, "number of operations of TestHistory; 0 for as many as take about five seconds")
	historySeed = flag.Uint64("history.seed", 0, "seed of the first round of TestHistory; 0 for a new one")
)

// The origin of the history check has a register for each item. Its replicas lag by up to
// originLag, and it may apply a lost request up to originLate later.
const (
	originLag  = 40 * time.Millisecond
	originLate = 100 * time.Millisecond
	items      = 4
)

type version struct {
	value uint32
	at    time.Time
}

type register struct {
	sync.Mutex
	versions [items][]version
}

// apply sets items at once.
func (o *register) apply(values map[int]uint32) {
	o.Lock()
	defer o.Unlock()
	for i, v := range values {
		o.versions[i] = append(o.versions[i], version{v, time.Now()})
	}
}

func (o *register) asOf(item int, t time.Time) (value uint32) {
	for _, v := range o.versions[item] {
		if !v.at.After(t) {
			value = v.value
		}
	}
	return value
}

// read reads the primary if lag is 0, otherwise a replica.
func (o *register) read(item int, lag time.Duration) uint32 {
	o.Lock()
	defer o.Unlock()
	return o.asOf(item, time.Now().Add(-lag))
}

// round is one history: some clients, a few items, one cache or a cluster of several.
type round struct {
	nodes   []*node
	cluster *cluster // nil with one cache
	origin  register
	tight   bool // no delays: everything happens at one instant, in parallel
	clock   atomic.Int64
	values  atomic.Uint32
	unknown [items]atomic.Int32
	hits    atomic.Int64
	gets    atomic.Int64
	puts    atomic.Int64
	refused atomic.Int64
	shared  atomic.Int64
	warmed  atomic.Int64
	mu      sync.Mutex
	history [items][]porcupine.Operation
}

// totals holds the sums over all rounds of reads, hits, stored puts, writes refused by the cluster,
// answers of other nodes, those that were taken over without a client's request, overtaken fills,
// unsettled fills, queued reads and refreshes.
type totals [10]uint64

// client is one goroutine of a round, with the node that serves its present request.
type client struct {
	*round
	*node
	id int
	r  *rand.Rand
}

type access struct {
	write bool
	value uint32
}

// nap lets other clients run, for a moment or for longer than a replica lags.
func (c *client) nap() {
	switch n := c.r.IntN(10); {
	case c.tight || n < 3:
		runtime.Gosched()
	case n < 9:
		pass(time.Duration(c.r.IntN(8)) * time.Millisecond)
	default:
		pass(time.Duration(c.r.IntN(2 * int(originLag))).Round(time.Millisecond))
	}
}

func (c *client) record(call int64, done int64, item int, a access, got uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history[item] = append(c.history[item], porcupine.Operation{
		ClientId: c.id, Input: a, Output: got, Call: call, Return: done,
	})
}

func itemName(item int) string { return fmt.Sprintf("item %d", item) }

func itemTags(item int) []Tag { return tags(itemName(item), "table") }

func encode(values ...uint32) (out []byte) {
	for _, v := range values {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	return out
}

func decode(e *Entry, i int) uint32 { return binary.BigEndian.Uint32(e.Payload()[4*i:]) }

func (c *client) filling(values ...uint32) Filling {
	return Filling{Payload: encode(values...), TTL: 150 * time.Millisecond, Refresh: 100 * time.Millisecond}
}

// lag returns the lag of the replica that answers a fill.
func (c *client) lag(st *Stamp) time.Duration {
	if st.Strong {
		return 0
	}
	return time.Duration(c.r.Int64N(int64(originLag) + 1))
}

var errOrigin = errors.New("origin: throttled")

// fill returns a function that reads items. It has a random source of its own, since it may outlive
// its caller.
func (c *client) fill(of ...int) FillFunc {
	f := &client{round: c.round, node: c.node, r: rand.New(rand.NewPCG(c.r.Uint64(), 0))}
	return func(_ context.Context, st *Stamp) (Filling, error) {
		f.nap()
		if f.r.IntN(50) == 0 {
			return Filling{}, errOrigin
		}
		var values []uint32
		lag := f.lag(st)
		for _, item := range of {
			values = append(values, f.origin.read(item, lag))
		}
		f.nap()
		return f.filling(values...), nil
	}
}

// get is a client's read of one item, or of all of them as a query.
func (c *client) get(key string) {
	of, ts := itemsUnder(key)
	ctx := context.Background()
	if c.r.IntN(20) == 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.r.IntN(5))*time.Millisecond)
		defer cancel()
	}
	c.gets.Add(1)
	call := c.clock.Add(1)
	e, found, refresh := c.s.Lookup([]byte(key), c.c.Now())
	if found == Fresh {
		c.hits.Add(1)
		if refresh {
			c.s.Refresh([]byte(key), ts, c.fill(of...))
		}
	} else {
		a, err := c.s.Fill(ctx, []byte(key), ts, c.peerFill(key, c.fill(of...)))
		if err != nil {
			return
		}
		e = a.Entry
	}
	done := c.clock.Add(1)
	for i, item := range of {
		c.record(call, done, item, access{}, decode(e, i))
	}
}

// strong is a read that bypasses the cache.
func (c *client) strong(item int) {
	call := c.clock.Add(1)
	c.nap()
	v := c.origin.read(item, 0)
	c.nap()
	c.record(call, c.clock.Add(1), item, access{}, v)
}

// batch reads two items with one request. In a cluster it asks another node first.
func (c *client) batch(one, two int) {
	call := c.clock.Add(1)
	of := [2]int{one, two}
	st := [2]Stamp{c.c.Note(itemTags(one)...), c.c.Note(itemTags(two)...)}
	c.nap()
	shared := c.askBatch(of, st)
	for i, item := range of {
		if shared[i] != nil {
			c.record(call, c.clock.Add(1), item, access{}, *shared[i])
			continue
		}
		st := c.c.Note(itemTags(item)...)
		v := c.origin.read(item, c.lag(&st))
		c.nap()
		f := c.filling(v)
		c.s.Store(st, []byte(itemName(item)), &f)
		c.record(call, c.clock.Add(1), item, access{}, v)
	}
}

// outcome is how a write ends.
type outcome uint8

const (
	known   outcome = iota // the client's write stores the new value
	opaque                 // done, but the new value is not known
	refused                // a condition failed: nothing was done
	lost                   // the connection broke
	outcomes
)

// write writes items in one transaction.
func (c *client) write(how outcome, of ...int) {
	var ts []Tag
	values := make(map[int]uint32)
	for _, item := range of {
		ts = append(ts, tags(itemName(item))...)
		values[item] = c.values.Add(1)
	}
	call := c.clock.Add(1)
	w, err := c.c.Begin(context.Background(), append(ts, tags("partition")...), tags("table"))
	if err != nil {
		c.refused.Add(1)
		return
	}
	defer w.Unknown()
	c.nap()
	if c.cluster != nil && c.r.IntN(20) == 0 {
		pass(originLate + originLag) // longer than other members wait for a node that was taken out
	}
	switch {
	case how == refused || !w.Sendable():
		commit(w, Change{})
		return
	case how == lost:
		c.lose(w, call, values)
		return
	}
	c.origin.apply(values)
	c.nap()
	var ch Change
	for item, v := range values {
		if how == known {
			ch.Puts = append(ch.Puts, Put{Space: c.s, Key: []byte(itemName(item)), Tags: itemTags(item), Filling: c.filling(v)})
		}
	}
	c.puts.Add(int64(commit(w, ch)))
	done := c.clock.Add(1)
	for item, v := range values {
		c.record(call, done, item, access{true, v}, 0)
	}
}

// lose ends a write with an unknown outcome: the origin applies it now, later or never.
func (c *client) lose(w *Write, call int64, values map[int]uint32) {
	late := time.Duration(c.r.Int64N(int64(originLate) + 1))
	switch {
	case c.r.IntN(3) == 0:
		c.origin.apply(values)
	case c.r.IntN(2) == 0:
		go func() {
			pass(late)
			c.origin.apply(values)
		}()
	}
	w.Unknown()
	for item, v := range values {
		c.record(call, math.MaxInt64, item, access{true, v}, 0)
	}
}

// step makes one random request.
func (c *client) step() {
	c.node = c.nodes[c.r.IntN(len(c.nodes))]
	one, two := c.r.IntN(items), c.r.IntN(items)
	switch n := c.r.IntN(100); {
	case n < 45:
		c.get(itemName(one))
	case n < 53:
		c.get("query")
	case n < 55 && c.cluster != nil:
		c.warm(c.nodes[c.r.IntN(len(c.nodes))])
	case n < 65:
		c.strong(one)
	case n < 70:
		c.batch(one, two)
	case n < 72:
		// After an error the purge is not complete, which no read depends on.
		_ = c.c.Invalidate(context.Background(), Change{Cause: ByPurge, Tags: itemTags(one)[c.r.IntN(2):][:1]})
	case n < 76:
		// Few: each one doubles the work of the checker.
		if !c.tight && c.unknown[one].Add(1) <= 2 {
			c.write(lost, one)
		}
	case n < 82 && one != two:
		c.write(known, one, two)
	default:
		c.write(outcome(c.r.IntN(int(lost))), one)
	}
	c.nap()
}

// history runs a round of ops operations before one cache, or a cluster of several if its
// faults are not nil, and returns the violations.
func history(t *testing.T, seed uint64, ops int, with *clusterFaults, total *totals) (violations []string) {
	const clients = 6
	r := &round{tight: seed%4 == 0}
	synctest.Test(t, func(t *testing.T) {
		chance := rand.New(rand.NewPCG(seed, 0))
		cfg := Config{Settle: originLag, Quarantine: originLate, Generations: 4 << chance.IntN(10)}
		caches := 1
		if with != nil {
			caches = 2 + chance.IntN(3)
		}
		for range caches {
			n := &node{}
			n.c, n.s = open(t, cfg)
			r.nodes = append(r.nodes, n)
		}
		stop := func() {}
		if with != nil {
			r.cluster, stop = newCluster(r.nodes, *with, chance)
			for _, n := range r.nodes {
				r.share(n)
			}
		}
		pass(time.Duration(chance.Int64N(int64(2 * originLag))))
		var wg sync.WaitGroup
		for id := range clients {
			c := &client{round: r, id: id, r: rand.New(rand.NewPCG(seed, uint64(id)+1))}
			wg.Go(func() {
				for range ops / clients {
					c.step()
				}
			})
		}
		wg.Wait()
		stop()
		pass(2 * originLate) // late requests
	})
	for i, n := range []int64{r.gets.Load(), r.hits.Load(), r.puts.Load(), r.refused.Load(), r.shared.Load(), r.warmed.Load()} {
		total[i] += uint64(n)
	}
	for _, n := range r.nodes {
		st := n.c.Stats()
		for i, n := range []uint64{st.Overtaken, st.Unsettled, st.Queued, st.Refreshes} {
			total[6+i] += n
		}
	}
	for item, h := range r.history {
		if porcupine.CheckOperationsTimeout(registerModel, h, time.Minute) != porcupine.Ok {
			violations = append(violations, fmt.Sprintf("item %d has no order:\n%s", item, text(h)))
		}
	}
	return violations
}

// registerModel is the guarantee for a client: one value at a time.
var registerModel = porcupine.Model{
	Init: func() any { return uint32(0) },
	Step: func(state, in, out any) (bool, any) {
		if a := in.(access); a.write {
			return true, a.value
		}
		return state == out, state
	},
}

func text(h []porcupine.Operation) string {
	slices.SortFunc(h, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, op := range h {
		verb, value := "reads", op.Output
		if a := op.Input.(access); a.write {
			verb, value = "writes", a.value
		}
		fmt.Fprintf(&b, "  client %d %s %d from %d to %d\n", op.ClientId, verb, value, op.Call, op.Return)
	}
	return b.String()
}

// defaultOps returns the number of operations of TestHistory: fewer with the race detector,
// which slows each of them.
func defaultOps() int {
	if race.Enabled {
		return 120_000
	}
	return 800_000
}

// TestHistory checks that reads, through the cache and directly, that are concurrent with
// writes, transactions, lost writes and purges return what they would without a cache. If the
// cache is built with the tag kasokubroken it ignores its fence, and the check must find a
// violation.
func TestHistory(t *testing.T) { checkHistories(t, defaultOps(), nil) }

// TestHistoryOfCluster is TestHistory for clusters of up to four caches before one origin, whose
// members leave and join again.
func TestHistoryOfCluster(t *testing.T) { checkHistories(t, defaultOps()/4, &clusterFaults{}) }

// checkHistories checks as many histories as have about ops operations.
func checkHistories(t *testing.T, ops int, with *clusterFaults) {
	const perRound = 360
	seed := *historySeed
	if *historyOps != 0 {
		ops = *historyOps
	}
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	var total totals
	rounds := 0
	for done := 0; done < ops; done += perRound {
		violations := history(t, seed, perRound, with, &total)
		if len(violations) > 0 && fenceIgnored {
			t.Logf("found a violation in round %d", rounds)
			return
		}
		if len(violations) > 0 {
			t.Fatalf("-history.seed %d: %s", seed, strings.Join(violations, "\n"))
		}
		seed, rounds = seed+1, rounds+1
	}
	if fenceIgnored {
		t.Fatalf("%d rounds without the fence: got no violation", rounds)
	}
	t.Logf("%d rounds: reads, hits, puts, refused, shared, warmed, overtaken, unsettled, queued, refreshes: %d", rounds, total)
	if with == nil {
		total[3], total[4], total[5] = 1, 1, 1 // nothing is refused or shared without a cluster
	}
	// A check of a cache that caches nothing would test nothing.
	if slices.Contains(total[:], 0) || total[1] < total[0]/20 {
		t.Fatal("the rounds did not include enough of each operation")
	}
}
