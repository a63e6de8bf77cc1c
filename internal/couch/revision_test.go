package couch

import (
	"fmt"
	"strings"
	"testing"
)

// TestRevisions checks that only the current revision of a document is cached by its name:
// compaction, which no feed announces, removes the bodies of all others.
func TestRevisions(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	first := a.store("x", "1")
	b.replicate("x", a)
	second := a.store("x", "22")
	b.replicate("x", a)
	s.follow()
	old, current := "/db/x?rev="+first, "/db/x?rev="+second
	for range 3 {
		s.get("not compacted", old, 200, "1", "fwd=uri-miss; detail=unsettled")
		s.get("with its history", old+"&revs=true", 200, "1", "fwd=uri-miss; detail=unsettled")
	}
	s.get("current", current, 200, "22", "fwd=uri-miss; stored")
	s.get("current", current, 200, "22", "hit")
	a.compact()
	b.compact()
	s.get("compacted", old, 404, missing, "fwd=uri-miss; detail=unsound")
	s.get("compacted", old+"&revs=true", 404, missing, "fwd=uri-miss; detail=unsound")
	s.get("current", current, 200, "22", "hit")
	a.store("x", "333")
	b.replicate("x", a)
	s.settled()
	s.get("not current any more", current, 200, "22", "fwd=")
	a.compact()
	b.compact()
	s.get("compacted", current, 404, missing, "fwd=")
}

// TestManyRevisions checks that no answer is cached that may contain old revisions in another way:
// a list of leaves, the body of _bulk_get, rows with the revision to be included.
func TestManyRevisions(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	kept := func(what string, want bool, method, path, body string) {
		t.Helper()
		s.do(method, path, body, "Content-Type", "application/json")
		if g := s.do(method, path, body, "Content-Type", "application/json"); strings.HasPrefix(g.cacheStatus(), "hit") != want {
			t.Errorf("%s: got %s", what, g.cacheStatus())
		}
	}
	a.set(func() { a.exact = `{"results":[]}` })
	kept("all leaves", true, "GET", "/db/x?open_revs=all", "")
	kept("some revisions", false, "GET", `/db/x?open_revs=["1-a"]`, "")
	kept("documents", true, "POST", "/db/_bulk_get", `{"docs":[{"id":"x"}]}`)
	kept("revisions of documents", false, "POST", "/db/_bulk_get", `{"docs":[{"id":"x","rev":"1-a"}]}`)
	kept("a query for a field with that name", true, "POST", "/db/_find", `{"selector":{"rev":1}}`)

	row := func(value string, docs int) string {
		doc := fmt.Sprintf(`{"id":"x","key":1,"value":%s,"doc":{"_id":"x","_rev":"2-b","text":"%s"}}`, value, strings.Repeat("x", docs))
		return `{"total_rows":1,"offset":0,"rows":[` + doc + `]}`
	}
	for _, size := range []int{1, 2 << 20} {
		for _, f := range []struct {
			value string
			want  bool
		}{{`null`, true}, {`{"_id":"y"}`, true}, {`{"rev":"1-a"}`, true}, {`{"_id":"y","_rev":"1-a"}`, false}} {
			a.set(func() { a.exact = row(f.value, size) })
			kept(fmt.Sprint(f.value, size), f.want, "GET", fmt.Sprintf("/db/_design/d/_view/v?include_docs=true&key=%d", len(f.value)*size), "")
		}
	}
}
