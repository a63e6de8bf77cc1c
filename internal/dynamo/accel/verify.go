package accel

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// VerifyConfig configures the comparison of hits with the origin.
type VerifyConfig struct {
	// Rate is the maximum number of comparisons per second; 0 for none.
	Rate float64
	// Budget is the number of read capacity units that they may consume per second on average.
	Budget float64
	// Through reports that all writes of the origin's tables pass through Kasoku.
	Through bool
}

// verifier compares a few hits with the origin's answers to strongly consistent reads, and decides
// by the contract (docs/coherence.md) whether a difference was allowed.
//
// # Why a violation is never a false alarm
//
// Let E be the entry that a request was answered with, and R a strongly consistent read that began
// after that and returned something else than E. After R has ended, E is examined (verification.holds):
//
//   - None of its tags has moved since it was filled, and this node had its lease throughout
//     (cache.Holds).
//   - Or a look-up that begins now finds an entry that was filled under the same generations
//     and has the same payload.
//
// If neither is so, a write was in progress, and the difference is explained. Otherwise let W be the
// write that made the difference. R has seen W, so the origin has executed it before R ended. If W
// passed through Kasoku, it moved the tags of E before it was sent to the origin:
//
//   - If it did so after E's generations were recorded, E would not hold: the first case is
//     impossible because a tag has moved, the second because look-ups compare the generations.
//   - If it did so before, then W was in flight when the generations were recorded, and E was
//     not stored; or it had ended, and E was filled by a strongly consistent read or later than
//     Config.Settle after W, so that it contains W, or E was an answer of W or of a later write.
//
// So either W didn't pass through Kasoku, or the fence is broken, or an assumption of the contract
// about the origin is wrong. All writes to a store in this process pass through Kasoku, and all
// writes to another origin do if VerifyConfig.Through is set. The origin may remove items by time to live,
// which is a write past Kasoku: such a difference is explained for an item whose time has passed,
// and the answers of queries of tables with items that expire are no violations. An embedded store
// reports removals after it has made them; so does the stream of a followed table, as it does
// writes past Kasoku. There E is examined again after the time until which it may hold.
//
// For a followed table this is when the stream was read through the end of R, and streamDelay
// longer, since DynamoDB writes records late. That time is loaded before E is examined. All nodes
// have moved the tags of a record before it counts as read (feed.apply), so E doesn't hold then
// unless W wasn't recognized.
//
// # Limits
//
// A violation is not found if the item has its former value again when it is read, or if another
// write moves a tag of E before E is examined: this is why answers with an explanation don't count
// as checked. Global secondary indexes have no strongly consistent reads, so that their queries are
// not compared, and neither are queries of tables under expire_items, whose answers depend on the
// time.
//
// The read is made beside the cache: its answer is not stored, and moves no tag.
type verifier struct {
	svc     *Service
	metrics verifyMetrics
	// due is when the next hit is taken, on the cache's clock. It is all that a hit reads.
	due     atomic.Int64
	sampler atomic.Pointer[sampler] // nil for none
	writes  atomic.Pointer[writeHistory]
	slots   chan struct{} // one for each comparison in progress
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex // leaf
	closed     bool
	cfg        VerifyConfig
	configured *sampler // the one of cfg, nil for none
	run        *sampler // the one of a request, nil for none
	figures    verifyFigures
}

const (
	// maxVerifying is the number of comparisons in progress at most. Hits beyond it are not compared.
	maxVerifying = 64
	// verifyTimeout is the time limit of a read of the origin.
	verifyTimeout = 10 * time.Second
	never         = math.MaxInt64
)

func newVerifier(s *Service) *verifier {
	ctx, cancel := context.WithCancel(context.Background())
	v := &verifier{svc: s, ctx: ctx, cancel: cancel, slots: make(chan struct{}, maxVerifying), metrics: newVerifyMetrics(s.registry, s.name)}
	v.due.Store(never)
	v.figures.init()
	return v
}

// close ends all comparisons.
func (v *verifier) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.running.Wait()
}

// configure applies a configuration.
func (v *verifier) configure(cfg VerifyConfig) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cfg.Rate == v.cfg.Rate && cfg.Budget == v.cfg.Budget {
		v.cfg = cfg
		return
	}
	v.cfg, v.configured = cfg, nil
	if cfg.Rate > 0 {
		v.configured = newSampler(cfg.Rate, cfg.Budget)
	}
	if v.run == nil {
		v.use(v.configured)
	}
}

// use makes a sampler that takes hits the present one. mu must be held.
func (v *verifier) use(sp *sampler) {
	v.sampler.Store(sp)
	if sp == nil {
		v.due.Store(never)
		v.writes.Store(nil)
		return
	}
	if v.writes.Load() == nil {
		v.writes.Store(new(writeHistory))
	}
	if sp.interval == 0 { // of a list
		v.due.Store(never)
		return
	}
	v.due.Store(v.svc.cache.Now())
}

// sampler decides which hits are compared.
type sampler struct {
	interval time.Duration // between two, on average; 0 takes none
	table    string        // the only one whose hits are taken; "" for all
	budget   *unitBudget
	run      *verifyRun // of the request; nil for the configured one
}

func newSampler(rate, budget float64) *sampler {
	return &sampler{interval: time.Duration(float64(time.Second) / rate), budget: newUnitBudget(budget)}
}

// wants reports whether hits of that kind are taken.
func (sp *sampler) wants(t *table, e *cache.Entry) bool {
	return (sp.table == "" || sp.table == t.name) && t.verifiable(e.Key()) == ""
}

// verifiable returns the reason why answers with a cache key are not compared, "" if they are.
func (t *table) verifiable(key []byte) string {
	if key[0] == keyItem {
		return ""
	}
	if t.ttlAttribute != "" {
		return skipExpiring
	}
	members := key[prefixLen:]
	if len(members) < 5 || members[0] != qIndex { // it is the first one
		return ""
	}
	name := members[5:]
	if n := binary.BigEndian.Uint32(members[1:]); uint64(n) < uint64(len(name)) {
		name = name[:n]
	}
	name = bytes.Trim(name, `"`)
	for _, ix := range t.indexes {
		if ix.global && wire.NameIs(name, ix.name) {
			return skipGlobal
		}
	}
	return ""
}

// sample offers a hit of a request that began at now, on the cache's clock. It reads one word
// unless a sample is due.
func (v *verifier) sample(t *table, e *cache.Entry, now int64) {
	if now >= v.due.Load() {
		v.take(t, e, now)
	}
}

// take compares a hit if it is the one that is due. It never waits. The intervals are random, so
// that they have no relation to the times of the requests.
func (v *verifier) take(t *table, e *cache.Entry, now int64) {
	sp := v.sampler.Load()
	if sp == nil || sp.interval == 0 || !sp.wants(t, e) {
		return
	}
	due := v.due.Load()
	next := now + int64(float64(sp.interval)*(0.5+rand.Float64()))
	if now < due || !v.due.CompareAndSwap(due, next) {
		return
	}
	select {
	case v.slots <- struct{}{}:
		v.start(sp, newVerification(v, t, e, now))
	default:
		v.count(sp, t.name, skipped(skipBusy), 0)
	}
}

// start makes a comparison in the background. The caller has taken a slot.
func (v *verifier) start(sp *sampler, k *verification) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		<-v.slots
		return
	}
	if sp.run != nil {
		sp.run.pending++
	}
	v.running.Go(func() {
		defer func() { <-v.slots }()
		r := v.judge(k, sp.budget)
		v.count(sp, k.table.name, r, k.units)
		if sp.run != nil {
			v.mu.Lock()
			sp.run.pending--
			v.mu.Unlock()
		}
	})
}

// judge makes a comparison.
func (v *verifier) judge(k *verification, budget *unitBudget) (r verifyResult) {
	defer func() {
		if p := recover(); p != nil {
			v.svc.metrics.faults.Inc()
			v.svc.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			r = skipped(skipFault)
		}
	}()
	return k.judge(v.ctx, budget)
}

// count adds the result of a comparison to the figures, and logs a violation.
func (v *verifier) count(sp *sampler, table string, r verifyResult, units float64) {
	v.metrics.count(r.outcome, units)
	if f := r.violation; f != nil {
		v.svc.log.Error("a cached answer is not allowed by the contract", slog.String("table", table), slog.String("kind", f.Kind), slog.String("key", f.Key),
			slog.String("why", f.Why), slog.Any("differs", f.Differs), slog.Time("filled", deref(f.Filled)), slog.Time("served", f.Served), slog.Time("read", f.ReadEnded))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.figures.add(table, r, units)
	if sp.run != nil {
		sp.run.add(r, units)
	}
}

// deref returns the time at t, zero if t is nil.
func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Verification implements admin.Verifier.
func (s *Service) Verification() admin.Verification {
	v := s.verify
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.figures.report()
	out.Service, out.Rate, out.Budget, out.Running = s.name, v.cfg.Rate, v.cfg.Budget, v.run != nil
	if v.cfg.Rate == 0 {
		out.Budget = 0
	}
	return out
}
