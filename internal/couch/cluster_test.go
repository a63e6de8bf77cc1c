package couch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newClusterSite returns a site whose cache is one of two, and the other one.
func newClusterSite(t *testing.T) (s *site, other *cache.Cache, cl *clustertest.Cluster) {
	t.Helper()
	s = newSite(t, 1)
	other, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	return s, other, clustertest.Connect(s.cache, other)
}

const (
	updatePath   = "/db/_design/d/_update/lead/x" // the document is known only from the answer
	notExecutedX = `{"error":"service_unavailable","reason":"This instance is not in contact with its cluster. The write was not executed."}`
)

// A write moves the document's tag in the other cache, whether it is known before or only from the
// answer.
func TestWritesReachOtherNodes(t *testing.T) {
	f := func(method, path string) {
		t.Helper()
		t.Run(path, func(t *testing.T) {
			s, other, cl := newClusterSite(t)
			s.do("PUT", "/db/x", "0")
			cl.Rounds()
			st := other.Note(s.tagger.Document([]byte("db"), []byte("x")), s.tagger.Results([]byte("db")))
			if g := s.do(method, path, "1"); g.status >= 400 {
				t.Fatalf("got %d %s", g.status, g.body)
			}
			if other.Current(&st) {
				t.Error("the other cache serves the old document")
			}
			if got := fmt.Sprint(cl.Rounds()); got != "[commit]" {
				t.Errorf("rounds ended with %s", got)
			}
		})
	}
	f("PUT", "/db/x")
	f("POST", updatePath)
}

func TestWriteWithoutCluster(t *testing.T) {
	f := func(method, path string) {
		t.Helper()
		t.Run(path, func(t *testing.T) {
			s, _, cl := newClusterSite(t)
			want := func(what string, g *got, status int, body, retry string) {
				t.Helper()
				if g.status != status || !strings.Contains(g.body, body) || g.header.Get("Retry-After") != retry {
					t.Errorf("%s: got %d %s, Retry-After %q", what, g.status, g.body, g.header.Get("Retry-After"))
				}
				if status >= 500 && g.header.Get("Content-Type") == "application/json" != (body[0] == '{') {
					t.Errorf("%s: got Content-Type %s", what, g.header.Get("Content-Type"))
				}
			}
			s.requests()
			cl.Refuse(cache.ErrIsolated)
			want("refused", s.do(method, path, "1"), 503, notExecutedX, "1")
			cl.Refuse(nil)
			cl.Sendable(0)
			want("lease over before", s.do(method, path, "1"), 503, notExecutedX, "1")
			s.expectRequests("without a lease")
			cl.Sendable(1)
			want("lease over meanwhile", s.do(method, path, "1"), 504, "may have been executed", "")
			if got := fmt.Sprint(cl.Rounds()); got != "[refused commit unknown]" {
				t.Errorf("rounds ended with %s", got)
			}
		})
	}
	f("PUT", "/db/x")
	f("PUT", "/db/_security")
	f("POST", updatePath)
}

// A write whose document the other nodes have not fenced is an error in CouchDB's format.
func TestWriteWithoutFurtherFence(t *testing.T) {
	s, _, cl := newClusterSite(t)
	cl.RefuseFurther(cache.ErrIsolated)
	g := s.do("POST", updatePath, "1")
	if g.status != 500 || !strings.HasPrefix(g.body, `{"error":"internal_server_error",`) || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Rounds()); got != "[unknown]" {
		t.Errorf("rounds ended with %s", got)
	}
}

func TestPurgeReachesOtherNodes(t *testing.T) {
	s, other, cl := newClusterSite(t)
	st := other.Note(s.tagger.Document([]byte("db"), []byte("x")))
	r := admin.PurgeRequest{Selector: purge.By(purge.URL, "/db/x")}
	if _, err := s.Purge(t.Context(), r); err != nil || other.Current(&st) {
		t.Errorf("the other cache serves the old document, or %v", err)
	}
	cl.Refuse(cache.ErrIsolated)
	if _, err := s.Purge(t.Context(), r); err == nil {
		t.Error("no error for a purge that the other nodes have not made")
	}
}
