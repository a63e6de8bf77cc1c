package couch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/follow"
)

// journal records the events of a follower.
type journal struct {
	mu     sync.Mutex
	resets []string
	revs   map[string]string // by id, the last
	heard  time.Time
}

func (j *journal) Reset(why follow.ResetReason) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.resets = append(j.resets, why.String())
}

func (j *journal) Row(row *api.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.revs[string(row.ID)] = string(row.Rev)
}

func (j *journal) Heard(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.heard = at
}

func (j *journal) rev(id string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.revs[id]
}

// why returns the reasons for all resets.
func (j *journal) why() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.resets, ", ")
}

func (j *journal) heardAfter(at time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.heard.After(at)
}

// followNode follows db on n until the test ends.
func followNode(t *testing.T, n *Node, db string) (*journal, *follow.Follower) {
	t.Helper()
	j := &journal{revs: map[string]string{}}
	f := follow.NewFollower(follow.FollowerConfig{DB: db, Watcher: j, Get: func(ctx context.Context, target string) (int, io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", n.URL+target, nil)
		if err != nil {
			return 0, nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil, err
		}
		return resp.StatusCode, resp.Body, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	Await(t, "the feed to be open", func() bool { return f.State().Phase == follow.Following })
	return j, f
}

// TestFollower follows a database on a real node: through a kill -9, deletion and
// recreation.
func TestFollower(t *testing.T) {
	n := Disk(t)
	n.Must(t, "PUT", "/db", "")
	n.Must(t, "PUT", "/db/before", "{}")
	j, f := followNode(t, n, "db")
	wantRev := func(id, rev string) {
		t.Helper()
		Await(t, id+" in revision "+rev, func() bool { return j.rev(id) == rev })
	}
	for i, id := range []string{"a", "ü b", "a/b", `"\`} {
		path := fmt.Sprintf("/db/%s", []string{"a", "%C3%BC%20b", "a%2Fb", "%22%5C"}[i])
		wantRev(id, n.Must(t, "PUT", path, "{}").Rev(t))
	}
	// A feed that breaks off earlier may be that of another database, created in the same second.
	later := time.Now().Add(3 * time.Second)
	Await(t, "a heartbeat", func() bool { return j.heardAfter(later) })

	n.Kill()
	Await(t, "the feed to break", func() bool { return f.State().Breaks > 0 })
	n.Restart(t)
	wantRev("c", n.Must(t, "PUT", "/db/c", "{}").Rev(t))
	if got := j.why(); got != "opened" {
		t.Errorf("resets after a restart: %s", got)
	}
	if j.rev("before") != "" {
		t.Error("the feed was replayed from its start")
	}

	n.Must(t, "DELETE", "/db", "")
	Await(t, "the deletion", func() bool { return f.State().Phase == follow.Absent })
	n.Must(t, "PUT", "/db", "")
	Await(t, "the feed to be open", func() bool { return f.State().Phase == follow.Following })
	wantRev("d", n.Must(t, "PUT", "/db/d", "{}").Rev(t))
	if got := j.why(); got != "opened, deleted, opened" {
		t.Errorf("resets after a recreation: %s", got)
	}
}
