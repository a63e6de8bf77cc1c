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

// Config is the shape of a run.
type Config struct {
	// Through is the URL of what is tested, First that of the node which takes its
	// writes, Other that of a second one, empty if there is none.
	Through, First, Other string
	// DB is the database, which must be on the nodes with the design document of
	// Prepare.
	DB      string
	Clients int
	// Bound is after how long a write past the accelerator must be seen.
	Bound time.Duration
	// NoDeletes leaves deletions out, for runs in which a document's revisions may
	// fork: the winner may then be another branch than the deleted one.
	NoDeletes bool
	// Spread says that the accelerator gives writes to both nodes. Nothing is written past
	// it on First then.
	Spread bool
	// Retried says that a conflict does not prove that a write was not executed,
	// since something on the way may send a write twice.
	Retried bool
}

// Result is what came of a run.
type Result struct {
	Elapsed     time.Duration
	Reads       int64 // of single documents, answered and checked
	Results     int64 // of views and the like
	Hits        int64 // of both, those that a cache answered
	Unchanged   int64 // of both, those answered with 304
	Writes      int64 // acknowledged, through the accelerator
	Past        int64 // acknowledged, past it
	Refused     int64
	Unanswered  int64 // writes of which nobody knows
	Failed      int64 // reads that got an error of the 5xx kind, or none
	Odd         int64 // reads answered with 200 and what no node says
	Behind      time.Duration
	Violations  []string // the first of them
	Violated    int64
	FirstFailed string
	FirstOdd    string
}

// Run is a run under way.
type Run struct {
	cfg     Config
	began   time.Time
	cancel  context.CancelFunc
	done    sync.WaitGroup
	numbers atomic.Int64
	calm    atomic.Bool
	apart   atomic.Bool
	ledgers [Keys]Ledger

	other  sync.RWMutex // held by those who write to the other node past the accelerator
	away   bool         // guarded by other
	latest [Keys]latest

	mu     sync.Mutex
	result Result
	acked  map[string][]string // revisions by document
}

// latest is the newest revision of a document that a client was told of; empty if
// that was that there is none.
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

// Prepare puts the design document that views need into the database at url.
func Prepare(ctx context.Context, url, db string) error {
	a, err := send(ctx, http.DefaultClient, "PUT", url+"/"+db+"/_design/h", design, "")
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("design document: %d %s", a.status, a.body)
	}
	return err
}

// pace is the least time between two requests of a client.
const pace = 2 * time.Millisecond

// Start begins a run. It goes on until Stop.
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

// clientAt is a client with an address of its own: by that it is known again.
func clientAt(n byte) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	return &http.Client{
		Timeout:   40 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true},
	}
}

// Stop ends the run and tells what came of it.
func (r *Run) Stop() Result {
	r.cancel()
	r.done.Wait()
	r.result.Elapsed = r.now()
	for i := range r.ledgers {
		r.result.Behind = max(r.result.Behind, r.ledgers[i].Behind())
	}
	return r.result
}

// Losing does something by which writes that were acknowledged by then may be lost.
func (r *Run) Losing(what func()) {
	lose := func(losing bool) {
		for i := range r.ledgers {
			r.ledgers[i].Lose(losing)
		}
	}
	lose(true)
	what()
	lose(false)
}

// Apart says that the nodes may lack for long what the other has, or that they don't any
// more.
func (r *Run) Apart(apart bool) { r.apart.Store(apart) }

// Counts tells what has come of the run so far.
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

// mostViolations is how many are kept.
const mostViolations = 20

func (r *Run) violated(format string, args ...any) {
	r.count(func(res *Result) {
		if res.Violated++; res.Violated <= mostViolations {
			res.Violations = append(res.Violations, fmt.Sprintf(format, args...))
		}
	})
}

// cycle is how long a busy and a quiet time take together.
const cycle = 2500 * time.Millisecond

// Cycles is how many busy times with the quiet ones after them are over.
func (r *Run) Cycles() int { return int(r.now() / cycle) }

// Calm ends the writing for good.
func (r *Run) Calm() { r.calm.Store(true) }

// Away says that nothing can be written to the other node past the accelerator, or
// that it can again. When it returns nothing is under way.
func (r *Run) Away(away bool) {
	r.other.Lock()
	defer r.other.Unlock()
	r.away = away
}

// writing is the share of writes, in percent. Busy and quiet times take turns: what
// was kept wrongly in a busy time shows in the quiet one after it, when no further
// write puts it right.
func (r *Run) writing() int {
	switch phase := r.now() % cycle; {
	case r.calm.Load():
		return 0
	case phase < cycle*2/5:
		return 60
	case phase < cycle*3/5:
		return 3
	}
	return 0
}
