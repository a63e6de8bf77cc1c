package service

import (
	"net/http"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
)

// TestCompaction reads a document in a former revision, through Kasoku and from its node:
// compaction removes that revision from both, and keeps the current one.
func TestCompaction(t *testing.T) {
	a := couch.Disk(t)
	a.Must(t, "PUT", "/db", "")
	n := client(startKasoku(t, []string{a.URL}).URL)
	first := n.Must(t, "PUT", "/db/a", `{"n":1}`).Rev(t)
	second := n.Must(t, "PUT", "/db/a", `{"n":2,"_rev":"`+first+`"}`).Rev(t)
	old, current := "/db/a?rev="+first, "/db/a?rev="+second
	hit := func() bool {
		return n.Must(t, "GET", current, "").Header.Get("Cache-Status") == "kasoku; hit; detail=followed"
	}
	couch.Await(t, "a hit", hit)
	for range 5 {
		n.Must(t, "GET", old, "")
	}
	n.Must(t, "POST", "/db/_compact", "", "Content-Type", "application/json")
	couch.Await(t, "the compaction", func() bool { return a.Do(t, "GET", old, "").Status == http.StatusNotFound })
	if got := n.Do(t, "GET", old, ""); got.Status != http.StatusNotFound {
		t.Errorf("a compacted revision: got status %d, %s", got.Status, got.Header.Get("Cache-Status"))
	}
	if !hit() {
		t.Error("the current revision is no longer cached")
	}
}
