package fluent

// ErrorHandler takes records that can't be delivered.
//
// HandleError is called while no server is up and more records are pending
// than its limit allows, with why and with one batch: messages in msgpack, one
// after the other, each an array of tag, time and record. If it returns nil,
// the batch is done; with an error it stays pending and will be sent or handed over
// again. data is valid until HandleError returns. Calls for one Logger never overlap.
type ErrorHandler interface {
	HandleError(err error, data []byte) error
}

// ErrorHandlerFunc is a function as ErrorHandler.
type ErrorHandlerFunc func(err error, data []byte) error

// HandleError calls f.
func (f ErrorHandlerFunc) HandleError(err error, data []byte) error { return f(err, data) }
