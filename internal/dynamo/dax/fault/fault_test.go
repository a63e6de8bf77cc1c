package fault

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	canceled := FromResponse(400, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled"}`), "R")
	canceled.Reasons = []byte{0x83, 0x64, 'N', 'o', 'n', 'e', 0xf6, 0xf6}
	for _, c := range []struct {
		name string
		err  *Error
		want string
	}{
		{"no authentication", Unauthenticated("Connection requires authentication"),
			"84 04 17 181f 1821 7822 436f6e6e656374696f6e2072657175697265732061757468656e7469636174696f6e f6"},
		{"bad signature", BadSignature("no"), "84 04 17 181f 1820 626e6f f6"},
		{"condition", FromResponse(400, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`), "REQ1"),
			"85 04 1825 1826 1827 182b 781e 54686520636f6e646974696f6e616c2072657175657374206661696c6564 83 64 52455131 781f 436f6e646974696f6e616c436865636b4661696c6564457863657074696f6e 19 0190"},
		{"cancelled", canceled,
			"85 04 1825 1826 1827 183a 69 63616e63656c6c6564 84 61 52 781c 5472616e73616374696f6e43616e63656c6564457863657074696f6e 190190 83644e6f6e65f6f6"},
		{"denied", New("AccessDeniedException", "x"), "84 04 1825 1826 182a 6178 83 f6 75 41636365737344656e696564457863657074696f6e 190190"},
		{"the server's", FromResponse(500, []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}`), ""),
			"85 01 1825 1826 1827 182f 6178 83 f6 73 496e7465726e616c5365727665724572726f72 1901f4"},
		{"no such method", NotImplemented("x"), "84 04 1825 1826 182c 6178 83 f6 77 4e6f74496d706c656d656e746564457863657074696f6e 190190"},
	} {
		want := strings.ReplaceAll(c.want, " ", "")
		if got := hex.EncodeToString(c.err.Append(nil)); got != want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, want)
		}
	}
}

// replies are errors that all clients were seen to convert to the exception of that name:
// name, status, reply.
//
//go:embed testdata/replies.txt
var replies string

func TestReplies(t *testing.T) {
	for line := range strings.Lines(replies) {
		var name, want string
		var status int
		if _, err := fmt.Sscan(line, &name, &status, &want); err != nil {
			t.Fatal(err)
		}
		e := FromResponse(status, fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"msg text"}`, name), "RID-1")
		if name == "NotImplementedException" {
			e = NotImplemented("msg text")
			e.RequestID = "RID-1"
		}
		if got := hex.EncodeToString(e.Append(nil)); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// TestOf converts recorded errors of origins.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		status        int
		body          string
		class, code   uint8
		text          string
		throttled, us bool
	}{
		{400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"One \"bad\" value"}`, 4, 46, `ValidationException: One "bad" value`, false, false},
		{400, `{"__type":"SerializationException"}`, 4, 99, "SerializationException: ", false, false},
		{400, `{"__type":"x#ProvisionedThroughputExceededException","message":"slow"}`, 4, 40, "ProvisionedThroughputExceededException: slow", true, false},
		{400, `{"__type":"x#ThrottlingException","Message":"slow"}`, 4, 50, "ThrottlingException: slow", true, false},
		{400, `{"__type":"x#RequestLimitExceeded","Message":"slow"}`, 4, 61, "RequestLimitExceeded: slow", true, false},
		{503, `{"__type":"x#ServiceUnavailable","message":"later"}`, 1, 47, "ServiceUnavailable: later", false, true},
		{502, `<html>bad gateway</html>`, 1, 47, "InternalServerError: the origin answered with status 502 and no error of DynamoDB's", false, true},
		{500, `["__type"]`, 1, 47, "InternalServerError: the origin answered with status 500 and no error of DynamoDB's", false, true},
		{500, ``, 1, 47, "InternalServerError: the origin answered with status 500 and no error of DynamoDB's", false, true},
	} {
		e := FromResponse(c.status, []byte(c.body), "id")
		if e.Error() != c.text || e.codes[0] != c.class || e.codes[len(e.codes)-1] != c.code || e.Status != c.status ||
			e.Throttled() != c.throttled || e.ServerFault() != c.us || e.RequestID != "id" {
			t.Errorf("%d %s: got %s, codes %v, throttled %v, server fault %v", c.status, c.body, e, e.codes, e.Throttled(), e.ServerFault())
		}
	}
}

func TestInvalid(t *testing.T) {
	if e := Invalid("list %d is not known", 7); e.Error() != "ValidationException: list 7 is not known" || e.Status != 400 || e.codes[4] != 46 {
		t.Errorf("%s, status %d, codes %v", e, e.Status, e.codes)
	}
	if e := Unauthenticated("who?"); e.Error() != "who?" {
		t.Errorf("got %s", e)
	}
}
