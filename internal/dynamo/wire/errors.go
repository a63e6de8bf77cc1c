package wire

import (
	"bytes"
	"fmt"
)

const (
	coral        = "com.amazon.coral.service"
	validate     = "com.amazon.coral.validate"
	availability = "com.amazon.coral.availability"
	service      = "com.amazonaws.dynamodb.v20120810"
)

// errorForm describes how an error type is written.
type errorForm struct {
	space  string
	status int
	upper  bool // the message is called Message
}

// errorForms holds the types that differ from errorForm{service, 400, false}.
var errorForms = map[string]errorForm{
	"ValidationException":                  {validate, 400, false},
	"SerializationException":               {coral, 400, true},
	"UnknownOperationException":            {coral, 400, false},
	"AccessDeniedException":                {coral, 400, true},
	"UnrecognizedClientException":          {coral, 400, false},
	"InvalidSignatureException":            {coral, 400, false},
	"IncompleteSignatureException":         {coral, 400, false},
	"MissingAuthenticationTokenException":  {coral, 400, false},
	"ThrottlingException":                  {availability, 400, false},
	"TransactionCanceledException":         {service, 400, true},
	"TransactionInProgressException":       {service, 400, true},
	"IdempotentParameterMismatchException": {service, 400, true},
	"InternalServerError":                  {service, 500, false},
	"ServiceUnavailable":                   {service, 503, false},
}

func formOf(typ string) errorForm {
	if f, ok := errorForms[typ]; ok {
		return f
	}
	return errorForm{service, 400, false}
}

// ErrorStatus returns the HTTP status of an error type.
func ErrorStatus(typ string) int { return formOf(typ).status }

// Error is an error response.
type Error struct {
	Type    string // without namespace: "ValidationException"
	Message string // may be empty
	// Members is the text of additional members of the response, without braces and outer
	// commas, for example `"Item":{...}`.
	Members []byte
	// Newer is the message in the service's newer wording, which some operations use; empty
	// if both wordings are the same.
	Newer string
}

// NestingError returns the error for a document that nests deeper than DynamoDB allows.
func NestingError() *Error {
	return Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
}

// Invalid returns the error for a request that violates a rule of the API.
func Invalid(format string, args ...any) *Error {
	return &Error{Type: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Status returns the HTTP status of the response.
func (e *Error) Status() int { return ErrorStatus(e.Type) }

// Append appends the body of the response.
func (e *Error) Append(dst []byte) []byte {
	dst = AppendError(dst, e.Type, e.Message)
	if len(e.Members) > 0 {
		dst[len(dst)-1] = ','
		dst = append(append(dst, e.Members...), '}')
	}
	return dst
}

// AppendError appends the body of an error response: the type with its namespace and, unless
// it is empty, the message. typ has no namespace. The message's member name is the one that
// DynamoDB uses for that type.
func AppendError(dst []byte, typ, message string) []byte {
	f := formOf(typ)
	dst = append(dst, `{"__type":"`...)
	dst = append(dst, f.space...)
	dst = append(dst, '#')
	dst = append(dst, typ...)
	dst = append(dst, '"')
	if message != "" {
		key := `,"message":`
		if f.upper {
			key = `,"Message":`
		}
		dst = append(dst, key...)
		dst = AppendQuoted(dst, []byte(message))
	}
	return append(dst, '}')
}

// ErrorType returns the type, without namespace, in the body of an error response, or nil if
// there is none. body must be valid.
func ErrorType(body []byte) []byte {
	v, ok := Lookup(body, "__type")
	if !ok {
		return nil
	}
	typ, ok := Plain(v)
	if !ok {
		return nil
	}
	return typ[bytes.LastIndexByte(typ, '#')+1:]
}
