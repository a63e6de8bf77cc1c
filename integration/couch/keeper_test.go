package couch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/couch/follow"
)

// do returns a function that sends a keeper's requests to the nodes.
func do(nodes []*Node) follow.Do {
	return func(ctx context.Context, node int, method, path string, body []byte) (int, []byte, error) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, nodes[node].URL+path, bytes.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil, err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		return resp.StatusCode, answer, err
	}
}

// TestKeeper keeps two real nodes replicated both ways while each is killed and
// restarted, and one loses the documents that describe its replications.
func TestKeeper(t *testing.T) {
	nodes := []*Node{Disk(t), Disk(t)}
	var reached []follow.ReplicationNode
	for _, n := range nodes {
		n.Must(t, "PUT", "/db", "")
		reached = append(reached, follow.ReplicationNode{URL: n.URL})
	}
	k := follow.NewKeeper(follow.KeeperConfig{Nodes: reached, Jobs: follow.ReplicateBothWays("db", 2), Do: do(nodes), CheckInterval: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	wantReplicated := func(from int, id string) {
		t.Helper()
		rev := nodes[from].Must(t, "PUT", "/db/"+id, fmt.Sprintf(`{"from":%d}`, from)).Rev(t)
		nodes[1-from].AwaitRev(t, "/db/"+id, rev)
	}
	wantReplicated(0, "a")
	wantReplicated(1, "b")
	for round := range 4 {
		away := round % 2
		nodes[away].Kill()
		id := fmt.Sprint("while-away-", round)
		rev := nodes[1-away].Must(t, "PUT", "/db/"+id, "{}").Rev(t)
		nodes[away].Restart(t)
		k.NodeReturned(away)
		nodes[away].AwaitRev(t, "/db/"+id, rev)
		wantReplicated(away, fmt.Sprint("back-", round))
		wantReplicated(1-away, fmt.Sprint("there-", round))
	}
	nodes[0].Must(t, "DELETE", "/_replicator", "")
	nodes[0].Do(t, "PUT", "/_replicator", "")
	wantReplicated(1, "z")
	Await(t, "the documents of both replications to exist again", func() bool {
		for _, s := range k.States() {
			if s.Kind != follow.DocumentReplication || s.Err != nil {
				return false
			}
		}
		return true
	})
}
