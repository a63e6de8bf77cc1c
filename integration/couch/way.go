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

// Way is another address of a node, which fails on command. While the node is
// away, connections to it are accepted and closed without an answer.
type Way struct {
	URL string
	// Faults strike requests that are no live feeds. For Plan.Only they are called
	// "own" (what an accelerator asks for itself: _up, _revs_diff, a database's state,
	// feeds that are not live), "replication" (what only replicators ask for), "read" (GET,
	// HEAD, and POST to what only reads) and "write" (the rest).
	Faults fault.Injector

	next http.Handler
	// twice sends each row of a live feed twice; cut ends the feed within the next.
	twice, cut atomic.Bool

	mu    sync.Mutex
	gone  []string      // what paths begin with that the node does not know
	held  chan struct{} // closed when live feeds go on; nil while they do
	feeds map[*live]bool
	asked map[string]int // requests by method and target
}

// NewWay makes a way to the node that is there until the test ends.
func NewWay(t testing.TB, n *Node) *Way {
	t.Helper()
	proxy, err := fault.Proxy(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // nodes are killed all the time
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	w := &Way{feeds: map[*live]bool{}, asked: map[string]int{}}
	w.Faults.Operation = operation
	w.next = proxy
	faulty := w.Faults.Wrap(proxy)
	w.URL = harness.Origin(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		if w.hides(r.URL.Path) {
			http.Error(rw, `{"error":"not_found","reason":"no_db_file"}`, http.StatusNotFound)
			return
		}
		if isLive(r) {
			w.feed(rw, r)
			return
		}
		faulty.ServeHTTP(rw, r)
	}))
	return w
}

func (w *Way) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[r.Method+" "+r.URL.RequestURI()]++
}

// Hide has the node not know what paths begin with.
func (w *Way) Hide(prefixes ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = prefixes
}

func (w *Way) hides(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.gone, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// Asked is how often the node was sent requests with the method and a target that
// begins like that.
func (w *Way) Asked(method, target string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, times := range w.asked {
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

// Feeds is how many live feeds are open.
func (w *Way) Feeds() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.feeds)
}

// CutFeeds ends all live feeds at once.
func (w *Way) CutFeeds() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.feeds {
		f.end()
	}
}

// CutRow ends the live feed that shows the next row, in the middle of that row.
func (w *Way) CutRow() { w.cut.Store(true) }

// Repeat has each row of live feeds sent twice, or no longer.
func (w *Way) Repeat(on bool) { w.twice.Store(on) }

// Hold has live feeds stand still, connections and all, or go on.
func (w *Way) Hold(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != nil {
		close(w.held)
		w.held = nil
	}
	if on {
		w.held = make(chan struct{})
	}
}

// pass waits while live feeds are to stand still.
func (w *Way) pass(ctx context.Context) {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

func (w *Way) feed(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	f := &live{ResponseWriter: rw, way: w, ctx: ctx, end: cancel}
	w.mu.Lock()
	w.feeds[f] = true
	w.mu.Unlock()
	defer func() {
		cancel()
		w.mu.Lock()
		delete(w.feeds, f)
		w.mu.Unlock()
	}()
	w.next.ServeHTTP(f, r.WithContext(ctx))
}

// live is a live feed on its way to the client.
type live struct {
	http.ResponseWriter
	way  *Way
	ctx  context.Context
	end  context.CancelFunc
	rest []byte // of a line that is not complete
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
	f.way.pass(f.ctx)
	row := bytes.HasPrefix(line, []byte(`{"seq"`))
	if row && f.way.cut.CompareAndSwap(true, false) {
		f.ResponseWriter.Write(line[:len(line)/2])
		return context.Canceled
	}
	if _, err := f.ResponseWriter.Write(line); err != nil {
		return err
	}
	if row && f.way.twice.Load() {
		_, err := f.ResponseWriter.Write(line)
		return err
	}
	return nil
}
