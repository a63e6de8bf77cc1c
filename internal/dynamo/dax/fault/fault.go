package fault

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Error is an error reply to be.
type Error struct {
	Type      string // DynamoDB's name without name space, "ValidationException"; "" for DAX's own errors
	Message   string
	RequestID string // the origin's, "" if it has not been asked
	Status    int    // HTTP's, 0 if there is none
	// Reasons is a definite array of three values for each item of a cancelled
	// transaction: code, message and item bytes, each or null. nil with other errors.
	Reasons []byte

	codes []uint8
}

// Error tells the type and the message.
func (e *Error) Error() string {
	if e.Type == "" {
		return e.Message
	}
	return e.Type + ": " + e.Message
}

// Throttled tells whether the client is asked to send less.
func (e *Error) Throttled() bool {
	switch e.Type {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return true
	}
	return false
}

// ServerFault tells whether the server is to blame and not what was asked.
func (e *Error) ServerFault() bool { return e.codes[0] != client }

// Append appends the whole reply.
func (e *Error) Append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, len(e.codes))
	for _, c := range e.codes {
		dst = cbor.AppendUint(dst, uint64(c))
	}
	dst = cbor.AppendText(dst, e.Message)
	switch {
	case e.Type == "":
		return cbor.AppendNull(dst)
	case e.Reasons != nil:
		dst = cbor.AppendArray(dst, 4)
	default:
		dst = cbor.AppendArray(dst, 3)
	}
	dst = appendTextOrNull(dst, e.RequestID)
	dst = cbor.AppendText(dst, e.Type)
	dst = cbor.AppendUint(dst, uint64(e.Status))
	return append(dst, e.Reasons...)
}

func appendTextOrNull(dst []byte, s string) []byte {
	if s == "" {
		return cbor.AppendNull(dst)
	}
	return cbor.AppendText(dst, s)
}

// FromResponse makes an Error of DynamoDB's error answer: its HTTP status, its body, which may
// be anything, and its request id. The text of the message is not touched: people
// match on it.
func FromResponse(status int, body []byte, requestID string) *Error {
	e := &Error{Status: status, RequestID: requestID}
	if wire.Valid(body, wire.MaxDepth) && wire.Kind(body) == '{' {
		e.Type = string(wire.ErrorType(body))
		e.Message = message(body)
	}
	if e.Type == "" {
		e.Type, e.Message = "InternalServerError", fmt.Sprintf("the origin answered with status %d and no error of DynamoDB's", status)
	}
	e.codes = codesOf(e.Type, status)
	return e
}

// message finds the text in an error answer, whose name is written in two ways.
func message(body []byte) string {
	for _, name := range []string{"message", "Message"} {
		if v, ok := wire.Lookup(body, name); ok && wire.Kind(v) == '"' {
			if text, ok := wire.AppendString(nil, v); ok {
				return string(text)
			}
		}
	}
	return ""
}

// New makes an error of DynamoDB's that did not come from the origin.
func New(typ, format string, args ...any) *Error {
	status := wire.ErrorStatus(typ)
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...), Status: status, codes: codesOf(typ, status)}
}

// Invalid is the error for a request that can't be understood or is not allowed.
func Invalid(format string, args ...any) *Error { return New("ValidationException", format, args...) }

// NotImplemented is the error for a method that is not offered.
func NotImplemented(format string, args ...any) *Error {
	return &Error{Type: "NotImplementedException", Message: fmt.Sprintf(format, args...), Status: 400, codes: []uint8{client, dynamo, dynamoError, 44}}
}

// BadSignature is for a signature that is wrong and will be wrong when it is tried
// again.
func BadSignature(format string, args ...any) *Error { return denied(badSignature, format, args) }

// Unauthenticated is for a connection that has not proved who it is, or not lately:
// clients prove it and try again.
func Unauthenticated(format string, args ...any) *Error {
	return denied(unauthenticated, format, args)
}

func denied(code uint8, format string, args []any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), codes: []uint8{client, service, authentication, code}}
}
