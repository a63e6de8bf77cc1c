package dax

import (
	"cmp"
	"time"
)

// Limits limits the use of one server by clients. Zero values select the defaults.
type Limits struct {
	// Connections is the maximum number of connections; another one is closed at once.
	// Default 16384.
	Connections int
	// ConnectionsPerClient is the maximum per client address (per /64 of IPv6); another one
	// is closed at once. Default 0: no limit.
	ConnectionsPerClient int
	// RequestBytes is the maximum size of a request; a larger one is answered with an error
	// and the connection is closed. Default 20 MiB.
	RequestBytes int
	// BufferedBytes limits the total memory of all requests that are larger than a small
	// buffer, complete or not. A connection whose request exceeds it is answered with a
	// ThrottlingException and closed. A request uses up to three times its size while its
	// buffer grows. Default 256 MiB.
	BufferedBytes int
	// PreambleTimeout is the timeout of a new connection's preamble, including the TLS
	// handshake. RequestTime is the timeout of a request from its first to its last byte.
	// Defaults 10s and 60s: some clients send another request over another connection in the
	// middle of a request.
	PreambleTimeout, RequestTime time.Duration
	// UnauthenticatedIdle is how long a connection may be idle until its client has
	// authenticated or, on an open server, has sent a request. Afterwards idle time isn't
	// limited. Default 10s.
	UnauthenticatedIdle time.Duration
	// AnswerTimeout is the deadline of a complete request's context. Default 30s.
	AnswerTimeout time.Duration
	// WriteTimeout is the timeout of a reply while the client accepts no bytes. Default 30s.
	WriteTimeout time.Duration
	// RequestsPerSecond is the rate limit per client address (per /64 of IPv6), with bursts
	// of one second's worth; a request above it is answered with a ThrottlingException.
	// Default 0: no limit.
	RequestsPerSecond float64
}

func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(max(l.Connections, 0), 16384)
	l.RequestBytes = cmp.Or(max(l.RequestBytes, 0), 20<<20)
	l.BufferedBytes = cmp.Or(max(l.BufferedBytes, 0), 256<<20)
	l.PreambleTimeout = cmp.Or(max(l.PreambleTimeout, 0), 10*time.Second)
	l.RequestTime = cmp.Or(max(l.RequestTime, 0), time.Minute)
	l.UnauthenticatedIdle = cmp.Or(max(l.UnauthenticatedIdle, 0), 10*time.Second)
	l.AnswerTimeout = cmp.Or(max(l.AnswerTimeout, 0), 30*time.Second)
	l.WriteTimeout = cmp.Or(max(l.WriteTimeout, 0), 30*time.Second)
	return l
}
