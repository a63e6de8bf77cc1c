package couch

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
)

// Proxy is a reverse proxy in front of a node that injects faults on command. While the node is
// down, the proxy accepts connections and closes them without an answer.
type Proxy struct {
	URL string
	// Faults are injected into requests that are not live feeds. In Plan.Only they are "own"
	// (an accelerator's own requests: _up, _revs_diff, a database's state, feeds that are
	// not live), "replication" (requests of replicators only), "read" (GET, HEAD, and POST
	// that reads) and "write" (the rest).
	Faults fault.Injector

	next http.Handler
	// twice sends each row of a live feed twice; cut ends the feed within the next row.
	twice, cut atomic.Bool

	mu    sync.Mutex
	gone  []string      // prefixes of paths that are answered with 404
	held  chan struct{} // closed when live feeds continue; nil while they do
	feeds map[*live]bool
	asked map[string]int // requests by method and target
}

// NewProxy starts a proxy in front of the node. It runs until the test ends.
func NewProxy(t testing.TB, n *Node) *Proxy {
	t.Helper()
	reverse, err := fault.Proxy(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	reverse.ErrorLog = log.New(io.Discard, "", 0) // nodes are killed all the time
	reverse.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	p := &Proxy{feeds: map[*live]bool{}, asked: map[string]int{}}
	p.Faults.Operation = operation
	p.next = reverse
	faulty := p.Faults.Wrap(reverse)
	p.URL = harness.Origin(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.note(r)
		if p.hides(r.URL.Path) {
			http.Error(rw, `{"error":"not_found","reason":"no_db_file"}`, http.StatusNotFound)
			return
		}
		if isLive(r) {
			p.feed(rw, r)
			return
		}
		faulty.ServeHTTP(rw, r)
	}))
	return p
}

func (p *Proxy) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[r.Method+" "+r.URL.RequestURI()]++
}

// Hide answers paths with these prefixes with 404.
func (p *Proxy) Hide(prefixes ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = prefixes
}

func (p *Proxy) hides(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.gone, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// Asked returns the number of requests with the method and a target with that prefix.
func (p *Proxy) Asked(method, target string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for what, times := range p.asked {
		if strings.HasPrefix(what, method+" "+target) {
			n += times
		}
	}
	return n
}

func isLive(r *http.Request) bool {
	switch r.URL.Query().Get("feed") {
	case "continuous", "longpoll", "eventsource":
		return strings.HasSuffix(r.URL.Path, "/_changes")
	}
	return false
}

func operation(r *http.Request) string {
	path := strings.Trim(r.URL.Path, "/")
	last := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case last == path || last == "_revs_diff" || last == "_changes":
		return "own"
	case last == "_bulk_docs", last == "_bulk_get", strings.Contains(path, "/_local/"):
		return "replication"
	case r.Method == http.MethodGet || r.Method == http.MethodHead || last == "_find" || last == "_all_docs" || strings.Contains(path, "/_view/"):
		return "read"
	}
	return "write"
}

// Feeds returns the number of open live feeds.
func (p *Proxy) Feeds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.feeds)
}

// CutFeeds ends all live feeds at once.
func (p *Proxy) CutFeeds() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for f := range p.feeds {
		f.end()
	}
}

// CutRow ends the live feed that has the next row, in the middle of that row.
func (p *Proxy) CutRow() { p.cut.Store(true) }

// Repeat sets whether each row of live feeds is sent twice.
func (p *Proxy) Repeat(on bool) { p.twice.Store(on) }

// Hold sets whether live feeds pause, connections included.
func (p *Proxy) Hold(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
	if on {
		p.held = make(chan struct{})
	}
}

// pass waits while live feeds pause.
func (p *Proxy) pass(ctx context.Context) {
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

func (p *Proxy) feed(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	f := &live{ResponseWriter: rw, proxy: p, ctx: ctx, end: cancel}
	p.mu.Lock()
	p.feeds[f] = true
	p.mu.Unlock()
	defer func() {
		cancel()
		p.mu.Lock()
		delete(p.feeds, f)
		p.mu.Unlock()
	}()
	p.next.ServeHTTP(f, r.WithContext(ctx))
}

// live is the response of a live feed, which is passed to the client line by line.
type live struct {
	http.ResponseWriter
	proxy *Proxy
	ctx   context.Context
	end   context.CancelFunc
	rest  []byte // an incomplete line
}

// Unwrap lets the proxy flush.
func (f *live) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// Write passes complete lines.
func (f *live) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for {
		at := bytes.IndexByte(f.rest, '\n')
		if at < 0 {
			return len(p), nil
		}
		if err := f.line(f.rest[:at+1]); err != nil {
			return 0, err
		}
		f.rest = f.rest[at+1:]
	}
}

func (f *live) line(line []byte) error {
	f.proxy.pass(f.ctx)
	row := bytes.HasPrefix(line, []byte(`{"seq"`))
	if row && f.proxy.cut.CompareAndSwap(true, false) {
		f.ResponseWriter.Write(line[:len(line)/2])
		return context.Canceled
	}
	if _, err := f.ResponseWriter.Write(line); err != nil {
		return err
	}
	if row && f.proxy.twice.Load() {
		_, err := f.ResponseWriter.Write(line)
		return err
	}
	return nil
}
