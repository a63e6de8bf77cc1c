package couch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// idleFleet returns a fleet of nodes that never get a request.
func idleFleet(t *testing.T, urls ...string) *fleet {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	f, err := newFleet(&Config{Name: "s", Nodes: urls, Follow: true}, c, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

// TestMemberStates checks that a node is up only when every source reports it as up.
func TestMemberStates(t *testing.T) {
	f := idleFleet(t, "http://a", "http://b")
	up := func(want string) {
		t.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		if got := fmt.Sprint(len(f.downReasons[0]) == 0, len(f.downReasons[1]) == 0); got != want {
			t.Errorf("got the nodes %s up; want %s", got, want)
		}
	}
	up("true true")
	f.memberMoved("http://a", "up", "ejected", "")
	f.memberMoved("http://a", "up", "down", "")
	up("false true")
	f.memberMoved("http://a", "ejected", "up", "")
	up("false true")
	f.memberMoved("http://a", "down", "up", "")
	up("true true")
	f.memberMoved("http://c", "up", "down", "")
	f.adoptStates(func() []balance.MemberState {
		return []balance.MemberState{{Name: "http://a", State: "up"}, {Name: "http://b", State: "drained"}}
	})
	up("true false")
	a := "down"
	f.adoptStates(func() []balance.MemberState {
		was := a
		if a == "down" {
			a = "up"
			f.memberMoved("http://a", "down", "up", "")
		}
		return []balance.MemberState{{Name: "http://a", State: was}}
	})
	up("true false")
}

func TestJobs(t *testing.T) {
	f := func(r Replicate, nodes int, want string) {
		t.Helper()
		if got := fmt.Sprint(replicationJobs(&Config{Nodes: make([]string, nodes), Replicate: r})); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	f(Replicate{}, 2, "[]")
	f(Replicate{Databases: []string{"a", "b"}}, 3, "[{a 0 1} {a 0 2} {b 0 1} {b 0 2}]")
	f(Replicate{Databases: []string{"a"}, Both: true}, 2, "[{a 0 1} {a 1 0}]")
	f(Replicate{Databases: []string{"a"}, Both: true}, 1, "[]")
}

// TestOwnRequests checks Kasoku's own requests and the handling of their answers.
func TestOwnRequests(t *testing.T) {
	var mu sync.Mutex
	var got []string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user, password, _ := r.BasicAuth()
		mu.Lock()
		got = append(got, fmt.Sprintf("%s %s %s:%s %q %s", r.Method, r.URL.EscapedPath(), user, password, r.Header.Get("Content-Type"), body))
		mu.Unlock()
		switch r.URL.Path {
		case "/long":
			io.WriteString(w, strings.Repeat("x", maxAnswer+1))
		case "/feed":
			io.WriteString(w, "\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(404)
			io.WriteString(w, "gone")
		}
	}))
	t.Cleanup(node.Close)
	n, err := newNodes(&Config{Name: "s", Nodes: []string{node.URL}, User: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	status, answer, err := n.do(t.Context(), 0, "POST", "/a%2Fb/_revs_diff", []byte(`{}`))
	if status != 404 || string(answer) != "gone" || err != nil {
		t.Errorf("got %d %s, %v", status, answer, err)
	}
	if _, _, err := n.do(t.Context(), 0, "GET", "/long", nil); !errors.Is(err, errAnswerTooLong) {
		t.Errorf("a long answer: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var get follow.Get = n.get(0)
	status, body, err := get(ctx, "/feed")
	if status != 200 || err != nil {
		t.Fatalf("got %d, %v", status, err)
	}
	if _, err := io.ReadFull(body, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled feed: got %v", err)
	}
	body.Close()
	want := []string{`POST /a%2Fb/_revs_diff u:p "application/json" {}`, `GET /long u:p "" `, `GET /feed u:p "" `}
	mu.Lock()
	defer mu.Unlock()
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestFleetReuse checks which changes of the configuration need another fleet.
func TestFleetReuse(t *testing.T) {
	f := idleFleet(t, "http://a", "http://b")
	same := f.cfg
	same.VisibleTTL, same.Writes, same.HTTP.MaxObject = 1, WritesAny, 1
	if !f.matches(&same) {
		t.Error("other settings need another fleet")
	}
	for i, change := range []func(c *Config){
		func(c *Config) { c.Nodes = []string{"http://b", "http://a"} },
		func(c *Config) { c.User = "u" },
		func(c *Config) { c.Password = "p" },
		func(c *Config) { c.Follow = false },
		func(c *Config) { c.MaxUnfollowed++ },
		func(c *Config) { c.MaxLag++ },
		func(c *Config) { c.MaxDatabases++ },
		func(c *Config) { c.Replicate.Databases = []string{"db"} },
		func(c *Config) { c.Replicate.Both = true },
		func(c *Config) { c.HTTP.Group.Transport.ConnectTimeout++ },
	} {
		other := f.cfg
		change(&other)
		if f.matches(&other) {
			t.Errorf("change %d doesn't need another fleet", i)
		}
	}
}
