package accel

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// doAs sends a request on behalf of a client.
func (f *fixture) doAs(c Client, op, body string) result {
	x := edge.Detached(f.t.Context(), request(op), []byte(body), time.Now())
	c.Serve(x)
	return result{x.Reply.Status, string(x.Reply.Body), x.Record.Decision, string(x.Reply.Head())}
}

// TestClientKeys checks the permissions of clients with two different keys.
func TestClientKeys(t *testing.T) {
	f := newFixture(t, twoKeys)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	if f.svc.settings.Load().verifier == nil {
		t.Error("a service with keys allows anonymous requests")
	}
	full, ok := f.svc.Client([]byte("FULL"))
	if !ok || !full.Allowed(wire.Write, []byte("t")) {
		t.Error("FULL is not allowed to write")
	}
	if got := f.doAs(full, "GetItem", getA); got.status != 200 || got.decision != telemetry.Miss {
		t.Errorf("GetItem by FULL: got %+v, want a miss", got)
	}
	limited, ok := f.svc.Client([]byte("LIMITED"))
	if !ok || limited.Allowed(wire.Write, []byte("t")) {
		t.Error("LIMITED is allowed to write")
	}
	if got := f.doAs(limited, "GetItem", getA); got.status != 400 || !strings.Contains(got.body, "AccessDenied") {
		t.Errorf("GetItem by LIMITED: got %+v, want AccessDenied", got)
	}
	for _, id := range []string{"", "OTHER", "anonymous"} {
		if _, ok := f.svc.Client([]byte(id)); ok {
			t.Errorf("a client was found for the key %q", id)
		}
	}
	f.cfg.Keys = f.cfg.Keys[:1]
	if err := f.svc.Reconfigure(f.cfg); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.svc.Client([]byte(f.cfg.Keys[0].ID)); !ok {
		t.Error("no client was found for the remaining key")
	}
	if _, ok := f.svc.Client([]byte("LIMITED")); ok && f.cfg.Keys[0].ID != "LIMITED" {
		t.Error("a client was found for the removed key LIMITED")
	}
}

// TestClientSchema fetches the key schemas of tables.
func TestClientSchema(t *testing.T) {
	f := newFixture(t)
	c, ok := f.svc.Client(nil)
	if !ok || f.svc.settings.Load().verifier != nil {
		t.Fatal("no client was found, or a service without keys rejects anonymous requests")
	}
	if _, ok := c.CachedSchema([]byte("t"), time.Now()); ok {
		t.Error("a schema is cached before the first request for it")
	}
	want := Schema{KeyAttribute{"p", 'S'}, KeyAttribute{"s", 'N'}}
	s, err := c.Schema(t.Context(), []byte("t"))
	if err != nil || *s != want {
		t.Errorf("Schema: got %v, %v, want %v", s, err, want)
	}
	name := []byte("t")
	if s, ok := c.CachedSchema(name, time.Now()); !ok || *s != want {
		t.Errorf("CachedSchema: got %v, %v, want %v", s, ok, want)
	}
	f.origin.mu.Lock()
	f.origin.handler = func(op, body string) (int, string) {
		if strings.Contains(body, "away") {
			return 500, `{}`
		}
		return 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}`
	}
	f.origin.mu.Unlock()
	if _, err := c.Schema(t.Context(), []byte("u")); !errors.Is(err, ErrNoTable) {
		t.Errorf("got %v, want ErrNoTable", err)
	}
	if _, err := c.Schema(t.Context(), []byte("away")); !errors.Is(err, ErrUnknownTable) {
		t.Errorf("got %v, want ErrUnknownTable", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Schema(canceled, []byte("another away")); err == nil {
		t.Error("no error for a cancelled request")
	}
	if _, ok := c.CachedSchema([]byte("u"), time.Now()); ok {
		t.Error("a missing table has a cached schema")
	}
}
