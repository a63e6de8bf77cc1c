package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/pause"
	"github.com/kasoku/kasoku/internal/telemetry"
)

const (
	// maxSources is the number of members whose lists a node that has joined reads.
	maxSources = 3
	// warmBatch is the number of answers that are requested at a time.
	warmBatch = 64
	// warmAsk is how long a request waits for its reply: to make a list takes a while.
	warmAsk = 5 * time.Second
	// warmRetry is the time between attempts, and warmAttempts their number: the members may be
	// changing, or a purge be carried out.
	warmRetry    = 200 * time.Millisecond
	warmAttempts = 10
)

// WarmLimits bound the warming of this node by others.
type WarmLimits struct {
	Keys      int   // answers to take over; 0 for none
	Rate      int   // answers per second
	Bandwidth int64 // bytes per second
}

// WarmCounts count the answers that other nodes have listed.
type WarmCounts struct {
	Stored  uint64 // taken over
	Present uint64 // stored here already
	Absent  uint64 // no longer stored there
	Skipped uint64 // can't be stored now, for example because of a write in flight
	Bytes   uint64 // of the ones taken over
}

// Warming is the progress of the warming of a node that has joined.
type Warming struct {
	WarmCounts
	From []string // names of the nodes that it takes answers from
}

// warming is the state of the warming of this node.
type warming struct {
	running sync.WaitGroup // goroutines of warmJoined

	mu      sync.Mutex // leaf
	present *warmRun   // of a node that has joined; nil for none
	from    []string
	took    time.Duration // of the latest one

	stored, existing, absent, skipped, bytes *telemetry.Counter
}

// observe registers the metrics.
func (w *warming) observe(r *telemetry.Registry) {
	count := func(result string) *telemetry.Counter {
		return r.Counter("kasoku_cluster_warmed_total",
			"Answers that other members listed as their hottest while this node was warmed: stored here, present here already, absent there by then, or skipped, for example because of a write in flight.", "result", result)
	}
	w.stored, w.existing, w.absent, w.skipped = count("stored"), count("present"), count("absent"), count("skipped")
	w.bytes = r.Counter("kasoku_cluster_warmed_bytes_total", "Bytes of the answers of other members that were stored while this node was warmed.")
	r.Gauge("kasoku_cluster_warming", "1 while this node has joined and takes over the hottest answers of other members.", func() float64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.present != nil {
			return 1
		}
		return 0
	})
	r.Gauge("kasoku_cluster_warming_seconds", "Duration of the latest warming of this node after it had joined.", func() float64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.took.Seconds()
	})
}

// warmRun takes answers over from other nodes. It is used by one goroutine, except for counts.
type warmRun struct {
	node   *Node
	self   protocol.Instance
	limits WarmLimits
	// progress is called after each batch with the counts, and the part of a list that was read,
	// from 0 to 1. It may be nil.
	progress func(n WarmCounts, part float64)

	mu sync.Mutex // leaf
	n  WarmCounts
}

func (r *warmRun) counts() WarmCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// add adds to the counts. part is the part of the list that was read.
func (r *warmRun) add(n WarmCounts, part float64) {
	r.mu.Lock()
	r.n.Stored += n.Stored
	r.n.Present += n.Present
	r.n.Absent += n.Absent
	r.n.Skipped += n.Skipped
	r.n.Bytes += n.Bytes
	sum := r.n
	r.mu.Unlock()
	w := &r.node.warming
	w.stored.Add(n.Stored)
	w.existing.Add(n.Present)
	w.absent.Add(n.Absent)
	w.skipped.Add(n.Skipped)
	w.bytes.Add(n.Bytes)
	if r.progress != nil {
		r.progress(sum, part)
	}
}

// errMembership ends a warming.
var errMembership = errors.New("this node is no longer a member, or has joined again")

// run reads the lists page by page, in turn, and takes over what is on them. It returns the last
// error of a source that failed.
func (r *warmRun) run(ctx context.Context, sources []*hotSource) (err error) {
	for len(sources) > 0 && !r.full() {
		for _, s := range sources {
			if failed := r.page(ctx, s); failed != nil {
				s.ended, err = true, failed
			}
			if ctx.Err() != nil || r.full() {
				return cmp.Or(err, ctx.Err())
			}
		}
		sources = slices.DeleteFunc(sources, func(s *hotSource) bool { return s.ended })
	}
	return err
}

// full reports whether as many answers were taken over as the limit allows.
func (r *warmRun) full() bool { return r.counts().Stored >= uint64(r.limits.Keys) }

// page takes over the answers of the next page of a list.
func (r *warmRun) page(ctx context.Context, s *hotSource) error {
	var page hotPage
	err := r.repeat(ctx, s.to, func(ctx context.Context, _ uint64) (err error) {
		page, err = s.next(ctx)
		return err
	})
	if err != nil {
		return err
	}
	w := r.node.cache.Warmer(page.service)
	for questions := page.questions; len(questions) > 0 && !r.full(); {
		start := time.Now()
		n, rest, err := r.batch(ctx, s.to, w, page.service, questions)
		if err != nil {
			return err
		}
		questions = rest
		read := float64(s.page) - float64(len(questions))/float64(len(page.questions))
		r.add(n, read/float64(uint64(s.page)+page.follow))
		if !pause.For(ctx, r.pace(n, time.Since(start))) {
			return ctx.Err()
		}
	}
	return nil
}

// pace returns how long to wait after a batch that took a time: for the limits, and at least for as
// long again, so that clients and the protocol have precedence on a node under load.
func (r *warmRun) pace(n WarmCounts, took time.Duration) time.Duration {
	asked := n.Stored + n.Absent
	period := max(2*took,
		time.Duration(asked)*time.Second/time.Duration(max(1, r.limits.Rate)),
		time.Duration(float64(n.Bytes)/float64(max(1, r.limits.Bandwidth))*float64(time.Second)))
	return period - took
}

// repeat calls f with the present epoch until it returns no error.
func (r *warmRun) repeat(ctx context.Context, to protocol.Instance, f func(ctx context.Context, epoch uint64) error) error {
	for attempt := 1; ; attempt++ {
		epoch, err := r.node.sharesWith(r.self, to)
		if errors.Is(err, errMembership) {
			return err
		}
		if err == nil {
			err = func() error {
				ctx, cancel := context.WithTimeout(ctx, warmAsk)
				defer cancel()
				return f(ctx, epoch)
			}()
		}
		if err == nil || attempt == warmAttempts || !pause.For(ctx, warmRetry) {
			return err
		}
	}
}

// sharesWith returns the epoch in which this node may ask another one now. The error is
// errMembership if its own membership is no longer self.
func (n *Node) sharesWith(self, to protocol.Instance) (epoch uint64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m, now := n.machine, n.now()
	switch v := m.View(); {
	case m.Self() != self || m.Mode() != protocol.In:
		return 0, errMembership
	case v.Find(to) == nil:
		return 0, errors.New("the other node is no longer a member")
	case !n.shares(now):
		return 0, errors.New("this node has no lease, or a purge is being carried out")
	case !n.replies(now, to):
		return 0, errors.New("the other node does not reply")
	default:
		return v.Epoch, nil
	}
}

// batch takes over the answers to some of the questions and returns the rest.
func (r *warmRun) batch(ctx context.Context, to protocol.Instance, w cache.Warmer, service string, questions [][]byte) (n WarmCounts, rest [][]byte, err error) {
	if w == nil {
		return WarmCounts{Skipped: uint64(len(questions))}, nil, nil
	}
	var batch [][]byte
	var stores []func(cache.Shared) bool
	limit := min(warmBatch, uint64(r.limits.Keys)-r.counts().Stored)
	examined := 0
	for _, q := range questions[:min(len(questions), maxQuestions)] {
		if uint64(len(batch)) >= limit {
			break
		}
		examined++
		if store := w.Expect(ctx, q); store != nil {
			batch, stores = append(batch, q), append(stores, store)
		} else if _, ok := w.Stored(q); ok {
			n.Present++
		} else {
			n.Skipped++
		}
	}
	if rest = questions[examined:]; len(batch) == 0 {
		return n, rest, nil
	}
	var answers []storedAnswer
	err = r.repeat(ctx, to, func(ctx context.Context, epoch uint64) (err error) {
		answers, err = r.node.askStored(ctx, to, epoch, service, batch)
		return err
	})
	if err != nil {
		return n, rest, err
	}
	for i, a := range answers {
		switch {
		case a.state == later:
			rest = append(rest[:len(rest):len(rest)], batch[i])
		case a.state != found:
			n.Absent++
		case stores[i](a.shared):
			n.Stored++
			n.Bytes += uint64(len(a.shared.Payload))
		default:
			n.Skipped++
		}
	}
	return n, rest, nil
}

// warmJoined takes over the hottest answers of other members, in the background, if this node has
// its first lease of a membership. It is called with mu held.
func (n *Node) warmJoined() {
	m := n.machine
	if n.warmedAs == m.Self() || m.Mode() != protocol.In || !m.Serves(n.now()) {
		return
	}
	n.warmedAs = m.Self()
	var from []protocol.Member
	for _, o := range m.View().Members {
		if !o.Joining && o.Instance != m.Self() {
			from = append(from, o)
		}
	}
	if len(from) == 0 || n.cfg.Warm.Keys == 0 || n.ctx.Err() != nil {
		return
	}
	// The members that have joined first have the most. Their clocks may differ: then others are
	// asked, which is no harm.
	slices.SortStableFunc(from, func(a, b protocol.Member) int { return cmp.Compare(a.Joined, b.Joined) })
	from = from[:min(len(from), maxSources)]
	run := &warmRun{node: n, self: m.Self(), limits: n.cfg.Warm}
	var names []string
	var sources []*hotSource
	for _, o := range from {
		names = append(names, o.Node)
		sources = append(sources, &hotSource{node: n, to: o.Instance, limit: run.limits.Keys})
	}
	w := &n.warming
	w.mu.Lock()
	defer w.mu.Unlock()
	w.present, w.from = run, names
	w.running.Go(func() { n.warm(run, names, sources) })
}

// warm takes over the hottest answers of members with these names.
func (n *Node) warm(run *warmRun, names []string, sources []*hotSource) {
	w := &n.warming
	start := time.Now()
	err := run.run(n.ctx, sources)
	took := time.Since(start)
	w.mu.Lock()
	if w.present == run {
		w.present, w.took = nil, took
	}
	w.mu.Unlock()
	c := run.counts()
	attrs := []any{slog.Any("nodes", names), slog.Uint64("stored", c.Stored), slog.Uint64("bytes", c.Bytes),
		slog.Uint64("present", c.Present), slog.Uint64("absent", c.Absent), slog.Uint64("skipped", c.Skipped), slog.Duration("took", took)}
	switch {
	case n.ctx.Err() != nil:
	case err != nil:
		n.log.Warn("the warming of this node by other nodes is not complete", append(attrs, slog.Any("error", err))...)
	case c != (WarmCounts{}):
		n.log.Info("this node was warmed by other nodes", attrs...)
	}
}

// Warming returns the progress of the warming of this node after it has joined. ok is false if it
// is over, or was not necessary.
func (n *Node) Warming() (w Warming, ok bool) {
	n.warming.mu.Lock()
	run := n.warming.present
	w.From = n.warming.from
	n.warming.mu.Unlock()
	if run == nil {
		return Warming{}, false
	}
	w.WarmCounts = run.counts()
	return w, true
}

// Errors of Warm.
var (
	ErrNoMember = errors.New("there is no other member of that name")
	ErrNoWarmer = errors.New("there are no answers that could be taken over from other members")
)

// Warm takes over the hottest answers of a service from another member. progress is called with
// the counts so far, and the part of its list that was read, from 0 to 1. After an error the counts are those of the answers taken over before it.
func (n *Node) Warm(ctx context.Context, node, service string, limits WarmLimits, progress func(n WarmCounts, part float64)) (WarmCounts, error) {
	if n.cache.Warmer(service) == nil {
		return WarmCounts{}, fmt.Errorf("service %s: %w", service, ErrNoWarmer)
	}
	n.mu.Lock()
	v, self := n.machine.View(), n.machine.Self()
	i := slices.IndexFunc(v.Members, func(m protocol.Member) bool { return m.Node == node && m.Instance != self })
	var to protocol.Instance
	if i >= 0 {
		to = v.Members[i].Instance
	}
	n.mu.Unlock()
	if i < 0 {
		return WarmCounts{}, fmt.Errorf("%w: %s", ErrNoMember, node)
	}
	run := &warmRun{node: n, self: self, limits: limits, progress: progress}
	err := run.run(ctx, []*hotSource{{node: n, to: to, limit: limits.Keys, service: service}})
	return run.counts(), err
}
