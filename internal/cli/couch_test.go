package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/couch"
)

// newRelax returns a CouchDB-like node with a database that never changes.
func newRelax(t *testing.T, name string) *httptest.Server {
	t.Helper()
	n := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/_up":
			fmt.Fprint(w, `{"status":"ok"}`)
		case "/db":
			fmt.Fprint(w, `{"db_name":"db","instance_start_time":"1","update_seq":"0-x"}`)
		case "/db/a":
			w.Header().Set("ETag", `"1-a"`)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"_id":"a","_rev":"1-a","node":%q}`, name)
		case "/db/_changes":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.Error(w, `{"error":"not_found"}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(n.Close)
	t.Cleanup(n.CloseClientConnections)
	return n
}

const couch1 = `
admin: {listen: 127.0.0.1:0}
services:
  tweets:
    type: couchdb
    listen: 127.0.0.1:0
    nodes: ["NODE/"]
`

// A service of type couchdb sends requests to its nodes, and to others after a reload.
func TestCouchService(t *testing.T) {
	one, two := newRelax(t, "one"), newRelax(t, "two")
	at := func(n *httptest.Server) string { return strings.ReplaceAll(couch1, "NODE", n.URL) }
	r := run(t, at(one))
	node := func() string {
		t.Helper()
		var doc struct{ Node string }
		if text := r.fetch("tweets", "/db/a"); json.Unmarshal([]byte(text), &doc) != nil {
			t.Fatalf("%q", text)
		}
		return doc.Node
	}
	if got := node(); got != "one" {
		t.Errorf("got an answer of node %q", got)
	}
	if page := r.page("/api/v1/report"); !strings.Contains(page, "tweets   couchdb") || !strings.Contains(page, one.URL) {
		t.Errorf("the report is\n%s", page)
	}
	r.mustReload(at(two))
	if got := node(); got != "two" {
		t.Errorf("got an answer of node %q after the reload", got)
	}
	if err := r.reload(at(one) + "    max_unfollowed: 1ms\n"); err == nil || node() != "two" {
		t.Errorf("an invalid reload: got error %v", err)
	}
	r.mustReload(at(two) + "    proxy_protocol: true\n")
	if page := r.page("/api/v1/report"); !strings.Contains(page, "waits for a restart: services.tweets.proxy_protocol") {
		t.Errorf("the report does not mention the restart:\n%s", page)
	}
}

// TestCouchConfig checks the effect of the file's keys.
func TestCouchConfig(t *testing.T) {
	text := `
services:
  tweets:
    type: couchdb
    listen: 127.0.0.1:0
    nodes: ["http://a:5984/", "http://b:5984"]
    auth: {username: kasoku, password_env: COUCH_PASSWORD}
    balance: least_requests
    writes: any
    max_unfollowed: 2s
    max_lag: 3s
    visible_ttl: 4s
    buffer: 2MiB
    max_databases: 5
    replicate: {databases: [db], direction: both}
    slow_start: 6s
    hedge: {after: 7ms}
    connect_timeout: 8s
    first_byte_timeout: 9s
    stall_timeout: 10s
    retry: {attempts: 2}
    compress: [br]
    max_object: 1MiB
    forwarded: {fields: both, trust: [10.0.0.0/8]}
`
	c, err := config.Parse("k.yaml", []byte(text), func(string) (string, bool) { return "s3cret", true })
	if err != nil {
		t.Fatal(err)
	}
	got := couchConfig(&c.Services[0])
	g, h := got.HTTP.Group, got.HTTP
	if g.Algorithm != "least_requests" || g.SlowStart != 6*time.Second || g.Hedge.Delay != 7*time.Millisecond || g.Retry.Attempts != 2 || g.Check.Path != "" ||
		g.Transport.ConnectTimeout != 8*time.Second || g.Transport.HeadTimeout != 9*time.Second || g.Transport.StallTimeout != 10*time.Second {
		t.Errorf("%+v", g)
	}
	if len(h.Codings) != 1 || h.MaxObject != 1<<20 || !h.Forwarding.X || !h.Forwarding.Standard || len(h.Forwarding.Trust) != 1 {
		t.Errorf("%+v", h)
	}
	want := couch.Config{
		Name: "tweets", Nodes: []string{"http://a:5984", "http://b:5984"}, User: "kasoku", Password: "s3cret", Writes: couch.WritesAny, Follow: true,
		MaxUnfollowed: 2 * time.Second, MaxLag: 3 * time.Second, VisibleTTL: 4 * time.Second, MaxDatabases: 5, Buffer: 2 << 20,
		Replicate: couch.Replicate{Databases: []string{"db"}, Both: true}, HTTP: h,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v; want %+v", got, want)
	}
}
