package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Config is the configuration of a run.
type Config struct {
	// Through is the URL of the accelerator, First that of the node that takes its writes,
	// Other that of a second node, empty if there is none.
	Through, First, Other string
	// DB is the database, which must exist on the nodes with the design document of Prepare.
	DB      string
	Clients int
	// Bound is after how long a write past the accelerator must be seen.
	Bound time.Duration
	// NoDeletes disables deletions, for runs in which a document's revisions may fork: the
	// winner may then be another branch than the deleted one.
	NoDeletes bool
	// Spread is true if the accelerator sends writes to both nodes. Then no write is sent to
	// First directly.
	Spread bool
	// Retried is true if a proxy may send a write twice, so that a conflict does not prove
	// that a write was not executed.
	Retried bool
}

// Result is the result of a run.
type Result struct {
	Elapsed      time.Duration
	Reads        int64 // of single documents, answered and checked
	Results      int64 // of views and similar
	Hits         int64 // of both, answered by a cache
	Unchanged    int64 // of both, answered with 304
	Writes       int64 // acknowledged, through the accelerator
	Past         int64 // acknowledged, past it
	Refused      int64
	Unanswered   int64 // writes with unknown result
	Failed       int64 // reads with a 5xx error or without an answer
	Invalid      int64 // reads answered with 200 and a body that no node sends
	MaxLag       time.Duration
	Violations   []string // the first of them
	Violated     int64
	FirstFailed  string
	FirstInvalid string
}

// Run is a run in progress.
type Run struct {
	cfg           Config
	began         time.Time
	cancel        context.CancelFunc
	done          sync.WaitGroup
	numbers       atomic.Int64
	writesStopped atomic.Bool
	diverged      atomic.Bool
	ledgers       [Keys]Ledger

	other  sync.RWMutex // read-locked by clients that write to the other node directly
	away   bool         // guarded by other
	latest [Keys]latest

	mu     sync.Mutex
	result Result
	acked  map[string][]string // revisions by document
}

// latest is the newest revision of a document that a client has seen; empty if it saw that
// there is none.
type latest struct {
	mu  sync.Mutex
	rev string
}

func (l *latest) get() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rev
}

func (l *latest) set(rev string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rev = rev
}

// Prepare stores the design document for the views in the database at url.
func Prepare(ctx context.Context, url, db string) error {
	a, err := send(ctx, http.DefaultClient, "PUT", url+"/"+db+"/_design/h", design, "")
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("design document: %d %s", a.status, a.body)
	}
	return err
}

// pace is the minimum time between two requests of a client.
const pace = 2 * time.Millisecond

// Start begins a run, which continues until Stop.
func Start(ctx context.Context, cfg Config) *Run {
	ctx, cancel := context.WithCancel(ctx)
	r := &Run{cfg: cfg, began: time.Now(), cancel: cancel, acked: map[string][]string{}}
	for i := range r.ledgers {
		r.ledgers[i].Bound = cfg.Bound
	}
	for i := range cfg.Clients {
		c := &client{Run: r, http: clientAt(byte(2 + i)), rand: rand.New(rand.NewPCG(uint64(i), 1)), memory: map[string]remembered{}, own: own{epoch: lossy}}
		r.done.Go(func() {
			defer c.http.CloseIdleConnections()
			c.loop(ctx)
		})
	}
	return r
}

// clientAt returns a client with an address of its own, which identifies it.
func clientAt(n byte) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	return &http.Client{
		Timeout:   40 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true},
	}
}

// Stop ends the run and returns its result.
func (r *Run) Stop() Result {
	r.cancel()
	r.done.Wait()
	r.result.Elapsed = r.now()
	for i := range r.ledgers {
		r.result.MaxLag = max(r.result.MaxLag, r.ledgers[i].MaxLag())
	}
	return r.result
}

// Losing calls kill, after which writes that were acknowledged before may be lost.
func (r *Run) Losing(kill func()) {
	lose := func(losing bool) {
		for i := range r.ledgers {
			r.ledgers[i].Lose(losing)
		}
	}
	lose(true)
	kill()
	lose(false)
}

// SetDiverged sets whether each node may lack the other's changes for a long time.
func (r *Run) SetDiverged(diverged bool) { r.diverged.Store(diverged) }

// Counts returns the result so far.
func (r *Run) Counts() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

func (r *Run) now() time.Duration { return time.Since(r.began) }

// count changes the result.
func (r *Run) count(f func(*Result)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.result)
}

// maxViolations is the maximum number of violations that are kept.
const maxViolations = 20

func (r *Run) violated(format string, args ...any) {
	r.count(func(res *Result) {
		if res.Violated++; res.Violated <= maxViolations {
			res.Violations = append(res.Violations, fmt.Sprintf(format, args...))
		}
	})
}

// cycle is the duration of a busy and a quiet period together.
const cycle = 2500 * time.Millisecond

// Cycles returns the number of completed cycles.
func (r *Run) Cycles() int { return int(r.now() / cycle) }

// StopWrites ends all writing.
func (r *Run) StopWrites() { r.writesStopped.Store(true) }

// Away sets whether the other node can be written to directly. When it returns no write is
// in flight.
func (r *Run) Away(away bool) {
	r.other.Lock()
	defer r.other.Unlock()
	r.away = away
}

// writing returns the share of writes in percent. Busy and quiet periods alternate: a copy
// that was cached wrongly in a busy period is noticed in the quiet one, when no further
// write corrects it.
func (r *Run) writing() int {
	switch phase := r.now() % cycle; {
	case r.writesStopped.Load():
		return 0
	case phase < cycle*2/5:
		return 60
	case phase < cycle*3/5:
		return 3
	}
	return 0
}
