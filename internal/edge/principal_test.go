package edge

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// TestPrincipal checks which user is recorded for a password or a session.
func TestPrincipal(t *testing.T) {
	f := func(what string, record func(x *Exchange), want string) {
		t.Helper()
		x := &Exchange{}
		record(x)
		if got := string(x.Record.Principal); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	basic := func(value string) func(x *Exchange) {
		return func(x *Exchange) {
			x.Request.Fields = http1.FieldsOf("Authorization", value)
			x.RecordUser()
		}
	}
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	f("none", func(x *Exchange) { x.RecordUser() }, "")
	f("a user", basic("Basic "+encoded("anna:secret")), "anna")
	f("the scheme's case, and blanks", basic("bAsIc  "+encoded("anna:")+" "), "anna")
	f("no colon", basic("Basic "+encoded("anna")), "")
	f("no base64", basic("Basic %%%"), "")
	f("another scheme", basic("Bearer "+encoded("anna:secret")), "")
	f("a long password", basic("Basic "+encoded("anna:"+strings.Repeat("s", 1000))), "anna")
	f("a name longer than the room for it", basic("Basic "+encoded(strings.Repeat("n", 60)+":s")), strings.Repeat("n", 60))
	f("a name that is too long", basic("Basic "+encoded(strings.Repeat("n", 1000)+":s")), "")
	session := func(text string) func(x *Exchange) { return func(x *Exchange) { x.RecordSession([]byte(text)) } }
	f("a session", session(base64.RawURLEncoding.EncodeToString([]byte("anna:5F000000:\xff\xfe:"))), "anna")
	f("no session", session(""), "")
}

func TestRecordUserAllocs(t *testing.T) {
	x := &Exchange{}
	x.Request.Fields = http1.FieldsOf("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("anna:secret")))
	if n := testing.AllocsPerRun(100, x.RecordUser); n > 0 {
		t.Errorf("recording a user allocates %v times", n)
	}
}
