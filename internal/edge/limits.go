package edge

import (
	"cmp"
	"math"
	"time"
)

const defaultRequestTimeout = 30 * time.Second

// Limits bound the requests of clients to one server. The zero value of each is its default.
type Limits struct {
	// Connections is the maximum at a time; one more is answered with 503 (over TLS: closed)
	// at once. Default 16384.
	Connections int
	// ConnectionsPerClient bounds them for each client address (each /64 of IPv6), with
	// PROXY protocol for the address that the header names. Default 0: no bound.
	ConnectionsPerClient int
	// HeaderBytes bounds a request's head; over it the answer is 431. Default 32 KiB.
	HeaderBytes int
	// BodyBytes bounds a request's body; over it the answer is 413. Default 16 MiB;
	// on a streaming server none.
	BodyBytes int
	// HeaderTimeout bounds the time from the first byte of a head to its last, BodyTimeout
	// that from the end of the head to the end of the body. After either the answer is 408.
	// Defaults 10s and 30s. On a streaming server BodyTimeout bounds the time spent waiting
	// for the body, and each KiB of it adds a second.
	HeaderTimeout, BodyTimeout time.Duration
	// WriteTimeout bounds the time in which a client reads nothing of an answer. At least
	// half of it is granted. It also bounds the time spent waiting for a client to read its
	// answer, of which each KiB adds a second. Default 30s.
	WriteTimeout time.Duration
	// IdleTimeout bounds the time that a connection is without a request: it closes after at
	// least half of it and at most the whole, because it is not reset for each request.
	// Default 3m.
	IdleTimeout time.Duration
	// UnauthenticatedIdle replaces a longer IdleTimeout until a handler has answered a
	// request on the connection without setting Exchange.Unauthenticated. Default 10s.
	UnauthenticatedIdle time.Duration
	// RequestTimeout is the time after which the context of an exchange ends, and its
	// Deadline, counted from the request's first byte. Default 30s. On a streaming server it
	// bounds only the time until the answer begins, and the default is none.
	RequestTimeout time.Duration
	// RequestsPerSecond bounds the rate for each client address (each /64 of
	// IPv6), with bursts of one second's worth; over it the answer is 429.
	// Default 0: no bound.
	RequestsPerSecond float64
	// Underscores keeps fields of requests whose names have an underscore. Default false:
	// they are dropped.
	Underscores bool
}

func (l Limits) withDefaults(streaming bool) Limits {
	l.Connections = cmp.Or(max(l.Connections, 0), 16384)
	l.HeaderBytes = cmp.Or(max(l.HeaderBytes, 0), 32<<10)
	l.HeaderTimeout = cmp.Or(max(l.HeaderTimeout, 0), 10*time.Second)
	l.BodyTimeout = cmp.Or(max(l.BodyTimeout, 0), 30*time.Second)
	l.WriteTimeout = cmp.Or(max(l.WriteTimeout, 0), 30*time.Second)
	l.IdleTimeout = cmp.Or(max(l.IdleTimeout, 0), 3*time.Minute)
	l.UnauthenticatedIdle = cmp.Or(max(l.UnauthenticatedIdle, 0), 10*time.Second)
	if streaming {
		l.BodyBytes = cmp.Or(max(l.BodyBytes, 0), math.MaxInt)
		l.RequestTimeout = max(l.RequestTimeout, 0)
		return l
	}
	l.BodyBytes = cmp.Or(max(l.BodyBytes, 0), 16<<20)
	l.RequestTimeout = cmp.Or(max(l.RequestTimeout, 0), defaultRequestTimeout)
	return l
}
