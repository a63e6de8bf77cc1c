package accel

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// admit passes a request to Admit and, if it is admitted, sends op on behalf of its client.
func (f *fixture) admit(r http1.Request, sent, op, body string) result {
	f.t.Helper()
	x := edge.Detached(f.t.Context(), r, []byte(sent), time.Now())
	ask := f.svc.Admit(x)
	if ask != nil {
		x = edge.Detached(f.t.Context(), request(op), []byte(body), time.Now())
		ask(x)
	}
	return result{x.Reply.Status, string(x.Reply.Body), x.Record.Decision, string(x.Reply.Head())}
}

// A client is identified by the signature of its request, whatever the path, and requests on
// its behalf are limited by its permissions.
func TestAdmitSigned(t *testing.T) {
	f := newFixture(t, twoKeys)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	want := func(r http1.Request, body, op, asked string, status int, part string) {
		t.Helper()
		if got := f.admit(r, body, op, asked); got.status != status || !strings.Contains(got.body, part) {
			t.Errorf("%s: %d %s; want %d with %s", op, got.status, got.body, status, part)
		}
	}
	own := signed(t, "FULL", "/GetItemJSON", []byte("{}"))
	want(own, "{}", "GetItem", getA, 200, `"p":{"S":"a"}`)
	want(signed(t, "LIMITED", "/GetItemJSON", []byte("{}")), "{}", "GetItem", getA, 400, "user/LIMITED is not authorized to perform: dynamodb:GetItem")
	want(own, "{}", "GetItem", `{`, 400, "SerializationException")
	want(own, "{ }", "GetItem", getA, 400, "InvalidSignatureException")
	elsewhere := own
	elsewhere.Path, elsewhere.Target = []byte("/PutItemJSON"), []byte("/PutItemJSON")
	want(elsewhere, "{}", "GetItem", getA, 400, "InvalidSignatureException")
	want(request("GetItem"), "{}", "GetItem", getA, 400, "MissingAuthenticationTokenException")
}

// Without keys every client is admitted.
func TestAdmitOpen(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	for _, d := range []telemetry.Decision{telemetry.Miss, telemetry.Hit} {
		if got := f.admit(http1.Request{}, "", "GetItem", getA); got.status != 200 || got.decision != d {
			t.Errorf("got %d %s %s; want %s", got.status, got.decision, got.body, d)
		}
	}
}

// The body that an admitted exchange has is the decoded one.
func TestAdmitDecodes(t *testing.T) {
	f := newFixture(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("text"))
	w.Close()
	want := func(encoding, body string, admitted bool, text string) {
		t.Helper()
		x := edge.Detached(t.Context(), http1.Request{Fields: http1.FieldsOf("Content-Encoding", encoding)}, []byte(body), time.Now())
		if ask := f.svc.Admit(x); (ask != nil) != admitted || admitted && string(x.Body) != text {
			t.Errorf("%s: admitted %v with %q", encoding, ask != nil, x.Body)
		}
		if !admitted && x.Reply.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d", encoding, x.Reply.Status)
		}
	}
	want("gzip", packed.String(), true, "text")
	want("identity", "text", true, "text")
	want("gzip", "text", false, "")
	want("br", "text", false, "")
}

// A panic during authentication is answered with an error, and the client isn't admitted.
func TestAdmitFault(t *testing.T) {
	f := newFixture(t, twoKeys)
	f.svc.settings.Load().verifier = nil
	f.svc.settings.Load().anonymous = nil
	x := edge.Detached(t.Context(), request("GetItem"), nil, time.Now())
	if f.svc.Admit(x) != nil || x.Reply.Status != http.StatusInternalServerError {
		t.Errorf("status %d", x.Reply.Status)
	}
}

func TestAdmitAllocates(t *testing.T) {
	if race.Enabled {
		t.Log("the race detector allocates; nothing to measure")
		return
	}
	s, p := withParrot(t, oneKey)
	x := warmExchange(t, s, p, "GetItem", getA, `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	if n := testing.AllocsPerRun(100, func() {
		x.Reply.Reset()
		s.Admit(x)(x)
	}); n > 0 || x.Record.Decision != telemetry.Hit {
		t.Errorf("%v allocations, %s", n, x.Record.Decision)
	}
}
