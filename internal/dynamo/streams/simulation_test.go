package streams

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// simulation has a table with a stream, a writer, and a cache that drops what the records of
// the stream concern. It checks that
//   - no cached answer is served that is older than MaxLag and the delay of the stream,
//   - the records of an item are applied in order, and none is left out without a fence,
//   - Through does not move back.
type simulation struct {
	t *testing.T
	*origin
	r          *rand.Rand // of the driver
	faults     *rand.Rand // of the origin, guarded by origin.mu
	cfg        Config
	f          *Follower
	stop       context.CancelFunc
	result     chan error
	maxDelay   time.Duration // from a write to its visibility in the stream
	maxListing time.Duration // from the creation of a shard until it is listed
	errorsOf   float64       // the share of calls that fail
	omit       int           // one of as many records is not applied, if it is not 0

	// The table, guarded by origin.mu.
	items []item
	homes []*originShard // by item

	cacheMu   sync.Mutex
	cached    []entry // by item
	dropped   []int   // by item: how often its entry was dropped
	applied   []int   // by item: the version of its latest record, or -1 after a fence
	appliedN  int     // records
	fenced    time.Time
	through   time.Time
	served    int
	fences    int
	handovers int
	failures  []string
}

// item has the time of each version of an item.
type item struct{ writes []time.Time }

type entry struct {
	version int // -1 if there is none
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	return newSimulationOf(t, seed, 5+int(seed*7%40))
}

// newSimulationOf returns a simulation of n items.
func newSimulationOf(t *testing.T, seed uint64, n int) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &simulation{t: t, origin: newOrigin(1 + r.IntN(4)), r: r, faults: rand.New(rand.NewPCG(seed, 2))}
	w.items, w.homes, w.cached = make([]item, n), make([]*originShard, n), make([]entry, n)
	w.dropped, w.applied = make([]int, n), make([]int, n)
	for i := range n {
		w.items[i].writes = []time.Time{time.Now()}
		w.homes[i] = w.shards[r.IntN(len(w.shards))]
		w.cached[i].version, w.applied[i] = -1, -1
	}
	w.shardPage = []int{0, 2, 100}[r.IntN(3)]
	w.ignoreFilter = r.IntN(3) == 0
	w.maxDelay = []time.Duration{0, 0, 200 * time.Millisecond, 2 * time.Second}[r.IntN(4)]
	w.errorsOf = []float64{0, 0.02, 0.2}[r.IntN(3)]
	slow := []time.Duration{0, 20 * time.Millisecond, 500 * time.Millisecond}[r.IntN(3)]
	w.maxListing = []time.Duration{0, 300 * time.Millisecond, 4 * time.Second}[r.IntN(3)]
	w.latency = func() time.Duration { return w.upTo(slow) }
	w.visibleAfter = func() time.Duration { return w.upTo(w.maxDelay) }
	w.fail = w.failure
	w.cfg = Config{Call: w.call, Stream: "arn", Describe: NewLimiter(), Apply: w.apply, Fence: w.fence,
		MaxLag: []time.Duration{time.Second, time.Second, 3 * time.Second, 20 * time.Second}[r.IntN(4)]}
	return w
}

// upTo returns a random duration. It is called with origin.mu held.
func (w *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(w.faults.Int64N(int64(d) + 1))
}

func (w *simulation) failure(string) error {
	if w.faults.Float64() >= w.errorsOf {
		return nil
	}
	switch n := w.faults.IntN(len(throttles) + 2); {
	case n < len(throttles):
		return &Error{Type: throttles[n]}
	case n == len(throttles):
		return &Error{Type: "InternalServerError"}
	}
	return errors.New("no connection")
}

func (w *simulation) failf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf("%s: ", time.Now().Format("04:05.000"))+fmt.Sprintf(format, args...))
}

// busy reports whether a callback fails, which it does once in n times if calls may fail.
func (w *simulation) busy(n int) bool {
	w.origin.mu.Lock()
	defer w.origin.mu.Unlock()
	return w.errorsOf > 0 && w.faults.IntN(n) == 0
}

func (w *simulation) apply(ctx context.Context, shard string, records []Record) error {
	if w.busy(20) {
		return errors.New("busy")
	}
	w.cacheMu.Lock()
	defer w.cacheMu.Unlock()
	for _, r := range records {
		item, version := itemOf(r)
		w.appliedN++
		if w.omit == 0 && w.applied[item] >= 0 && version != w.applied[item]+1 {
			w.failf("record %d of item %d follows %d", version, item, w.applied[item])
		}
		w.applied[item] = version
		if w.omit > 0 && w.appliedN%w.omit == 0 {
			continue
		}
		w.dropped[item]++
		w.cached[item].version = -1
	}
	return nil
}

func (w *simulation) fence(ctx context.Context) error {
	if w.busy(5) {
		return errors.New("busy")
	}
	w.cacheMu.Lock()
	defer w.cacheMu.Unlock()
	w.fences++
	w.fenced = time.Now()
	for i := range w.cached {
		w.dropped[i]++
		w.cached[i].version, w.applied[i] = -1, -1
	}
	return nil
}

// follow starts a follower.
func (w *simulation) follow() {
	ctx, cancel := context.WithCancel(w.t.Context())
	f, result := New(w.cfg), make(chan error, 1)
	w.f, w.stop, w.result, w.through = f, cancel, result, time.Time{}
	go func() { result <- f.Run(ctx) }()
}

// handOver ends the follower and starts another one from its checkpoint.
func (w *simulation) handOver() {
	w.stop()
	<-w.result
	w.cfg.From = w.f.Checkpoint()
	if w.cfg.From != nil {
		w.handovers++
	}
	w.follow()
}

func (w *simulation) write(i int) {
	w.origin.set(func() {
		w.items[i].writes = append(w.items[i].writes, time.Now())
		w.append(w.homes[i], originRecord{item: i, version: len(w.items[i].writes) - 1})
	})
}

// fill reads an item and stores it in the cache, unless it was dropped meanwhile.
func (w *simulation) fill(i int, before, after time.Duration) {
	w.cacheMu.Lock()
	drops := w.dropped[i]
	w.cacheMu.Unlock()
	wait(w.t.Context(), before)
	version := 0
	w.origin.set(func() { version = len(w.items[i].writes) - 1 })
	wait(w.t.Context(), after)
	w.cacheMu.Lock()
	defer w.cacheMu.Unlock()
	if w.dropped[i] == drops {
		w.cached[i].version = version
	}
}

// read reads an item from the cache, if that is allowed, and checks its age. It returns false
// if there was nothing to serve.
func (w *simulation) read(i int) bool {
	through, ok := w.f.Through()
	now := time.Now()
	if ok && through.Before(w.through) {
		w.failf("Through moved from %v to %v", w.through, through)
	}
	if ok {
		w.through = through
	}
	if through.After(now) {
		w.failf("Through is in the future: %v", through)
	}
	if !ok || now.After(through.Add(w.cfg.MaxLag)) {
		return true
	}
	w.cacheMu.Lock()
	version := w.cached[i].version
	w.cacheMu.Unlock()
	if version < 0 {
		return false
	}
	w.served++
	writes := w.items[i].writes
	if len(writes) > version+1 {
		if age := now.Sub(writes[version+1]); age > w.cfg.MaxLag+w.maxDelay {
			w.failf("version %d of item %d is served %v after the next write", version, i, age)
		}
	}
	return true
}

// splits closes a random shard, and distributes its items over its children.
func (w *simulation) splits() {
	i := w.r.IntN(len(w.homes))
	old := w.homes[i]
	w.origin.mu.Lock()
	defer w.origin.mu.Unlock()
	old.closed = true
	delay := w.upTo(w.maxListing) // the same for both children
	w.listedAfter = func() time.Duration { return delay }
	var children []*originShard
	for range 1 + w.r.IntN(2) {
		children = append(children, w.add(old.id))
	}
	for i, home := range w.homes {
		if home == old {
			w.homes[i] = children[w.r.IntN(len(children))]
		}
	}
}

// trim removes all records of a random shard, and closed shards that have children, as after
// 24 hours: what the follower has not begun to read is younger.
func (w *simulation) trim() {
	w.f.set.mu.Lock()
	defer w.f.set.mu.Unlock()
	w.origin.mu.Lock()
	defer w.origin.mu.Unlock()
	s := w.homes[w.r.IntN(len(w.homes))]
	if followed := w.f.set.shards[s.id]; followed != nil && !followed.oldest {
		s.trimmed = len(s.records)
	}
	for _, s := range w.shards {
		parent := w.byID[s.parent]
		if w.f.set.shards[s.id] == nil || parent == nil || w.r.IntN(2) == 0 {
			continue
		}
		for ; parent != nil; parent = w.byID[parent.parent] {
			parent.forgotten = true
		}
	}
}

// run lets random events happen for some time of the bubble.
func (w *simulation) run(length, step time.Duration, chaos bool) {
	w.follow()
	var fills sync.WaitGroup
	for began := time.Now(); time.Since(began) < length; {
		time.Sleep(time.Duration(w.r.Int64N(int64(2*step)) + 1)) // in the bubble
		i := w.r.IntN(len(w.items))
		switch n := w.r.IntN(1000); {
		case n < 300:
			w.write(i)
		case n < 990:
			if !w.read(i) {
				before, after := time.Duration(w.r.Int64N(int64(2*step))), time.Duration(w.r.Int64N(int64(2*step)))
				fills.Go(func() { w.fill(i, before, after) })
			}
		case !chaos:
		case n < 994:
			w.splits()
		case n < 996:
			w.origin.set(func() { w.expired = time.Now() })
		case n < 998:
			w.handOver()
		case n < 999:
			w.trim()
		case w.r.IntN(4) == 0:
			for range 2500 {
				w.write(i)
			}
		}
	}
	fills.Wait()
	w.finish()
}

// finish waits until the follower has caught up, and checks that all records were applied.
func (w *simulation) finish() {
	w.origin.set(func() { w.errorsOf, w.latency = 0, nil })
	ended := time.Now().Add(w.maxDelay)
	caughtUp := func() bool {
		through, ok := w.f.Through()
		return ok && through.After(ended) && time.Since(through) <= w.cfg.MaxLag
	}
	for i := 0; i < 180 && !caughtUp(); i++ {
		time.Sleep(time.Second) // in the bubble
		synctest.Wait()
	}
	if !caughtUp() {
		through, ok := w.f.Through()
		w.failf("at the end Through is %v, %v; shards: %v", through, ok, w.f.Shards())
	}
	for i := range w.items {
		last := len(w.items[i].writes) - 1
		if w.omit == 0 && w.applied[i] != last && last > 0 && w.items[i].writes[last].After(w.fenced) {
			w.failf("item %d: record %d of %d was the last one applied", i, w.applied[i], last)
		}
	}
	w.stop()
	if err := <-w.result; !errors.Is(err, context.Canceled) {
		w.failf("Run returned %v", err)
	}
}

var simulated = flag.Int("seeds", 100, "number of seeds of TestSimulation")

func TestSimulation(t *testing.T) {
	seeds := race.Part(*simulated)
	served, records, handovers, fences := 0, 0, 0, 0
	for seed := range seeds {
		bubble(t, func(t *testing.T) {
			w := newSimulation(t, uint64(seed))
			w.run(40*time.Second, 20*time.Millisecond, seed%5 != 0)
			for i, failure := range w.failures {
				if i < 5 {
					t.Errorf("seed %d: %s", seed, failure)
				}
			}
			if seed%5 == 0 && w.fences != 1 {
				t.Errorf("seed %d: %d fences", seed, w.fences)
			}
			served += w.served
			records += w.appliedN
			handovers += w.handovers
			fences += w.fences
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d answers served from the cache, %d records, %d resumed followers, %d fences", served, records, handovers, fences)
	if served < 100*seeds || records < 100*seeds || handovers < seeds/10 || fences < seeds {
		t.Error("the simulation does too little")
	}
}

// TestSimulationFindsOmission checks that the simulation finds the effect of one record in
// 10,000 that is not applied.
func TestSimulationFindsOmission(t *testing.T) {
	for seed := range 20 {
		found := false
		bubble(t, func(t *testing.T) {
			w := newSimulationOf(t, uint64(seed), 2000)
			w.omit = 10_000
			w.cfg.MaxLag, w.maxDelay, w.errorsOf = time.Second, 0, 0
			w.run(200*time.Second, time.Millisecond, false)
			found = len(w.failures) > 0
			if w.appliedN < w.omit {
				t.Errorf("only %d records", w.appliedN)
			}
			if found {
				t.Logf("seed %d: %s", seed, w.failures[0])
			}
		})
		if found {
			return
		}
	}
	t.Error("the omission was not found")
}
