package fluent

import "time"

// ErrorHandler takes records that can't be delivered.
//
// HandleError is called while no server is up and more records are pending
// than its limit allows, with why and with one batch: messages in msgpack, one
// after the other, each an array of tag, time and record. If it returns nil,
// the batch is done; with an error it stays pending and will be sent or handed over
// again. data is valid until HandleError returns. Calls for one Logger never overlap.
//
// HandleError may post to the Logger, but must not wait for it with Flush, Shutdown
// or Close: they wait for the batch at hand. At the end, when Shutdown's context or
// Close's time is over, it has a second for each batch and five for all.
type ErrorHandler interface {
	HandleError(err error, data []byte) error
}

// ErrorHandlerFunc is a function as ErrorHandler.
type ErrorHandlerFunc func(err error, data []byte) error

// HandleError calls f.
func (f ErrorHandlerFunc) HandleError(err error, data []byte) error { return f(err, data) }

// Config is what NewLogger takes. The zero value sends to 127.0.0.1:24224.
type Config struct {
	// Address is "host:port", or "unix:/path" for a socket. Default
	// "127.0.0.1:24224".
	Address string

	// ConnectionTimeout bounds connecting. Default 0: the system's bound.
	ConnectionTimeout time.Duration

	// FailureThreshold is how many failures in a row open the circuit breaker.
	// Default 1.
	FailureThreshold int

	// FlushInterval is how long pending records wait at most before they are
	// tried again. Default 5 s. New records don't wait for it: they are sent
	// with those that come within 200 ms, or within FlushInterval if that is less.
	FlushInterval time.Duration

	// PendingLimit is how many records may be pending while the server is away
	// before the error handler is called. Default 0: it is called at the first failure.
	PendingLimit int

	// Ack asks the server to acknowledge what it gets. Default false: a
	// record counts as delivered when it was written, and what the system still holds when
	// the server goes away is lost. See WithAck.
	Ack bool

	// ErrorHandler takes records that can't be delivered. Default none.
	ErrorHandler ErrorHandler
}

// NewLogger is New with the settings of config, which are those of a Fluentd
// client of 2017. Other than that one, it needs no server to begin with, and memory
// is bounded: see WithMemory.
func NewLogger(config Config) (*Logger, error) {
	if config.Address == "" {
		config.Address = "127.0.0.1:24224"
	}
	if config.FailureThreshold == 0 {
		config.FailureThreshold = 1
	}
	if config.FlushInterval == 0 {
		config.FlushInterval = 5 * time.Second
	}
	linger := defaultOptions().flushInterval
	return New([]string{config.Address},
		WithAck(config.Ack),
		WithDialTimeout(config.ConnectionTimeout),
		WithBreaker(config.FailureThreshold),
		WithFlushInterval(min(config.FlushInterval, linger)),
		WithRetry(min(config.FlushInterval, defaultOptions().retryBase), config.FlushInterval),
		WithErrorHandler(config.ErrorHandler, config.PendingLimit),
	)
}

// NewFallbackHandler returns an error handler that gives records to another
// Logger, with their tags as they are. They count as handled when that one has
// accepted them; when its memory is full they stay pending here.
func NewFallbackHandler(logger *Logger) ErrorHandler {
	return ErrorHandlerFunc(func(_ error, data []byte) error { return logger.adopt(data) })
}
