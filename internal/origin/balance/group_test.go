package balance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/origin"
)

// servers starts an HTTP server for each handler.
func servers(t *testing.T, handlers ...http.HandlerFunc) []Member {
	t.Helper()
	var members []Member
	for i, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		members = append(members, Member{Name: string(rune('a' + i)), URL: s.URL})
	}
	return members
}

// answers returns a handler that answers with text.
func answers(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// group makes a group and closes it at the end of the test.
func group(t *testing.T, cfg Config) *Group {
	t.Helper()
	cfg.Name = "test"
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func get() *origin.Outbound { return &origin.Outbound{Method: []byte("GET"), Target: []byte("/")} }

// ask makes a request and returns the answer's body, or the kind of the fault.
func ask(t *testing.T, g *Group, q *origin.Outbound, choice *Choice) string {
	t.Helper()
	in, f := g.Do(t.Context(), q, choice)
	if f != nil {
		return f.Kind.String()
	}
	defer in.Close()
	body, err := io.ReadAll(in)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// askSeveral makes n requests one after the other and returns their results together.
func askSeveral(t *testing.T, g *Group, n int, choice *Choice) string {
	t.Helper()
	var all strings.Builder
	for range n {
		all.WriteString(ask(t, g, get(), choice))
	}
	return all.String()
}

func TestRoundRobin(t *testing.T) {
	members := servers(t, answers("a"), answers("b"), answers("c"))
	g := group(t, Config{Members: members})
	if got := askSeveral(t, g, 6, nil); got != "abcabc" {
		t.Errorf("got %s", got)
	}
	members[0].Weight = 2
	if err := g.Reconfigure(Config{Name: "test", Members: members}); err != nil {
		t.Fatal(err)
	}
	if got := askSeveral(t, g, 8, nil); got != "abcaabca" {
		t.Errorf("by weight: got %s", got)
	}
}
