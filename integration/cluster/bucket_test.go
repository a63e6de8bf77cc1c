//go:build unix

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// site is a cluster of two nodes and a witness before a web site whose answers are numbered.
type site struct {
	a, b, w *node
}

func startSite(t *testing.T) *site {
	t.Helper()
	var n atomic.Uint64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprint(w, n.Add(1))
	}))
	t.Cleanup(web.Close)
	var addresses []string
	for range 3 {
		address, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address)
	}
	run := func(i int, name, kind string) *node {
		return &node{harness.Start(t, harness.Options{
			Type: kind, Origin: web.URL, Unready: true,
			Top: []string{"cluster:", "  name: test", "  node: " + name, "  listen: " + addresses[i],
				"  join: [" + strings.Join(addresses, ", ") + "]", "  witness: " + fmt.Sprint(kind == "none"),
				"  view: {nodes: [a, b, w], directory: " + t.TempDir() + "}"},
		}), name}
	}
	s := &site{a: run(0, "a", "http"), b: run(1, "b", "http"), w: run(2, "w", "none")}
	// The nodes begin to stop together.
	t.Cleanup(func() {
		for _, n := range s.all() {
			n.signal(syscall.SIGINT)
		}
	})
	return s
}

func (s *site) all() []*node { return []*node{s.a, s.b, s.w} }

// page returns the page, and whether it was cached.
func (n *node) page() (text string, hit bool, err error) {
	resp, err := client.Get(n.URL + "/page")
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the page through %s: %s: %s", n.name, resp.Status, body)
	}
	return string(body), strings.Contains(resp.Header.Get("Cache-Status"), "; hit"), err
}

// cachedPage requests the page through n until it is a hit.
func (n *node) cachedPage(t *testing.T) (page string, took time.Duration) {
	t.Helper()
	took = harness.Await(t, "a hit through "+n.name, time.Minute, func() bool {
		text, hit, err := n.page()
		if err != nil {
			t.Fatal(err) // a read never fails
		}
		page = text
		return hit
	})
	return page, took
}

// purge purges everything through n, and reports whether all members have carried it out.
func (n *node) purge() bool {
	resp, err := admin.Post(n.Admin+"/api/v1/purge", "application/json", strings.NewReader(`{"service":"db"}`))
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// TestSite purges through each of two nodes before a web site while both have a page, kills one of
// them, and at last all nodes. The list of members is in the servers of these and of a witness.
func TestSite(t *testing.T) {
	s := startSite(t)
	ready := func(what string, nodes ...*node) {
		t.Helper()
		took := harness.Await(t, what, time.Minute, func() bool {
			for _, n := range nodes {
				if !n.ready() {
					return false
				}
			}
			return true
		})
		t.Logf("%s: %v", what, took)
	}
	ready("the first start", s.all()...)
	for through, other := range map[*node]*node{s.a: s.b, s.b: s.a} {
		_, first := through.cachedPage(t)
		old, second := other.cachedPage(t)
		if wait := max(first, second); wait > 30*time.Second {
			t.Errorf("a page is not cached for %v after the first start of a cluster", wait)
		}
		harness.Await(t, "a purge through "+through.name, time.Minute, through.purge)
		if page, _, err := other.page(); err != nil || page == old {
			t.Errorf("got page %s through %s, %v, which was purged through %s", page, other.name, err, through.name)
		}
	}

	old, _ := s.a.cachedPage(t)
	s.b.Kill()
	took := harness.Await(t, "a purge without the killed node", time.Minute, s.a.purge)
	page, again := s.a.cachedPage(t)
	if page == old {
		t.Errorf("page %s is served after it was purged", page)
	}
	t.Logf("a node is killed: a purge after %v, hits %v later", took, again)

	s.a.Kill()
	s.w.Kill()
	for _, n := range s.all() {
		n.Restart(t)
	}
	ready("the restart of all", s.all()...)
	for _, n := range []*node{s.a, s.b} {
		if next, _, err := n.page(); err != nil || next == page {
			t.Errorf("got page %s through %s, %v", next, n.name, err)
		}
	}
}
