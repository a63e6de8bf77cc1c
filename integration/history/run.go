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

// Config is the shape of a run.
type Config struct {
	URL string
	// DAX is the front for every second client, which asks there what it can, "" for none.
	DAX     string
	Ops     int // requests, over all clients
	Clients int
	// IndexLag is how far the origin's index may lie behind its table.
	IndexLag time.Duration
	// Abort makes one in so many requests be given up by its client at once;
	// 0 for none.
	Abort int
	// KeyTime is how long the checker may take over one key.
	KeyTime time.Duration
}

// Result is what a run recorded and what the checkers say of it.
type Result struct {
	Ops        []Op
	Queries    []Query
	Requests   int64
	Answered   int64 // requests that got an answer that is no failure
	Hits       int64 // of those, how many a cache answered
	DAX        int64 // requests by DAX's protocol
	Elapsed    time.Duration
	Violations []string
}

// window is how many keys are in use at a time, and turn after how many
// requests it moves on by one key: no key sees so many operations that the
// checker would take long over it, and all the same many clients meet there.
const (
	window = 2 * width
	turn   = 40
)

// run is the state that clients share.
type run struct {
	Config
	began    time.Time
	requests atomic.Int64
	answered atomic.Int64
	numbers  atomic.Int64
	stop     atomic.Bool

	mu     sync.Mutex // guards failed
	failed error
}

// Run runs the workload against a table that it creates, and checks it. The
// error is for what made the run itself impossible, or an answer that no
// request of it should get.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	r := &run{Config: cfg, began: time.Now()}
	transport := newTransport(cfg.Clients)
	defer transport.CloseIdleConnections()
	setup := &conn{http: &http.Client{Transport: transport}, url: cfg.URL}
	if _, outcome, err := setup.do(ctx, "CreateTable", createTable); outcome != ok {
		return nil, fmt.Errorf("create the table: %w", err)
	}
	clients := make([]*client, cfg.Clients)
	var wg sync.WaitGroup
	for i := range clients {
		c := &client{
			run: r, id: int32(i), rand: rand.New(rand.NewPCG(uint64(i), 1)),
			conn: conn{http: &http.Client{Transport: transport}, url: cfg.URL},
		}
		if cfg.DAX != "" && i%2 == 1 {
			c.dax = daxclient.New(cfg.DAX)
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
		result.DAX += c.told
	}
	result.Violations = append(checkKeys(result.Ops, cfg.KeyTime), checkQueries(result.Ops, result.Queries, cfg.IndexLag)...)
	return result, nil
}

func (r *run) now() int64 { return int64(time.Since(r.began)) }

// fail ends the run.
func (r *run) fail(err error) {
	r.mu.Lock()
	r.failed = errors.Join(r.failed, err)
	r.mu.Unlock()
	r.stop.Store(true)
}

// next takes one request from the run's budget and returns the newest key in
// use; false when the budget is spent.
func (r *run) next() (newest int32, more bool) {
	n := r.requests.Add(1)
	if n > int64(r.Ops) || r.stop.Load() {
		r.requests.Add(-1)
		return 0, false
	}
	return int32(n/turn) + window, true
}

// writing is the share of writes, in percent. Busy and quiet times take turns:
// what was cached wrongly in a busy time shows in the quiet one after it, when
// no further write puts it right.
func (r *run) writing() int {
	switch phase := time.Since(r.began) / (250 * time.Millisecond) % 4; phase {
	case 0, 1:
		return 45
	case 2:
		return 5
	}
	return 0
}
