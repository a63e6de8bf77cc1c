package accel

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// verifyOutcome is the outcome of a comparison.
type verifyOutcome uint8

// The outcomes, see admin.VerifyCounts.
const (
	verifyEqual verifyOutcome = iota
	verifyExplained
	verifyUnexplained
	verifyViolation
	verifySkipped
	verifyOutcomes
)

var verifyOutcomeNames = [verifyOutcomes]string{"equal", "explained", "unexplained", "violation", "skipped"}

// The reasons for which answers are not compared.
const (
	skipBreaker      = "breaker-open"
	skipBudget       = "budget"
	skipBusy         = "busy"
	skipExpiring     = "expiring-query"
	skipFault        = "fault"
	skipGlobal       = "global-index"
	skipLagging      = "stream-lagging"
	skipOrigin       = "origin-error"
	skipQueued       = "origin-busy"
	skipReconfigured = "reconfigured"
	skipStopped      = "stopped"
	skipUnreadable   = "unreadable"
)

// verifyResult is the result of a comparison.
type verifyResult struct {
	outcome   verifyOutcome
	skip      string // why it was skipped
	violation *admin.Violation
}

func skipped(why string) verifyResult { return verifyResult{outcome: verifySkipped, skip: why} }

// addTo adds the result to counts.
func (r *verifyResult) addTo(c *admin.VerifyCounts) {
	*[verifyOutcomes]*uint64{&c.Equal, &c.Explained, &c.Unexplained, &c.Violations, &c.Skipped}[r.outcome]++
}

// maxViolations is the number of violations that are kept.
const maxViolations = 32

// verifyFigures are the figures of a verifier, which guards them by its mutex.
type verifyFigures struct {
	counts     admin.VerifyCounts
	units      float64
	skips      map[string]uint64
	tables     map[string]*admin.VerifyCounts
	violations []admin.Violation // the latest, the newest last
}

func (f *verifyFigures) init() {
	f.skips, f.tables = make(map[string]uint64), make(map[string]*admin.VerifyCounts)
}

// add adds the result of a comparison of a table's answer.
func (f *verifyFigures) add(table string, r verifyResult, units float64) {
	f.units += units
	c := f.tables[table]
	if c == nil {
		c = new(admin.VerifyCounts)
		f.tables[table] = c
	}
	r.addTo(c)
	r.addTo(&f.counts)
	if r.skip != "" {
		f.skips[r.skip]++
	}
	if r.violation != nil {
		f.violations = append(f.violations[max(0, len(f.violations)-maxViolations+1):], *r.violation)
	}
}

// report returns a copy of the figures.
func (f *verifyFigures) report() admin.Verification {
	out := admin.Verification{
		ReadUnits: f.units, VerifyCounts: f.counts, Skips: make(map[string]uint64, len(f.skips)),
		Tables: []admin.VerifiedTable{}, Recent: append([]admin.Violation{}, f.violations...),
	}
	for why, n := range f.skips {
		out.Skips[why] = n
	}
	for name, c := range f.tables {
		out.Tables = append(out.Tables, admin.VerifiedTable{Table: name, VerifyCounts: *c})
	}
	slices.SortFunc(out.Tables, func(a, b admin.VerifiedTable) int { return cmp.Compare(a.Table, b.Table) })
	if f.counts.Violations == 0 && f.counts.Checked() > 0 {
		share := admin.RightAtLeast(f.counts.Checked())
		out.RightAtLeast = &share
	}
	return out
}

// verifyMetrics are the counters of a verifier.
type verifyMetrics struct {
	checks [verifyOutcomes]*telemetry.Counter
	units  *telemetry.Counter
}

func newVerifyMetrics(r *telemetry.Registry, service string) (m verifyMetrics) {
	for i, name := range verifyOutcomeNames {
		m.checks[i] = r.Counter("kasoku_verify_checks_total",
			"Cached answers that were compared with the origin: equal, different because of a write meanwhile (explained) or perhaps of one past Kasoku (unexplained), not allowed by the contract (violation), or not compared (skipped).",
			"service", service, "result", name)
	}
	m.units = r.Counter("kasoku_verify_read_units_total", "Read capacity units that comparisons of cached answers with the origin have consumed, each rounded up.", "service", service)
	return m
}

func (m *verifyMetrics) count(o verifyOutcome, units float64) {
	m.checks[o].Inc()
	m.units.Add(uint64(math.Ceil(units)))
}

// unitBudget limits capacity units by a token bucket, which fills within a second. A read may
// overdraw it, since its units are known only from its answer: the next one then waits.
type unitBudget struct {
	perSecond float64

	mu     sync.Mutex // leaf
	tokens float64
	at     time.Time
}

func newUnitBudget(perSecond float64) *unitBudget {
	return &unitBudget{perSecond: perSecond, tokens: perSecond, at: time.Now()}
}

// allows reports whether a read may begin at now.
func (b *unitBudget) allows(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+now.Sub(b.at).Seconds()*b.perSecond, b.perSecond)
	b.at = now
	return b.tokens > 0
}

// spend takes units of a read that allows has admitted.
func (b *unitBudget) spend(units float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens -= units
}
