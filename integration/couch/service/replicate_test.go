package service

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
)

// restarts returns how often a node is killed and restarted: KASOKU_RESTARTS.
func restarts(t *testing.T) int {
	text := os.Getenv("KASOKU_RESTARTS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_RESTARTS: %v", err)
	}
	return n
}

// TestReplicationThroughRestarts checks that `replicate:` replicates both ways, also after
// either node was killed and restarted: in the end both nodes are equal and have every
// acknowledged write.
func TestReplicationThroughRestarts(t *testing.T) {
	a, b := couch.Disk(t), couch.Disk(t)
	nodes := []*couch.Node{a, b}
	for _, n := range nodes {
		n.Must(t, "PUT", "/db", "")
	}
	url := startKasoku(t, []string{a.URL, b.URL}, "writes: any", "replicate: {databases: [db], direction: both}").URL
	w := &writers{url: url}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for i := range 4 {
		done.Go(func() { w.loop(ctx, i) })
	}
	awaitWrites := func(what string) {
		target := w.written.Load() + 20
		couch.Await(t, "writes "+what, func() bool { return w.written.Load() >= target })
	}
	for i := range restarts(t) {
		awaitWrites("before a kill")
		n := nodes[rand.IntN(2)]
		n.Kill()
		awaitWrites(fmt.Sprint("while a node is away, time ", i))
		n.Restart(t)
	}
	awaitWrites("at last")
	cancel()
	done.Wait()
	t.Logf("%d writes were acknowledged, %d refused, %d failed, the first: %s", w.written.Load(), w.refused.Load(), w.failed.Load(), w.first)

	var left, right string
	couch.Await(t, "both nodes to be equal", func() bool {
		left, right = contents(t, a), contents(t, b)
		return left == right && a.Count(t, "db") == b.Count(t, "db")
	})
	for _, id := range w.ids {
		if !strings.Contains(left, `"`+id+`"`) {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
}

// contents returns the documents of a node with their revisions, as text.
func contents(t *testing.T, n *couch.Node) string {
	t.Helper()
	body := n.Must(t, "GET", "/db/_all_docs", "").Body
	return body[strings.Index(body, `"rows"`):]
}

// writers writes documents through Kasoku from several goroutines, each to its own documents.
type writers struct {
	url                      string
	written, refused, failed atomic.Int64

	mu    sync.Mutex
	ids   []string // acknowledged
	first string   // the first failure
}

func (w *writers) loop(ctx context.Context, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		w.write(fmt.Sprintf("w%d-%05d", writer, i))
	}
}

// write puts a document, unless the end of the test would cut the request off.
func (w *writers) write(id string) {
	req, err := http.NewRequest("PUT", w.url+"/db/"+id, strings.NewReader(`{"by":"`+id+`"}`))
	if err != nil {
		w.fail(err.Error())
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.fail(err.Error())
		return
	}
	defer resp.Body.Close()
	switch resp.StatusCode / 100 {
	case 2:
		w.mu.Lock()
		w.ids = append(w.ids, id)
		w.mu.Unlock()
		w.written.Add(1)
	case 4:
		w.refused.Add(1)
	default:
		text, err := io.ReadAll(resp.Body)
		w.fail(fmt.Sprintf("%s: %.300s %v", resp.Status, text, err))
	}
}

func (w *writers) fail(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed.Add(1) == 1 {
		w.first = why
	}
}

// TestUsersReplicated writes a user through Kasoku: with _users in replicate all nodes have
// the user.
func TestUsersReplicated(t *testing.T) {
	a, b := couch.Disk(t), couch.Disk(t)
	n := client(startKasoku(t, []string{a.URL, b.URL}, "replicate: {databases: [_users], direction: both}").URL)
	n.Must(t, "PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"pw","roles":[],"type":"user"}`)
	for _, node := range []*couch.Node{a, b} {
		couch.Await(t, "the user on "+node.URL, func() bool {
			return node.Do(t, "POST", "/_session", `{"name":"ann","password":"pw"}`).Status == http.StatusOK
		})
	}
}
