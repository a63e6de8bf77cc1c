package fault

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Error is an error reply.
type Error struct {
	Type      string // DynamoDB's name without namespace, "ValidationException"; "" for DAX's own errors
	Message   string
	RequestID string // the origin's, or ""
	Status    int    // HTTP status, or 0
	// Reasons is a definite-length array of three values for each item of a cancelled
	// transaction: code, message and item bytes, each of which may be null. It is nil for
	// other errors.
	Reasons []byte

	codes []uint8
}

// Error returns the type and the message.
func (e *Error) Error() string {
	if e.Type == "" {
		return e.Message
	}
	return e.Type + ": " + e.Message
}

// Throttled reports whether the error asks the client to send less.
func (e *Error) Throttled() bool {
	switch e.Type {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return true
	}
	return false
}

// ServerFault reports whether the error is the server's fault rather than the client's.
func (e *Error) ServerFault() bool { return e.codes[0] != client }

// Append appends the complete reply.
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

// FromResponse returns the Error for a DynamoDB error response: its HTTP status, its body,
// which may be malformed, and its request ID. The message is not modified, because
// applications match it.
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

// message returns the message of an error response, whose member has two spellings.
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

// New returns a DynamoDB error that isn't the origin's.
func New(typ, format string, args ...any) *Error {
	status := wire.ErrorStatus(typ)
	return &Error{Type: typ, Message: fmt.Sprintf(format, args...), Status: status, codes: codesOf(typ, status)}
}

// Invalid returns the error for a request that can't be parsed or isn't allowed.
func Invalid(format string, args ...any) *Error { return New("ValidationException", format, args...) }

// NotImplemented returns the error for an unsupported method.
func NotImplemented(format string, args ...any) *Error {
	return &Error{Type: "NotImplementedException", Message: fmt.Sprintf(format, args...), Status: 400, codes: []uint8{client, dynamo, dynamoError, 44}}
}

// BadSignature returns the error for an invalid signature that would also be invalid on a
// retry.
func BadSignature(format string, args ...any) *Error { return denied(badSignature, format, args) }

// Unauthenticated returns the error for a connection without a current authorization:
// clients authenticate and retry.
func Unauthenticated(format string, args ...any) *Error {
	return denied(unauthenticated, format, args)
}

func denied(code uint8, format string, args []any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), codes: []uint8{client, service, authentication, code}}
}
