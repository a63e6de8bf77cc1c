//go:build unix

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// website is an origin that counts its requests.
type website struct {
	*httptest.Server
	mu    sync.Mutex
	count map[string]int // by path
}

func newWebsite(t *testing.T) *website {
	w := &website{count: map[string]int{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.count[r.URL.Path]++
		w.mu.Unlock()
		rw.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprintf(rw, "page %s", r.URL.Path)
	}))
	t.Cleanup(w.Close)
	return w
}

// requests returns the number of requests for a path; "" means any.
func (w *website) requests(path string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, count := range w.count {
		if path == "" || path == p {
			n += count
		}
	}
	return n
}

// TestFillsOfPages requests pages through three nodes: a page is requested of the origin once for
// all of them, and a node that was restarted gets the pages of the others, also those that it owns.
func TestFillsOfPages(t *testing.T) {
	w := newWebsite(t)
	var urls []string
	s := start(t, store(t), 3, func(o *harness.Options) {
		port, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, "http://"+port)
		o.Service = []string{"auth: {mode: none}", "quarantine: 100ms", "origin_timeout: 2s"}
		o.Services = []string{"site:", "  type: http", "  listen: " + port, "  origins: [" + w.URL + "]"}
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Transport: transport, Timeout: 15 * time.Second}
	get := func(node int, path string) (status string) {
		r, err := http.NewRequest(http.MethodGet, urls[node]+path, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Host = "site.example" // the same key on all nodes
		resp, err := browser.Do(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "page "+path {
			t.Errorf("%s through %s: got %q, %v", path, name(node), body, err)
		}
		return resp.Header.Get("Cache-Status")
	}
	// The first node of a cluster stores nothing for a while, and no other one meanwhile.
	for i := range s.nodes {
		harness.Await(t, "a node stores pages", 20*time.Second, func() bool { return strings.Contains(get(i, "/stored"), "hit") })
	}

	// On a machine that runs other tests too, the signs of an owner may be late in a crowd, so that
	// the others ask the origin themselves. Without owners, each node would ask for each page.
	once := false
	for i, crowd := 0, 300; i < 40 && !once; i, crowd = i+1, 3 {
		path := fmt.Sprintf("/crowd/%d", i)
		var clients sync.WaitGroup
		for c := range crowd {
			clients.Go(func() { get(c%3, path) })
		}
		clients.Wait()
		n := w.requests(path)
		t.Logf("%d concurrent requests for %s through 3 nodes: %d to the origin", crowd, path, n)
		if n > 3 {
			t.Errorf("%d requests to the origin, want one for each node at most", n)
		}
		once = n == 1
	}
	if !once {
		t.Error("no page was requested of the origin by one node only")
	}

	const pages = 60
	var readers sync.WaitGroup
	for i := range pages {
		readers.Go(func() {
			get(0, fmt.Sprintf("/page/%d", i))
			get(1, fmt.Sprintf("/page/%d", i))
		})
	}
	readers.Wait()
	s.nodes[2].Terminate(t)
	s.nodes[2].Restart(t)
	harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
	before := w.requests("")
	for i := range pages {
		get(2, fmt.Sprintf("/page/%d", i))
	}
	more := w.requests("") - before
	t.Logf("%d pages through a restarted node: %d requests to the origin", pages, more)
	if more > pages/6 {
		t.Errorf("%d pages through a restarted node: %d requests to the origin, want none", pages, more)
	}
}
