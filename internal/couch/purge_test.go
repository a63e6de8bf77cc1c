package couch

import (
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/purge"
)

// TestPurge checks which cached answers a purge drops.
func TestPurge(t *testing.T) {
	s := newSite(t, 1)
	revision := "/db/x?rev=" + s.nodes[0].store("x", "1")
	s.nodes[0].store("y", "1")
	s.follow()
	all := []string{"/db/x", revision, "/db/y", "/db/_all_docs", "/db/_design/d/_view/v"}
	f := func(selector purge.Selector, dropped string, gone ...string) {
		t.Helper()
		for _, path := range all {
			s.do("GET", path, "")
		}
		got, err := s.Purge(t.Context(), admin.PurgeRequest{Selector: selector})
		if err != nil || got.Dropped != dropped {
			t.Errorf("%s: got dropped %q, %v; want %q", selector, got.Dropped, err, dropped)
		}
		var asked []string
		for _, path := range all {
			if g := s.do("GET", path, ""); !strings.HasPrefix(g.cacheStatus(), "hit") {
				asked = append(asked, path)
			}
		}
		if strings.Join(asked, " ") != strings.Join(gone, " ") {
			t.Errorf("%s: the nodes received requests for %v; want %v", selector, asked, gone)
		}
	}
	f(purge.By(purge.URL, "/db/x"), "document x of database db, with its attachments", "/db/x", revision)
	f(purge.By(purge.URL, "http://relax.example/db/x/file"), "document x of database db, with its attachments", "/db/x", revision)
	f(purge.By(purge.URL, "/db/_all_docs?limit=1"), "all views, lists and queries of database db", "/db/_all_docs", "/db/_design/d/_view/v")
	f(purge.By(purge.URL, revision), "document x of database db, with its attachments", "/db/x", revision)
	f(purge.By(purge.URL, "/db"), "everything of database db", all...)
	f(purge.Selector{}, "everything of service couch", all...)
	for _, r := range []admin.PurgeRequest{
		{Selector: purge.By(purge.URL, "/")},
		{Selector: purge.By(purge.URL, "http://relax.example")},
		{Selector: purge.By(purge.URL, "db")},
		{Selector: purge.By(purge.URL, "/_session")},
		{Selector: purge.By(purge.Prefix, "/db/")},
		{Selector: purge.By(purge.Pattern, "/db/*")},
		{Selector: purge.By(purge.URL, "/db"), Soft: true},
		{Table: "db"},
	} {
		if _, err := s.Purge(t.Context(), r); !errors.Is(err, admin.ErrInput) {
			t.Errorf("%+v: got %v", r, err)
		}
	}
}
