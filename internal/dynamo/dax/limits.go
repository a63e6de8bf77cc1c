package dax

import "time"

// Limits bound what clients may ask of one server. The zero value of each is its
// default.
type Limits struct {
	// Connections is how many there may be at a time; one more is closed at once.
	// Default 16384.
	Connections int
	// ConnectionsPerClient bounds them for each client address (each /64 of IPv6); one more
	// is closed at once. Default 0: no bound.
	ConnectionsPerClient int
	// RequestBytes bounds one request; over it the answer is an error and the
	// connection ends. Default 20 MiB.
	RequestBytes int
	// BufferedBytes bounds what all requests that are larger than a small buffer take
	// together, whole or not. A connection whose request finds no room is answered a
	// ThrottlingException and ends. A request takes up to three times its size while it
	// grows. Default 256 MiB.
	BufferedBytes int
	// PreambleTimeout is how long a new connection may take to say what it speaks, TLS's
	// handshake included; RequestTime how long a request may take from its first byte to
	// its last. Defaults 10s and 60s: some clients ask something else in the middle of a
	// request, over another connection.
	PreambleTimeout, RequestTime time.Duration
	// UnauthenticatedIdle is how long a connection may be without a request until its client
	// has proved who it is or, on an open server, has made a request. There is no bound on
	// idling after that. Default 10s.
	UnauthenticatedIdle time.Duration
	// AnswerTimeout is when a whole request's context ends. Default 30s.
	AnswerTimeout time.Duration
	// WriteTimeout is for how long a client may take nothing of a reply. Default 30s.
	WriteTimeout time.Duration
	// RequestsPerSecond bounds the rate for each client address (each /64 of IPv6), with
	// bursts of one second's worth; over it the answer is a ThrottlingException.
	// Default 0: no bound.
	RequestsPerSecond float64
}

func (l Limits) withDefaults() Limits {
	number := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	span := func(v *time.Duration, def time.Duration) {
		if *v <= 0 {
			*v = def
		}
	}
	number(&l.Connections, 16384)
	number(&l.RequestBytes, 20<<20)
	number(&l.BufferedBytes, 256<<20)
	span(&l.PreambleTimeout, 10*time.Second)
	span(&l.RequestTime, time.Minute)
	span(&l.UnauthenticatedIdle, 10*time.Second)
	span(&l.AnswerTimeout, 30*time.Second)
	span(&l.WriteTimeout, 30*time.Second)
	return l
}
