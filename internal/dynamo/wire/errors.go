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

// errorForm is how an error type is written.
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

// ErrorStatus is the HTTP status of an error type.
func ErrorStatus(typ string) int { return formOf(typ).status }

// Error is an error answer to be.
type Error struct {
	Type    string // without name space: "ValidationException"
	Message string // may be empty
	// Members is the text of further members of the answer, without braces and
	// outer commas: `"Item":{...}`.
	Members []byte
}

// NestingError returns the error for a document that nests deeper than DynamoDB
// stores.
func NestingError() *Error {
	return Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
}

// Invalid is the error for a request that breaks a rule of the API.
func Invalid(format string, args ...any) *Error {
	return &Error{Type: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Status is the HTTP status of the answer.
func (e *Error) Status() int { return ErrorStatus(e.Type) }

// Append appends the answer's body.
func (e *Error) Append(dst []byte) []byte {
	dst = AppendError(dst, e.Type, e.Message)
	if len(e.Members) > 0 {
		dst[len(dst)-1] = ','
		dst = append(append(dst, e.Members...), '}')
	}
	return dst
}

// AppendError appends the body of an error answer: the type (without name
// space) in its name space and, unless it is empty, the message under the
// member name that the service uses for that type.
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

// ErrorType returns the type, without name space, that the valid text of an
// error answer names; nil if it names none.
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
