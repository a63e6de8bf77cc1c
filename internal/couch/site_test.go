package couch

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// site is a service in front of nodes, with its listener.
type site struct {
	*Service
	t      testing.TB
	addr   string
	nodes  []*node
	cfg    Config
	client *http.Client

	registry *telemetry.Registry
	log      *logBuffer
}

// logBuffer is the log of a service.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newSite starts a service in front of that many nodes, called a, b and so on. change may change
// the configuration.
func newSite(t testing.TB, nodes int, change ...func(*Config)) *site {
	t.Helper()
	s := &site{t: t, log: &logBuffer{}}
	s.cfg = Config{Name: "couch", Follow: true, VisibleTTL: time.Hour, MaxUnfollowed: time.Hour}
	s.cfg.HTTP.MaxObject = 8 << 20
	s.cfg.HTTP.Group = balance.Config{Ejection: balance.Ejection{Disabled: true}, Check: balance.Check{Path: "/_up", Interval: time.Hour}}
	s.cfg.HTTP.Group.Breaker.Disabled = true
	for i := range nodes {
		n := newNode(t, string(rune('a'+i)))
		s.nodes = append(s.nodes, n)
		s.cfg.Nodes = append(s.cfg.Nodes, n.server.URL)
	}
	for _, f := range change {
		f(&s.cfg)
	}
	s.start()
	return s
}

// second returns another service in front of the nodes of s, with a cache of its own. change may
// change the configuration.
func (s *site) second(change ...func(*Config)) *site {
	s.t.Helper()
	other := &site{t: s.t, log: &logBuffer{}, nodes: s.nodes, cfg: s.cfg}
	for _, f := range change {
		f(&other.cfg)
	}
	other.start()
	return other
}

// start starts the service and its listener.
func (s *site) start() {
	t := s.t
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16, Settle: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s.registry = telemetry.NewRegistry()
	if s.Service, err = New(s.cfg, space, s.registry, slog.New(slog.NewTextHandler(s.log, nil))); err != nil {
		t.Fatal(err)
	}
	server, err := edge.Listen(edge.Config{Name: "couch", Listen: "127.0.0.1:0", Streaming: true, Handler: s.Service, Metrics: s.registry})
	if err != nil {
		t.Fatal(err)
	}
	s.addr = server.Addr().String()
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		stopped, stop := context.WithCancel(context.Background())
		stop()
		server.Shutdown(stopped)
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Service.Close()
		c.Close()
	})
}

// from returns the site for a client with another address.
func (s *site) from(ip string) *site {
	other := *s
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	other.client = &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true}}
	s.t.Cleanup(other.client.CloseIdleConnections)
	return &other
}

// got is an answer.
type got struct {
	path   string
	status int
	header http.Header
	body   string
	err    error // from reading the body
}

// cacheStatus returns Cache-Status without the name of the cache.
func (g *got) cacheStatus() string {
	return strings.TrimPrefix(g.header.Get("Cache-Status"), "kasoku; ")
}

// do sends a request; fields are names and values in turn.
func (s *site) do(method, path, body string, fields ...string) *got {
	s.t.Helper()
	g, err := s.tryDo(method, path, body, fields...)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

// tryDo is do for requests that may get no answer.
func (s *site) tryDo(method, path, body string, fields ...string) (*got, error) {
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, "http://"+s.addr+path, from)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "test")
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	r.Host = r.Header.Get("Host")
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return &got{path, resp.StatusCode, resp.Header, strings.TrimSuffix(string(text), "\n"), err}, nil
}

// get sends a GET and checks the answer; how is a prefix of Cache-Status.
func (s *site) get(what, path string, status int, body, how string, fields ...string) *got {
	s.t.Helper()
	g := s.do("GET", path, "", fields...)
	if g.status != status || g.body != body || !strings.HasPrefix(g.cacheStatus(), how) {
		s.t.Errorf("%s: got %d %q (%s), want %d %q (%s)", what, g.status, g.body, g.cacheStatus(), status, body, how)
	}
	return g
}

// follow makes Kasoku follow the database. When it returns, every node is current.
func (s *site) follow(fields ...string) {
	s.t.Helper()
	s.do("GET", "/db/nothing", "", fields...)
	s.settled()
}

// settled waits until the feeds have announced everything and every node has it.
func (s *site) settled() {
	s.t.Helper()
	s.until(func() bool {
		db := s.settings.Load().table().Find([]byte("db"))
		return db != nil && s.announced() && db.Servable(s.cache.Now()) && db.Current(nil) == follow.AllNodes(len(s.nodes))
	})
}

// announced reports whether all rows of the nodes have been received.
func (s *site) announced() bool {
	for _, n := range s.nodes {
		if s.registry.Counter("kasoku_couch_changes_total", "", "service", s.cfg.Name, "node", n.server.URL).Value() != n.announced() {
			return false
		}
	}
	return true
}

// until waits until reached returns true.
func (s *site) until(reached func() bool) {
	s.t.Helper()
	if !await.Until(s.t, reached) {
		s.t.FailNow()
	}
}

// requests returns the clients' requests to nodes since the last call, each after the node's
// name.
func (s *site) requests() (list []string) {
	for _, n := range s.nodes {
		for _, r := range n.requests() {
			list = append(list, n.name+" "+r)
		}
	}
	return list
}

// expectRequests checks the clients' requests to nodes since the last call.
func (s *site) expectRequests(what string, want ...string) {
	s.t.Helper()
	if got := strings.Join(s.requests(), ", "); got != strings.Join(want, ", ") {
		s.t.Errorf("%s: the nodes received %s; want %s", what, got, strings.Join(want, ", "))
	}
}

// fakeChange returns a change of a document that did not happen.
func fakeChange(s *site, id string) cache.Change {
	db := []byte("db")
	return cache.Change{Tags: []cache.Tag{s.tagger.Document(db, []byte(id)), s.tagger.Results(db)}}
}
