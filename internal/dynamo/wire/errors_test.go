package wire

import (
	"encoding/json"
	"testing"
)

func TestAppendError(t *testing.T) {
	f := func(typ, message string, status int, want string) {
		t.Helper()
		body := AppendError(nil, typ, message)
		if got := ErrorStatus(typ); got != status || string(body) != want {
			t.Errorf("%s: got %d %s; want %d %s", typ, got, body, status, want)
		}
		if !json.Valid(body) {
			t.Errorf("%s isn't JSON", body)
		}
		if got := ErrorType(body); string(got) != typ {
			t.Errorf("ErrorType(%s) = %s", body, got)
		}
	}
	f("ValidationException", `say "no"`, 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"say \"no\""}`)
	f("SerializationException", "", 400, `{"__type":"com.amazon.coral.service#SerializationException"}`)
	f("SerializationException", "x", 400, `{"__type":"com.amazon.coral.service#SerializationException","Message":"x"}`)
	f("UnknownOperationException", "", 400, `{"__type":"com.amazon.coral.service#UnknownOperationException"}`)
	f("AccessDeniedException", "x", 400, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"x"}`)
	f("MissingAuthenticationTokenException", "x", 400, `{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"x"}`)
	f("ResourceNotFoundException", "x", 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"x"}`)
	f("TransactionCanceledException", "x", 400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"x"}`)
	f("ThrottlingException", "x", 400, `{"__type":"com.amazon.coral.availability#ThrottlingException","message":"x"}`)
	f("InternalServerError", "x", 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}`)
	f("ServiceUnavailable", "x", 503, `{"__type":"com.amazonaws.dynamodb.v20120810#ServiceUnavailable","message":"x"}`)
}

func TestErrorType(t *testing.T) {
	for body, want := range map[string]string{`{}`: "", `[]`: "", `{"__type":1}`: "", `{"__type":"Plain"}`: "Plain",
		`{"message":"x","__type":"a#b#C"}`: "C", `{"__type":"a#B","__type":"a#C"}`: ""} {
		if got := ErrorType([]byte(body)); string(got) != want {
			t.Errorf("ErrorType(%s) = %q; want %q", body, got, want)
		}
	}
}

func TestErrorAppend(t *testing.T) {
	f := func(e *Error, status int, want string) {
		t.Helper()
		if got := string(e.Append(nil)); got != want || e.Status() != status {
			t.Errorf("got %d %s\nwant %d %s", e.Status(), got, status, want)
		}
	}
	f(Invalid("no %s", "key"), 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"no key"}`)
	f(&Error{Type: "ConditionalCheckFailedException", Message: "m", Members: []byte(`"Item":{}`)}, 400,
		`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{}}`)
	f(&Error{Type: "InternalServerError"}, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}`)
}
