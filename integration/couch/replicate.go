package couch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Replicate replicates db from one node to another, continuously and through restarts of
// both, with a document on node to.
func Replicate(t testing.TB, from, to *Node, db string) {
	t.Helper()
	job, err := json.Marshal(map[string]any{"source": from.URL + "/" + db, "target": to.URL + "/" + db, "continuous": true})
	if err != nil {
		t.Fatal(err)
	}
	to.Must(t, "PUT", fmt.Sprintf("/_replicator/%s_from_%s", db, from.port()), string(job))
}

// Pair creates db on both nodes and replicates it both ways.
func Pair(t testing.TB, a, b *Node, db string) {
	t.Helper()
	a.Must(t, "PUT", "/"+db, "")
	b.Must(t, "PUT", "/"+db, "")
	Replicate(t, a, b, db)
	Replicate(t, b, a, db)
}

// Await polls until done returns true. After a minute it fails the test.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("waited a minute for %s", what)
		case <-poll.C:
		}
	}
}

// AwaitRev waits until the node returns the document in the given revision.
func (n *Node) AwaitRev(t testing.TB, path, rev string) {
	t.Helper()
	Await(t, path+" in revision "+rev, func() bool {
		return strings.Trim(n.Do(t, "GET", path, "").Header.Get("ETag"), `"`) == rev
	})
}

// Rev returns the revision in the answer to a write.
func (a Answer) Rev(t testing.TB) string {
	t.Helper()
	var reply struct{ Rev string }
	if err := json.Unmarshal([]byte(a.Body), &reply); err != nil || reply.Rev == "" {
		t.Fatalf("no revision in %q: %v", a.Body, err)
	}
	return reply.Rev
}
