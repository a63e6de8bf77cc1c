// Package balance spreads requests over the members of a group of origins that are
// taken for the same: it chooses a member for each request by one of several
// algorithms, leaves out those that fail, asks another one where that is safe, and
// may ask two at once.
//
// A member gets nothing while it is drained, while its active checks fail, while it
// is ejected because requests failed, and while its circuit breaker is open. When no
// member is left that way, only draining counts (panic): a wrong judgement about all
// members at once is likelier than their death, and costs more. A member whose breaker
// is open then answers at once if no connection to it can be made.
package balance

import (
	"crypto/tls"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// The algorithms by which a member is chosen.
const (
	RoundRobin     = "round_robin"     // in turn, by weight
	LeastRequests  = "least_requests"  // the fewest exchanges under way for its weight
	P2C            = "p2c_ewma"        // of two drawn by weight, the one that promises the earlier answer
	ConsistentHash = "consistent_hash" // always the same for the same key
)

// Algorithms are all of them.
var Algorithms = []string{RoundRobin, LeastRequests, P2C, ConsistentHash}

// Config describes a group. The zero value of every field but Members means its
// default.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name string
	// Members are the origins. What Choice and Members call a member is its index here.
	Members []Member
	// Algorithm is one of the constants. Default RoundRobin.
	Algorithm string
	// SlowStart is the time over which a member that has become available again, or
	// has joined, gets from a tenth of its weight to all of it. Default 0: at once.
	SlowStart time.Duration
	// Check asks members whether they are well. Check.Path empty: they are not asked.
	Check Check
	// Ejection says which members are left out because requests failed.
	Ejection Ejection
	// Breaker is that of each member.
	Breaker origin.Breaker
	// Retry says when another member is asked.
	Retry Retry
	// Hedge says when two members are asked at once.
	Hedge Hedge
	// Transport is the pattern of each member's transport; Name, Member, URL and
	// Metrics in it do not count. Two TLS configurations are the same for Reconfigure if
	// they say the same, and neither has functions unless they are one.
	Transport origin.TransportConfig
	// OnStateChange is told when a member becomes available or ceases to be: "up", "down",
	// "ejected", "drained", "broken", and why. It is called by whoever noticed, and must
	// not call the group. Nil tells nobody.
	OnStateChange func(member, from, to, why string)
	// Metrics takes the group's series. Nil keeps none.
	Metrics *telemetry.Registry
}

// Member is one origin of a group.
type Member struct {
	// Name is the value of the metrics' label "member". Default URL.
	Name string
	// URL is as TransportConfig has it.
	URL string
	// TLS is used instead of that of Config.Transport if it isn't nil.
	TLS *tls.Config
	// Weight is the member's share, compared with the other members' weights. Default 1.
	Weight float64
}

// Check is an active check of a member's health.
type Check struct {
	// Path is the target that is asked for, with its query. Empty: no checks.
	Path string
	// Method is the request's. Default GET.
	Method string
	// Host is the request's Host field. Default the member's own.
	Host string
	// Interval is the time between checks of a member, give or take a tenth. Default 5s.
	Interval time.Duration
	// Timeout bounds one check. Default 2s.
	Timeout time.Duration
	// Status is the status that a good answer has. Default 0: any from 200 to 399.
	Status int
	// Body must be in the first 64 KiB of the answer's body. Default "": anything is good.
	Body string
	// Judge says what an answer means, instead of Status and Body. It must be of a
	// comparable type: two Checks with the same one are the same. Nil: they count.
	Judge Judge
	// Window is how many of the last checks count, at most 64, and Threshold how many
	// of them must be good for the member to be. Defaults 5 and 3. A member begins with
	// a window of good ones.
	Window, Threshold int
}

// Judge judges answers to checks for a protocol that says more than a status.
type Judge interface {
	// Judge returns why the member is not well, nil if it is, or another target to ask
	// for, in the same check, if this answer does not tell. body is up to 64 KiB of it.
	Judge(target string, status int, body []byte) (other string, err error)
}

// Ejection leaves members out because requests failed: no connection, a broken one, a
// timeout, garbage, or one of Statuses.
type Ejection struct {
	// Disabled ejects nobody.
	Disabled bool
	// Consecutive is how many failures in a row eject a member. Default 5.
	Consecutive int
	// FailureRate is the share of failures, in (0, 1], among the requests of Window that
	// ejects a member, if they were at least MinRequests. Defaults 0.5, 10s and 20.
	FailureRate float64
	Window      time.Duration
	MinRequests int
	// Time is how long the first ejection lasts; each further one lasts Time longer, up
	// to MaxTime. A member that was well for as long as Time is forgiven one. One that is
	// ejected for failed connections alone is back before that when Check.Threshold checks
	// in a row are good that began since, for each further ejection as many more. Defaults
	// 10s and 5m.
	Time, MaxTime time.Duration
	// MaxShare is the share of the members, in (0, 1], that may be ejected at once; one
	// always may if there are two, and one is always left. Default 0.5.
	MaxShare float64
	// Statuses are the statuses that count as failures. Default 500, 502, 503, 504.
	Statuses []int
}

// Retry says when another member is asked. A request that the first one may have
// executed goes to another one only if it is idempotent and can be sent again.
type Retry struct {
	// Attempts is the largest number of members asked for one request. Default 3; 1
	// means no retry.
	Attempts int
	// BudgetRatio is how many retries are allowed for a request on average, and
	// BudgetMin how many a second in any case. Only retries after a timeout or an
	// answer cost budget: a broken connection says that a member has gone, and asking
	// another one does not add to what the group is asked. Defaults 0.2 and 10.
	BudgetRatio, BudgetMin float64
	// Statuses are those of answers that make idempotent requests go to another member.
	// Default none: an origin's answer is passed on. If the others fail altogether, the
	// answer is passed on after all.
	Statuses []int
}

// Hedge asks a second member when the first one takes long. The first head wins, the
// other exchange is cancelled. Only requests that are idempotent and can be sent
// again are hedged, and each costs retry budget.
type Hedge struct {
	// Enabled turns hedging on.
	Enabled bool
	// Delay is the wait before the second member is asked. Default 0: the time within
	// which 95 of 100 heads came lately, of at least 100.
	Delay time.Duration
}

// complete fills the defaults in and says what is impossible.
func (cfg *Config) complete() error {
	setDefault(&cfg.Algorithm, RoundRobin)
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	members := make([]Member, len(cfg.Members))
	copy(members, cfg.Members)
	cfg.Members = members
	for i := range members {
		setDefault(&members[i].Name, members[i].URL)
		setDefault(&members[i].Weight, 1)
	}
	cfg.Check.fill()
	cfg.Ejection.fill()
	setDefault(&cfg.Retry.Attempts, 3)
	setDefault(&cfg.Retry.BudgetRatio, 0.2)
	setDefault(&cfg.Retry.BudgetMin, 10)
	if err := errors.Join(cfg.check()...); err != nil {
		return fmt.Errorf("group %s: %w", cfg.Name, err)
	}
	return nil
}

func (c *Check) fill() {
	setDefault(&c.Method, "GET")
	setDefault(&c.Interval, 5*time.Second)
	setDefault(&c.Timeout, 2*time.Second)
	setDefault(&c.Window, 5)
	setDefault(&c.Threshold, min(3, c.Window))
}

func (e *Ejection) fill() {
	setDefault(&e.Consecutive, 5)
	setDefault(&e.FailureRate, 0.5)
	setDefault(&e.Window, 10*time.Second)
	setDefault(&e.MinRequests, 20)
	setDefault(&e.Time, 10*time.Second)
	setDefault(&e.MaxTime, max(5*time.Minute, e.Time))
	setDefault(&e.MaxShare, 0.5)
	if e.Statuses == nil {
		e.Statuses = []int{500, 502, 503, 504}
	}
}

// setDefault gives a field that is zero its default.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// check says what no group can work with.
func (cfg *Config) check() (errs []error) {
	f := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	c, e, r := &cfg.Check, &cfg.Ejection, &cfg.Retry
	f(len(cfg.Members) > 0, "no members")
	f(slices.Contains(Algorithms, cfg.Algorithm), "no algorithm %q", cfg.Algorithm)
	names := map[string]bool{}
	for _, m := range cfg.Members {
		f(!names[m.Name], "two members %s", m.Name)
		f(m.Weight > 0 && m.Weight <= 1e6, "member %s: the weight must be above 0 and at most 1000000", m.Name)
		names[m.Name] = true
	}
	f(cfg.SlowStart >= 0 && cfg.Hedge.Delay >= 0, "times must not be negative")
	f(c.Judge == nil || reflect.TypeOf(c.Judge).Comparable(), "check: a judge must be of a comparable type")
	f(c.Interval > 0 && c.Timeout > 0, "check: times must be above zero")
	f(0 < c.Threshold && c.Threshold <= c.Window && c.Window <= 64, "check: 0 < threshold <= window <= 64 must hold")
	f(e.Consecutive > 0 && e.MinRequests > 0, "ejection: the numbers of requests must be above zero")
	f(e.FailureRate > 0 && e.FailureRate <= 1 && e.MaxShare > 0 && e.MaxShare <= 1, "ejection: shares must be above 0 and at most 1")
	f(e.Window > 0 && e.Time > 0 && e.MaxTime >= e.Time, "ejection: 0 < time <= max time must hold, and a window above zero")
	f(r.Attempts > 0 && r.BudgetRatio >= 0 && r.BudgetMin >= 0, "retry: attempts must be at least 1, the budget not negative")
	return errs
}
