// Package origin sends requests to an HTTP origin and decides what may be done
// about it when that fails: retries within a budget, a circuit breaker, an
// adaptive limit of concurrency, deadlines.
//
// It knows HTTP but no service's protocol: a service gives it Prepare, which
// signs an attempt, and Classify, which says what an answer means for repeating
// the request. What the caller always learns is whether the origin may have
// executed the request, because a write whose outcome is unknown must be treated
// as one that happened.
package origin

import (
	"context"
	"crypto/tls"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes one origin and how it is treated. The zero value of every
// field but URL means its default.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name string
	// URL is scheme://host[:port][/prefix]; the prefix is put before every path.
	URL string
	// Timeout bounds one attempt, from the first byte sent (or the dial) to the last
	// byte of the answer. Default 5s.
	Timeout time.Duration
	// MaxIdleConns is how many idle connections are kept. Default 256.
	MaxIdleConns int
	// IdleTimeout is how long an unused connection is kept. It should be shorter
	// than the origin's own, since a write that meets a connection just being
	// closed has an unknown outcome. Default 25s.
	IdleTimeout time.Duration
	// TLS is used for https origins. Nil means the system's roots.
	TLS *tls.Config
	// Retry says how often and how fast an attempt is repeated.
	Retry Retry
	// Breaker says when the origin counts as down: requests to it are then not repeated,
	// and don't wait for a connection that can't be made.
	Breaker Breaker
	// Concurrency bounds the requests under way at the origin.
	Concurrency Concurrency
	// Prepare is called on each attempt and on a head made for it: r is all that will
	// be sent before the body, fields for host and length included. It signs, and
	// may change r.Fields in any way; what it puts there must stay good until Do has
	// returned. It must not keep r. Nil does nothing.
	Prepare func(ctx context.Context, r *http1.Request, body []byte) error
	// Classify says what an answer means. Nil is ClassifyStatus.
	Classify func(status int, h http1.Fields, body []byte) Class
	// OnBreakerChange is told when the circuit breaker changes: "closed", "open" or
	// "half-open". It is called by the request that changed it. Nil tells nobody.
	OnBreakerChange func(from, to string)
	// MaxBody bounds the answer's body in bytes; a longer one is a Fault of kind
	// Garbage. Default 64 MiB.
	MaxBody int64
	// Metrics takes the origin's series. Nil keeps none.
	Metrics *telemetry.Registry
}

// Retry bounds repeated attempts.
type Retry struct {
	// Attempts is the largest number of attempts for one request, the first
	// included. Default 3; 1 means no retry.
	Attempts int
	// BudgetRatio is how many retries are allowed per request. Default 0.2.
	BudgetRatio float64
	// BudgetMin is how many retries a second are allowed however few the requests
	// are. Default 10.
	BudgetMin float64
	// Base and Cap shape the pause: before the nth retry it is random in
	// [0, min(Cap, Base*2^(n-1))). Defaults 25ms and 1s.
	Base, Cap time.Duration
}

// Breaker says when the origin counts as broken.
type Breaker struct {
	// Disabled keeps the breaker closed for ever.
	Disabled bool
	// FailureRate is the share of failed attempts, in (0, 1], that opens the breaker. Default 0.5.
	FailureRate float64
	// MinRequests is how many attempts within Window are needed to judge. Default 20.
	MinRequests int
	// Window is the time over which attempts are counted. Default 10s.
	Window time.Duration
	// Delay is how long after the last failure, give or take a tenth, the breaker stays
	// open before it lets probes through. Default 5s.
	Delay time.Duration
	// Probes is how many attempts in a row must succeed for the breaker to close
	// again; no more are under way at once, except those that no other origin can answer.
	// It is also how many connections are made at a time while none can be made.
	// Default 3.
	Probes int
}

// Concurrency is the adaptive limit of requests under way at the origin.
type Concurrency struct {
	// Disabled takes the limit away.
	Disabled bool
	// Min, Max and Initial bound the limit. Up to Initial is always reached again
	// when the origin answers as fast as it used to, however little traffic there
	// was; beyond it the limit grows to five times the requests seen under way.
	// Defaults 32, 1024 and 128.
	Min, Max, Initial int
	// Queue is how many requests may wait when the limit is reached, as a multiple
	// of the limit: up to Queue all may, up to twice as many ever fewer. Default 2;
	// a negative one means that none waits.
	Queue float64
	// MaxWait bounds the wait in the queue. Default 1s.
	MaxWait time.Duration
}

// Class is what an answer says about repeating the request.
type Class uint8

const (
	// Good is a success.
	Good Class = iota
	// Refused means that the origin executed nothing and the fault is the client's.
	Refused
	// Throttled means that nothing was executed and the same request may do later.
	Throttled
	// Failed means that the origin failed: what became of a write is unknown.
	Failed
)

func (c Class) String() string {
	switch c {
	case Good:
		return "good"
	case Refused:
		return "refused"
	case Throttled:
		return "throttled"
	case Failed:
		return "failed"
	}
	return "class-" + strconv.Itoa(int(c))
}

// Request is what is asked of the origin. Do does not change it.
type Request struct {
	// Method, Path (as on the wire, escaped) and RawQuery make the request line.
	Method, Path, RawQuery string
	// Header is sent as it is; Host, Content-Length and hop-by-hop fields are not
	// to be in it.
	Header http1.Fields
	// Body must not change until Do has returned.
	Body []byte
	// Repeatable says that the request may be sent again even if the origin may
	// have executed it: a read, or a write that is idempotent.
	Repeatable bool
	// Buf is memory of length 0 that an origin in this process may append the
	// answer's body to, instead of taking memory for it. A client ignores it.
	Buf []byte
}

// Response is an answer that came whole, whatever its status.
type Response struct {
	Status int
	// Header are the fields as they came, in memory of their own.
	Header http1.Fields
	// Body belongs to the caller and is as long as its backing array, unless it was
	// built in Request.Buf.
	Body     []byte
	Class    Class
	Attempts int
	// Duration covers all attempts and pauses.
	Duration time.Duration
}
