// Package origin sends requests to an HTTP origin and handles failures: retries within a
// budget, a circuit breaker, an adaptive concurrency limit, deadlines.
//
// It implements HTTP but no service's protocol: a service provides Prepare, which signs an
// attempt, and Classify, which decides whether an answer allows a retry. The caller is
// always informed whether the origin may have executed the request (Fault.Reached), because
// a write with an unknown outcome must be treated as one that happened.
//
// A Client sends small requests whose answers fit into memory, with retries. A Transport
// makes single exchanges with streamed bodies; package balance adds retries over several
// origins.
//
//	c, err := origin.New(origin.Config{
//		Name: "orders",
//		URL:  "https://dynamodb.eu-west-1.amazonaws.com",
//	})
//	...
//	resp, err := c.Do(ctx, &origin.Request{Method: "POST", Path: "/", Header: header, Body: body})
package origin

import (
	"context"
	"crypto/tls"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes an origin and how it is used. Zero fields other than URL have defaults.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name string
	// URL is scheme://host[:port][/prefix]; the prefix is prepended to every path.
	URL string
	// Timeout bounds one attempt, from the first byte sent (or the dial) to the last
	// byte of the answer. Default 5s.
	Timeout time.Duration
	// MaxIdleConns is the maximum number of idle connections. Default 256.
	MaxIdleConns int
	// IdleTimeout is the maximum idle time of a connection. It should be shorter than the
	// origin's own, because a write on a connection that is just being closed has an unknown
	// outcome. Default 25s.
	IdleTimeout time.Duration
	// TLS is used for https origins. Nil means the system's roots.
	TLS *tls.Config
	// Retry configures how often and how fast an attempt is repeated.
	Retry Retry
	// Breaker configures when the origin counts as down: requests are then not retried, and
	// don't wait for a connection that can't be made.
	Breaker Breaker
	// Concurrency bounds the requests in flight.
	Concurrency Concurrency
	// Prepare is called for each attempt with the complete head: r is everything that is
	// sent before the body, including the fields for host and length. It signs the request
	// and may change r.Fields in any way; values that it adds must remain valid until Do has
	// returned. It must not retain r. It may be nil.
	Prepare func(ctx context.Context, r *http1.Request, body []byte) error
	// Classify decides whether an answer allows a retry. Nil means ClassifyStatus.
	Classify func(status int, h http1.Fields, body []byte) Class
	// OnRefusal is called with each answer that is Throttled or Refused, also if the request is
	// sent again then. It must not retain r or change resp. It may be nil.
	OnRefusal func(r *Request, resp *Response)
	// OnBreakerChange is called with the old and the new state of the circuit breaker:
	// "closed", "open" or "half-open". It is called by the request that caused the change.
	// It may be nil.
	OnBreakerChange func(from, to string)
	// MaxBody is the maximum length of an answer's body in bytes; a longer one is a Fault of
	// kind Garbage. Default 64 MiB.
	MaxBody int64
	// Metrics receives the origin's series. It may be nil.
	Metrics *telemetry.Registry
}

// Retry bounds repeated attempts.
type Retry struct {
	// Attempts is the maximum number of attempts for a request, including the first. Default
	// 3; 1 means no retry.
	Attempts int
	// BudgetRatio is the average number of retries per request. Default 0.2.
	BudgetRatio float64
	// BudgetMin is the number of retries per second allowed however few requests there are.
	// Default 10.
	BudgetMin float64
	// Base and Cap determine the pause: before the nth retry it is random in [0, min(Cap,
	// Base*2^(n-1))). Defaults 25ms and 1s.
	Base, Cap time.Duration
}

// Breaker configures the circuit breaker.
type Breaker struct {
	// Disabled keeps the breaker closed.
	Disabled bool
	// FailureRate is the share of failed attempts, in (0, 1], that opens the breaker. Default 0.5.
	FailureRate float64
	// MinRequests is the minimum number of attempts within Window for a judgement. Default
	// 20.
	MinRequests int
	// Window is the time over which attempts are counted. Default 10s.
	Window time.Duration
	// Delay is the time after the last failure, within a tenth, before the breaker admits
	// probes. Default 5s.
	Delay time.Duration
	// Probes is the number of attempts in a row that must succeed to close the breaker. At
	// most this many are in flight at once, except requests that no other origin can answer. It
	// is also the maximum number of concurrent connection attempts while connecting fails.
	// Default 3.
	Probes int
}

// Concurrency configures the adaptive limit of requests in flight.
type Concurrency struct {
	// Disabled removes the limit.
	Disabled bool
	// Min, Max and Initial bound the limit. The limit always returns up to Initial when the
	// origin answers as fast as before, however little traffic there was; beyond that it
	// grows to five times the observed concurrency. Defaults 32, 1024 and 128.
	Min, Max, Initial int
	// Queue is the number of requests that may wait at the limit, as a multiple of the
	// limit: up to Queue all may, up to twice as many progressively fewer. Default 2; a
	// negative value means that none waits.
	Queue float64
	// MaxWait is the maximum wait in the queue. Default 1s.
	MaxWait time.Duration
}

// Class decides whether an answered request may be retried.
type Class uint8

const (
	// Good is a success.
	Good Class = iota
	// Refused means that the origin executed nothing and the fault is the client's.
	Refused
	// Throttled means that nothing was executed and the same request may succeed later.
	Throttled
	// Failed means that the origin failed: the outcome of a write is unknown.
	Failed
)

var classNames = [...]string{Good: "good", Refused: "refused", Throttled: "throttled", Failed: "failed"}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "class-" + strconv.Itoa(int(c))
}

// Request is a request to the origin. Do does not change it.
type Request struct {
	// Method, Path (escaped, as sent) and RawQuery make the request line.
	Method, Path, RawQuery string
	// Header is sent unchanged; it must not contain Host, Content-Length or hop-by-hop
	// fields.
	Header http1.Fields
	// Body must not change until Do has returned.
	Body []byte
	// Repeatable allows to send the request again even if the origin may have executed it: a
	// read, or an idempotent write.
	Repeatable bool
	// Guard reports whether the request may be sent now. It is called directly before each
	// attempt writes its first byte, and again after it has written the last one, because
	// this process may have been stopped in between. The result is a Fault of kind Withheld,
	// Reached in the second case, and no further attempt. Nil: the request may be sent. An
	// origin in this process ignores it.
	Guard func() bool
	// Buf is memory of length 0 that an origin in this process may use for the answer's
	// body. A Client ignores it.
	Buf []byte
	// Namespace selects one of several stores of an origin in this process: the client's
	// access key ID and region, as KEY/REGION. A Client ignores it.
	Namespace string
	// Principal is the name that the client gives for itself, and Shape is the form of its
	// query, for the accounts of an origin that charges for requests. A Client ignores both.
	Principal string
	Shape     *telemetry.Shape
	// Own is set for a request that the service sends for itself and not for a client. A store
	// in this process injects no faults into it. A Client ignores it.
	Own bool
}

// Response is a complete answer, whatever its status.
type Response struct {
	Status int
	// Header are the received fields, in memory of their own.
	Header http1.Fields
	// Body belongs to the caller and is as long as its backing array, unless it was built in
	// Request.Buf.
	Body     []byte
	Class    Class
	Attempts int
	// Duration covers all attempts and pauses.
	Duration time.Duration
	// Consumed are the capacity units that the request has consumed, in halves, if its use of
	// the origin is accounted for. A Client does not set it.
	Consumed uint64
}
