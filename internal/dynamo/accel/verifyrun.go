package accel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/pause"
)

// The defaults and limits of admin.VerifyRequest.
const (
	standardVerifyRate    = 20
	standardVerifyBudget  = 100
	standardVerifySeconds = 60
	maxVerifyRate         = 1000
	maxVerifyBudget       = 100_000
	maxVerifySeconds      = 24 * 60 * 60
	maxVerifyList         = 1000
)

// verifyBeat is the interval in which the progress of a request is reported.
const verifyBeat = 200 * time.Millisecond

// verifyRun is a request for comparisons. It is guarded by the verifier's mutex.
type verifyRun struct {
	progress admin.VerifyProgress // Problems and Violations are new since the last report
	pending  int                  // comparisons in progress
	problems int                  // number of Problems ever
}

// add adds the result of a comparison.
func (r *verifyRun) add(res verifyResult, units float64) {
	res.addTo(&r.progress.VerifyCounts)
	r.progress.ReadUnits += units
	if res.skip != "" {
		r.progress.Skips[res.skip]++
	}
	if res.violation != nil && r.progress.VerifyCounts.Violations <= maxViolations {
		r.progress.Violations = append(r.progress.Violations, *res.violation)
	}
}

// Verify implements admin.Verifier.
func (s *Service) Verify(ctx context.Context, r *admin.VerifyRequest, report func(admin.VerifyProgress)) error {
	if err := completeVerifyRequest(r); err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	if s.settings.Load().cfg.Namespaced {
		return fmt.Errorf("%w: nothing of service %s is cached, since its namespaces are kept apart", admin.ErrInput, s.name)
	}
	sp := newSampler(r.Rate, r.Budget)
	sp.table, sp.run = r.Table, &verifyRun{progress: admin.VerifyProgress{Skips: make(map[string]uint64)}}
	if r.List != nil {
		sp.interval = 0
	}
	v := s.verify
	if !v.enter(sp) {
		return fmt.Errorf("service %s is being verified: %w", s.name, admin.ErrBusy)
	}
	defer v.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(v.ctx, cancel)()
	if r.List != nil {
		v.replay(ctx, sp, r, report)
	} else {
		v.watch(ctx, sp, r, report)
	}
	return v.finish(ctx, sp, report)
}

// completeVerifyRequest checks a request and sets its defaults.
func completeVerifyRequest(r *admin.VerifyRequest) error {
	within := func(name string, value *float64, standard, limit float64) error {
		if *value == 0 {
			*value = standard
		}
		if !(*value > 0 && *value <= limit) {
			return fmt.Errorf("%s must be positive, and %g at most", name, limit)
		}
		return nil
	}
	seconds := float64(standardVerifySeconds)
	if r.Count > 0 {
		seconds = maxVerifySeconds
	}
	switch {
	case r.List != nil && (r.Table != "" || r.Count > 0 || r.Seconds > 0):
		return errors.New("table, count and seconds are not for a list")
	case len(r.List) > maxVerifyList:
		return fmt.Errorf("%d entries are too many: at most %d at a time", len(r.List), maxVerifyList)
	}
	return errors.Join(within("rate", &r.Rate, standardVerifyRate, maxVerifyRate), within("budget", &r.Budget, standardVerifyBudget, maxVerifyBudget),
		within("seconds", &r.Seconds, seconds, maxVerifySeconds))
}

// enter makes the sampler of a request the present one, unless another one is in progress.
func (v *verifier) enter(sp *sampler) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.run != nil || v.closed {
		return false
	}
	v.run = sp
	v.use(sp)
	return true
}

// leave ends a request.
func (v *verifier) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.run = nil
	v.use(v.configured)
}

// report reports the progress of a request, which is part of the whole.
func (v *verifier) report(r *verifyRun, part float64, report func(admin.VerifyProgress)) {
	v.mu.Lock()
	p := r.progress
	p.Part, p.Skips = part, maps.Clone(p.Skips)
	r.progress.Violations, r.progress.Problems = nil, nil
	v.mu.Unlock()
	report(p)
}

// watch compares sampled hits until the request is fulfilled or ctx ends.
func (v *verifier) watch(ctx context.Context, sp *sampler, r *admin.VerifyRequest, report func(admin.VerifyProgress)) {
	began, whole := time.Now(), time.Duration(r.Seconds*float64(time.Second))
	for {
		part := float64(time.Since(began)) / float64(whole)
		if r.Count > 0 {
			v.mu.Lock()
			part = max(part, float64(sp.run.progress.Checked())/float64(r.Count))
			v.mu.Unlock()
		}
		v.report(sp.run, min(part, 1), report)
		if part >= 1 || !pause.For(ctx, verifyBeat) {
			return
		}
	}
}

// replay compares the entries of a list that are stored.
func (v *verifier) replay(ctx context.Context, sp *sampler, r *admin.VerifyRequest, report func(admin.VerifyProgress)) {
	interval := time.Duration(float64(time.Second) / r.Rate)
	last := time.Now()
	for i, entry := range r.List {
		if time.Since(last) >= verifyBeat {
			v.report(sp.run, float64(i)/float64(len(r.List)), report)
			last = time.Now()
		}
		select {
		case v.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		k, err := v.find(ctx, entry)
		if k != nil {
			v.start(sp, k)
		} else {
			<-v.slots
			v.mu.Lock()
			sp.run.missing(entry, err)
			v.mu.Unlock()
		}
		if !pause.For(ctx, interval) {
			return
		}
	}
}

// missing counts an entry of the list that can't be compared: it is not stored, or err has the reason.
func (r *verifyRun) missing(entry string, err error) {
	if err == nil {
		r.progress.Absent++
		return
	}
	if r.problems++; r.problems <= maxViolations {
		r.progress.Problems = append(r.progress.Problems, fmt.Sprintf("%s: %v", entry, err))
	}
}

// find looks an entry of a list up. It returns nil if a request for it would not be a hit.
func (v *verifier) find(ctx context.Context, entry string) (k *verification, err error) {
	kind, body, err := parseEntry(entry)
	if err != nil {
		return nil, err
	}
	s := v.svc
	q, err := s.entryQuestion(ctx, kind, body)
	if err != nil {
		return nil, err
	}
	s.peerCall(ctx, q.encode(), func(c *call, q *peerRequest) {
		view := c.peerView(q)
		if view == nil || view.t.lags(c.now) {
			return
		}
		if e, found := s.space.Peek(c.key, c.now); found == cache.Fresh {
			k = newVerification(v, view.t, e, c.now)
		}
	})
	return k, nil
}

// finish takes no further hits, waits for the comparisons in progress, and reports the results.
func (v *verifier) finish(ctx context.Context, sp *sampler, report func(admin.VerifyProgress)) error {
	v.mu.Lock()
	v.use(v.configured)
	v.mu.Unlock()
	for {
		v.mu.Lock()
		pending := sp.run.pending
		v.mu.Unlock()
		v.report(sp.run, 1, report)
		if pending == 0 || !pause.For(ctx, verifyBeat) {
			return context.Cause(ctx)
		}
	}
}

var _ admin.Verifier = (*Service)(nil)
