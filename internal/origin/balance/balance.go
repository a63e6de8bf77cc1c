// Package balance spreads requests over the members of a group of equivalent origins: it
// chooses a member for each request by one of several algorithms, excludes members that
// fail, retries at another member where that is safe, and can hedge.
//
// A member receives no requests while it is drained, while its active checks fail, while it
// is ejected because requests failed, and while its circuit breaker is open. When that
// excludes all members, only draining counts (panic): a wrong judgement about all members at
// once is likelier than their failure, and costs more. A member whose breaker is open then
// fails at once if no connection to it can be made.
//
// A Group is used like an origin.Transport:
//
//	g, err := balance.New(balance.Config{
//		Name:      "tweets",
//		Members:   []balance.Member{{URL: "http://10.0.0.1:5984"}, {URL: "http://10.0.0.2:5984"}},
//		Algorithm: balance.LeastRequests,
//	})
//	...
//	in, fault := g.Do(ctx, &origin.Outbound{Method: []byte("GET"), Target: []byte("/")}, nil)
package balance

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// The balancing algorithms.
const (
	RoundRobin     = "round_robin"     // each member in turn, by weight
	LeastRequests  = "least_requests"  // the fewest exchanges in flight for its weight
	P2C            = "p2c_ewma"        // of two drawn by weight, the one with the lower expected time
	ConsistentHash = "consistent_hash" // always the same member for the same key
)

// Algorithms lists all algorithms.
var Algorithms = []string{RoundRobin, LeastRequests, P2C, ConsistentHash}

// Config describes a group. Zero fields other than Members have defaults.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name string
	// Members are the origins. Choice and MemberState identify a member by its index here.
	Members []Member
	// Algorithm is one of the constants. Default RoundRobin.
	Algorithm string
	// SlowStart is the time over which a member that joins or becomes available again
	// receives from a tenth of its weight up to all of it. Default 0: full weight at once.
	SlowStart time.Duration
	// Check configures active health checks. With an empty Check.Path there are none.
	Check Check
	// Ejection configures the exclusion of members whose requests fail.
	Ejection Ejection
	// Breaker configures the circuit breaker of each member.
	Breaker origin.Breaker
	// Retry configures retries at other members.
	Retry Retry
	// Hedge configures requests that are sent to two members.
	Hedge Hedge
	// Transport is the template of each member's transport; its Name, Member, URL and
	// Metrics are ignored. Reconfigure compares TLS configurations by content. If one has
	// functions, they are only equal if they are the same pointer.
	Transport origin.TransportConfig
	// OnStateChange is called when the state of a member changes, with the states ("up",
	// "down", "ejected", "drained", "broken") and the reason. It is called by the goroutine
	// that detects the change, and must not call the group. It may be nil.
	OnStateChange func(member, from, to, why string)
	// Metrics receives the group's series. It may be nil.
	Metrics *telemetry.Registry
}

// Member is one origin of a group.
type Member struct {
	// Name is the value of the metrics' label "member". Default URL.
	Name string
	// URL has the form of TransportConfig.URL.
	URL string
	// TLS replaces that of Config.Transport if it is not nil.
	TLS *tls.Config
	// Weight is the member's share relative to the other members' weights. Default 1.
	Weight float64
}

// Check configures active health checks of the members.
type Check struct {
	// Path is the request target, with its query. If empty, there are no checks.
	Path string
	// Method is the request method. Default GET.
	Method string
	// Host is the request's Host field. Default the member's own.
	Host string
	// Interval is the time between checks of a member, within a tenth. Default 5s.
	Interval time.Duration
	// Timeout bounds one check. Default 2s.
	Timeout time.Duration
	// Status is the status of a healthy answer. Default 0: any from 200 to 399.
	Status int
	// Body must occur in the first 64 KiB of the answer's body. Default "": any body is
	// healthy.
	Body string
	// Judge evaluates answers instead of Status and Body. It must be of a comparable type,
	// because Checks are compared. It may be nil.
	Judge Judge
	// Window is the number of last checks that count, at most 64, and Threshold is how many
	// of them must succeed for the member to be healthy. Defaults 5 and 3. A member starts
	// with a window of successes.
	Window, Threshold int
}

// Judge evaluates answers to checks for protocols whose health is more than a status.
type Judge interface {
	// Judge returns nil if the member is healthy, or the reason why it is not. It may
	// instead return another target to request in the same check. body is up to 64 KiB of
	// the answer.
	Judge(target string, status int, body []byte) (other string, err error)
}

// Ejection excludes members whose requests fail: no connection, a broken one, a timeout, an
// invalid answer, or one of Statuses.
type Ejection struct {
	// Disabled turns ejection off.
	Disabled bool
	// Consecutive is the number of failures in a row that eject a member. Default 5.
	Consecutive int
	// FailureRate is the share of failures, in (0, 1], among the requests of Window that
	// ejects a member if there were at least MinRequests. Defaults 0.5, 10s and 20.
	FailureRate float64
	Window      time.Duration
	MinRequests int
	// Time is the length of the first ejection; each further one is Time longer, up to
	// MaxTime. For each Time without an ejection, one earlier ejection no longer counts. An
	// ejection caused by failed connections alone ends earlier if Check.Threshold checks in
	// a row succeed that began during it, multiplied by the number of ejections that count.
	// Defaults 10s and 5m.
	Time, MaxTime time.Duration
	// MaxShare is the maximum share of members, in (0, 1], ejected at the same time. At
	// least one of two or more members may always be ejected, and one always remains.
	// Default 0.5.
	MaxShare float64
	// Statuses are the statuses that count as failures. Default 500, 502, 503, 504.
	Statuses []int
}

// Retry configures retries at other members. A request that a member may have executed is
// retried only if it is idempotent and can be sent again.
type Retry struct {
	// Attempts is the maximum number of members tried for a request. Default 3; 1 means no
	// retry.
	Attempts int
	// BudgetRatio is the average number of retries per request, and BudgetMin the number of
	// retries per second allowed in any case. Only retries after a timeout or an answer
	// count: a broken connection means that a member is gone, and a retry then adds no load
	// to the group. Defaults 0.2 and 10.
	BudgetRatio, BudgetMin float64
	// Statuses are the statuses after which idempotent requests are retried at another
	// member. By default there are none. If the other members fail entirely, the first
	// answer is returned.
	Statuses []int
}

// Hedge sends a request to a second member when the first one takes long. The first head
// wins; the other exchange is cancelled. Only requests that are idempotent and can be sent
// again are hedged, and each hedge costs retry budget.
type Hedge struct {
	// Enabled turns hedging on.
	Enabled bool
	// Delay is the wait before the request is sent to a second member. Default 0: the
	// measured 95th percentile of the time to a head, once 100 heads were measured.
	Delay time.Duration
}

// complete sets the defaults and validates cfg.
func (cfg *Config) complete() error {
	cfg.Algorithm = cmp.Or(cfg.Algorithm, RoundRobin)
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	members := slices.Clone(cfg.Members)
	cfg.Members = members
	for i := range members {
		members[i].Name = cmp.Or(members[i].Name, members[i].URL)
		members[i].Weight = cmp.Or(members[i].Weight, 1)
	}
	cfg.Check.fill()
	cfg.Ejection.fill()
	cfg.Retry.Attempts = cmp.Or(cfg.Retry.Attempts, 3)
	cfg.Retry.BudgetRatio = cmp.Or(cfg.Retry.BudgetRatio, 0.2)
	cfg.Retry.BudgetMin = cmp.Or(cfg.Retry.BudgetMin, 10)
	if err := errors.Join(cfg.check()...); err != nil {
		return fmt.Errorf("group %s: %w", cfg.Name, err)
	}
	return nil
}

func (c *Check) fill() {
	c.Method = cmp.Or(c.Method, "GET")
	c.Interval = cmp.Or(c.Interval, 5*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Window = cmp.Or(c.Window, 5)
	c.Threshold = cmp.Or(c.Threshold, min(3, c.Window))
}

func (e *Ejection) fill() {
	e.Consecutive = cmp.Or(e.Consecutive, 5)
	e.FailureRate = cmp.Or(e.FailureRate, 0.5)
	e.Window = cmp.Or(e.Window, 10*time.Second)
	e.MinRequests = cmp.Or(e.MinRequests, 20)
	e.Time = cmp.Or(e.Time, 10*time.Second)
	e.MaxTime = cmp.Or(e.MaxTime, max(5*time.Minute, e.Time))
	e.MaxShare = cmp.Or(e.MaxShare, 0.5)
	if e.Statuses == nil {
		e.Statuses = []int{500, 502, 503, 504}
	}
}

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
