package fluent

import "time"

// ErrorHandler handles records that can't be delivered.
//
// HandleError is called while no server is up and more records are pending than its limit
// allows. err is the reason and data one batch: concatenated msgpack messages, each an array
// of tag, time and record. If it returns nil, the batch is done; otherwise the batch remains
// pending and will be sent or passed to the handler again. data is valid until HandleError
// returns. Calls for one Logger never overlap.
//
// HandleError may post to the Logger, but must not call Flush, Shutdown or Close, which wait
// for the batch that it handles. At the end, when Shutdown's context or Close's time is
// over, it has a second for each batch and five for all.
type ErrorHandler interface {
	HandleError(err error, data []byte) error
}

// ErrorHandlerFunc is a function that implements ErrorHandler.
type ErrorHandlerFunc func(err error, data []byte) error

// HandleError calls f.
func (f ErrorHandlerFunc) HandleError(err error, data []byte) error { return f(err, data) }

// Config is the configuration for NewLogger. The zero value sends to 127.0.0.1:24224.
type Config struct {
	// Address is "host:port", or "unix:/path" for a socket. Default
	// "127.0.0.1:24224".
	Address string

	// ConnectionTimeout bounds connecting. Default 0: only the system's limit.
	ConnectionTimeout time.Duration

	// FailureThreshold is the number of failures in a row that open the circuit breaker.
	// Default 1.
	FailureThreshold int

	// FlushInterval is the maximum wait before pending records are tried again. Default 5 s.
	// New records are sent after 200 ms, or after FlushInterval if that is less, together
	// with others posted in that time.
	FlushInterval time.Duration

	// PendingLimit is the number of records that may be pending while the server is down
	// before the error handler is called. Default 0: it is called at the first failure.
	PendingLimit int

	// Ack requests acknowledgements from the server. Default false: a record counts as
	// delivered when it was written, and data still in system buffers is lost if the server
	// fails. See WithAck.
	Ack bool

	// ErrorHandler handles records that can't be delivered. Default none.
	ErrorHandler ErrorHandler
}

// NewLogger is New with the settings of config, which are those of a Fluentd client of 2017.
// Unlike that client, it does not need a server at the start, and its memory is bounded: see
// WithMemory.
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

// NewFallbackHandler returns an error handler that passes records to another Logger, with
// their tags unchanged. They count as handled when that Logger has accepted them; while its
// memory is full they stay pending here.
func NewFallbackHandler(logger *Logger) ErrorHandler {
	return ErrorHandlerFunc(func(_ error, data []byte) error { return logger.adopt(data) })
}
