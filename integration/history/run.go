package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	daxclient "github.com/kasoku/kasoku/integration/dax/client"
)

// Config configures a run.
type Config struct {
	URL string
	// DAX is the address for every second client, which uses it for the requests that it
	// supports; "" disables it.
	DAX string
	// Nodes are the nodes of a cluster, in the place of URL and DAX. Each has as many clients
	// as the others, if their number divides Clients.
	Nodes   []Node
	Ops     int // requests, over all clients
	Clients int
	// IndexLag is the maximum lag of the origin's index behind its table.
	IndexLag time.Duration
	// Abort makes clients abort one in this many requests at once; 0 disables it.
	Abort int
	// For ends the run after a time, although fewer than Ops requests were sent; 0: never.
	For time.Duration
	// Pause is the maximum pause of a client between two requests.
	Pause time.Duration
	// ReadTimeout makes clients give up every second read after this time; 0 disables it.
	ReadTimeout time.Duration
	// Slow is the time from which an answered request is a Trouble too; 0 disables it.
	Slow time.Duration
	// Serial lets only one client at a time write an item, and none after a write with an
	// unknown outcome, for an origin that does not serialize writes of one item itself.
	Serial bool
	// Seed changes what the clients send.
	Seed uint64
	// KeyTime is the checker's time limit per key.
	KeyTime time.Duration
}

// Node is a node of a cluster: its addresses for clients.
type Node struct{ URL, DAX string }

// Trouble is a request that was slow, or that was not answered with a result, except one that
// its client has aborted at once.
type Trouble struct {
	Node         int
	DAX          bool
	Operation    string
	Write        bool
	Call, Return time.Time
	Err          error // nil: it was slow
}

// Took returns the time until the answer, or until the client gave up.
func (t *Trouble) Took() time.Duration { return t.Return.Sub(t.Call) }

func (t *Trouble) String() string {
	if t == nil {
		return "none"
	}
	by := "HTTP"
	if t.DAX {
		by = "DAX"
	}
	return fmt.Sprintf("%s by %s through node %d, from %s for %s: %v", t.Operation, by, t.Node,
		t.Call.Format("15:04:05.000"), t.Took().Round(time.Millisecond), t.Err)
}

// Result is the record of a run with the checkers' results.
type Result struct {
	Ops        []Op
	Queries    []Query
	Requests   int64
	Answered   int64 // requests with a successful answer
	Hits       int64 // of which from a cache
	DAX        int64 // requests by the DAX protocol
	Elapsed    time.Duration
	Troubles   []Trouble
	Violations []string
}

// window is the number of keys in use at a time, and turn the number of requests after which
// it moves on by one key. No key has so many operations that checking it takes long, but
// many clients use it concurrently.
const (
	window = 2 * width
	turn   = 40
)

// kept is the number of old partitions that remain in the table, so that scans don't get slower
// and slower. A request that uses one of them ended long before it is deleted.
const kept = 250

// run is the state shared by clients.
type run struct {
	Config
	began    time.Time
	requests atomic.Int64
	answered atomic.Int64
	numbers  atomic.Int64
	deleted  atomic.Int32 // the first partition that may be in the table
	stop     atomic.Bool

	mu      sync.Mutex // guards failed and claimed
	failed  error
	claimed map[int32]bool // with Serial: keys that a client writes
}

// Run runs the workload on a table that it creates, and checks the record. It returns an
// error if the run itself failed, or an answer was unacceptable.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	r := &run{Config: cfg, began: time.Now(), claimed: map[int32]bool{}}
	transport := newTransport(cfg.Clients)
	defer transport.CloseIdleConnections()
	nodes := cfg.Nodes
	if nodes == nil {
		nodes = []Node{{cfg.URL, cfg.DAX}}
	}
	setup := &conn{http: &http.Client{Transport: transport}, url: nodes[0].URL}
	if _, outcome, err := setup.do(ctx, "CreateTable", createTable); outcome != ok {
		return nil, fmt.Errorf("create the table: %w", err)
	}
	clients := make([]*client, cfg.Clients)
	var wg sync.WaitGroup
	for i := range clients {
		node := i % len(nodes)
		c := &client{
			run: r, id: int32(i), node: node, rand: rand.New(rand.NewPCG(uint64(i), 1+cfg.Seed)),
			conn: conn{http: &http.Client{Transport: transport}, url: nodes[node].URL},
		}
		if nodes[node].DAX != "" && i/len(nodes)%2 == 1 {
			c.dax = daxclient.New(nodes[node].DAX)
			defer c.dax.Close()
		}
		clients[i] = c
		wg.Go(func() { c.loop(ctx) })
	}
	wg.Wait()
	if r.failed != nil {
		return nil, r.failed
	}
	result := &Result{Requests: r.requests.Load(), Answered: r.answered.Load(), Elapsed: time.Since(r.began)}
	for _, c := range clients {
		result.Ops = append(result.Ops, c.ops...)
		result.Queries = append(result.Queries, c.queries...)
		result.Hits += c.hits
		result.DAX += c.daxAnswers
		result.Troubles = append(result.Troubles, c.troubles...)
	}
	result.Violations = append(checkKeys(result.Ops, cfg.KeyTime), checkQueries(result.Ops, result.Queries, cfg.IndexLag)...)
	return result, nil
}

func (r *run) now() int64 { return int64(time.Since(r.began)) }

// fail ends the run with an error.
func (r *run) fail(err error) {
	r.mu.Lock()
	r.failed = errors.Join(r.failed, err)
	r.mu.Unlock()
	r.stop.Store(true)
}

// next takes one request from the run's budget and returns the newest key in use. It returns
// false if the budget is used up.
func (r *run) next() (newest int32, more bool) {
	n := r.requests.Add(1)
	if n > int64(r.Ops) || r.stop.Load() || r.For > 0 && time.Since(r.began) > r.For {
		r.requests.Add(-1)
		return 0, false
	}
	return int32(n/turn) + window, true
}

// writing returns the percentage of writes. Busy and quiet periods alternate: an entry
// cached wrongly in a busy period is visible in the quiet one after it, where no further
// write corrects it.
func (r *run) writing() int {
	switch phase := time.Since(r.began) / (250 * time.Millisecond) % 4; phase {
	case 0, 1:
		return 45
	case 2:
		return 5
	}
	return 0
}
