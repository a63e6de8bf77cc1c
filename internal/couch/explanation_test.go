package couch

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
)

// TestExplain compares explanations with the decisions for the same requests.
func TestExplain(t *testing.T) {
	s := newSite(t, 1)
	f := func(what, method, path, body, decision, step string, fields ...string) {
		t.Helper()
		r := admin.ExplainRequest{Method: method, Path: path, Body: json.RawMessage(body), Headers: map[string]string{"Host": s.addr}}
		for i := 0; i < len(fields); i += 2 {
			r.Headers[fields[i]] = fields[i+1]
		}
		e, err := s.Explain(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var steps []string
		for _, st := range e.Steps {
			steps = append(steps, st.What+" "+st.Value+" "+st.Note)
		}
		if text := strings.Join(steps, "\n"); e.Decision != decision || !strings.Contains(text, step) {
			t.Errorf("%s: got %s, want %s with %q:\n%s", what, e.Decision, decision, step, text)
		}
	}
	const view, find = "/db/_design/d/_view/v?limit=2", `{"selector":{}}`
	f("no request yet", "", "/db/x", "", "miss", "not in use")
	f("permission unknown", "", "/db/x", "", "miss", "rights unknown")
	s.nodes[0].store("x", "1")
	s.follow()
	f("not kept", "", "/db/x", "", "miss", "stored nothing never fetched")
	s.do("GET", "/db/x", "")
	s.do("GET", view, "")
	s.nodes[0].set(func() { s.nodes[0].broken = " " }) // followed by the query, which is JSON
	s.do("POST", "/db/_find", find, "Content-Type", "application/json")
	f("kept", "", "/db/x", "", "hit", "stored status 200, 2 bytes")
	f("a view", "GET", "http://"+s.addr+view, "", "hit", "rights allowed")
	f("asked otherwise", "GET", "/db/_design/d/_view/v?limit=3", "", "miss", "stored nothing")
	f("a query", "POST", "/db/_find", find, "hit", "class read by body")
	f("another query", "POST", "/db/_find", `{"selector":{"a":1}}`, "miss", "stored nothing")
	f("another client", "GET", "/db/x", "", "hit", "rights unknown", "Authorization", "Basic eA==")
	s.nodes[0].store("x", "2")
	s.until(func() bool {
		return s.do("GET", "/db/nothing", "").status == 404 && s.do("GET", "/db/x", "").body == "2"
	})
	f("a write", "PUT", "/db/x", "", "write", "class write")
	f("another host", "GET", "http://relax.example/db/x", "", "miss", "stored nothing")
	f("a session", "GET", "/_session", "", "pass", "class pass")
	f("a feed", "GET", "/db/_changes?feed=continuous", "", "coalesced", "feed shared")
	s.nodes[0].set(func() { s.nodes[0].allowed = map[string]bool{} })
	s.do("GET", "/db/x", "", "Authorization", "Basic eQ==")
	f("a client without permission", "GET", "/db/x", "", "pass", "rights denied", "Authorization", "Basic eQ==")

	for _, r := range []admin.ExplainRequest{{}, {Path: "db"}, {Path: "http://host"}, {Path: "/db/x"}, {Path: "http://host/db/x", Headers: map[string]string{"a b": ""}}} {
		if _, err := s.Explain(t.Context(), r); !errors.Is(err, admin.ErrInput) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	off := newSite(t, 1, func(c *Config) { c.Follow = false })
	s = off
	f("follow_changes off", "", "/db/x", "", "pass", "follow_changes is off")
}
