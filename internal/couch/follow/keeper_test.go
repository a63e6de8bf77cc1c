package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// keeperNode is a node with a _replicator database. It counts the requests.
type keeperNode struct {
	mu          sync.Mutex
	down        bool
	plain       bool // it has no _replicator
	failStatus  int  // the status of every answer, unless 0
	docs        map[string]replicationDoc
	revs        int
	scheduler   string // the scheduler's state of each document; "" if there is none
	transient   int    // replications that run by _replicate
	onTransient func()
	asked       []string
}

func (c *keeperNode) do(_ context.Context, _ int, method, path string, body []byte) (int, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, method+" "+path)
	path, rev, _ := strings.Cut(path, "?rev=")
	name, isDoc := strings.CutPrefix(path, "/_replicator/")
	doc, found := c.docs[name]
	switch {
	case c.down:
		return 0, nil, errors.New("unreachable")
	case c.failStatus != 0:
		return c.failStatus, []byte("no"), nil
	case path == "/_replicate":
		c.transient++
		if c.onTransient != nil {
			c.onTransient()
		}
		return 200, []byte(`{"ok":true}`), nil
	case strings.HasPrefix(path, "/_scheduler/") && c.scheduler != "":
		return 200, fmt.Appendf(nil, `{"state":%q}`, c.scheduler), nil
	case !isDoc || c.plain || method == "GET" && !found:
		return 404, []byte(`{"error":"not_found"}`), nil
	case method == "GET":
		text, err := json.Marshal(doc)
		return 200, text, err
	case method == "DELETE" && rev == doc.Rev:
		delete(c.docs, name)
		return 200, []byte(`{"ok":true}`), nil
	}
	var put replicationDoc
	if err := json.Unmarshal(body, &put); err != nil || put.Rev != doc.Rev {
		return 409, nil, err
	}
	if doc.State == "triggered" {
		return 403, []byte(`{"error":"forbidden"}`), nil
	}
	c.revs++
	put.Rev = fmt.Sprint(c.revs, "-x")
	c.docs[name] = put
	return 201, []byte(`{"ok":true}`), nil
}

// change changes the node, or each of its documents.
func (c *keeperNode) change(node func(), doc func(d *replicationDoc)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node != nil {
		node()
	}
	for id, d := range c.docs {
		if doc != nil {
			doc(&d)
			c.docs[id] = d
		}
	}
}

func (c *keeperNode) counts() (docs, writes, transient, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.docs), c.revs, c.transient, len(c.asked)
}

// playKeeper runs a keeper of one replication to the node c, for a second and then with the script.
func playKeeper(t *testing.T, c *keeperNode, script func(k *Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.docs = map[string]replicationDoc{}
		k := NewKeeper(KeeperConfig{
			Nodes: []ReplicationNode{{URL: "http://a", User: "u", Password: "p"}, {URL: "http://b"}},
			Jobs:  []ReplicationJob{{"d b", 0, 1}}, Do: c.do,
		})
		stop := runKeeper(t, k)
		passKeeper(time.Second)
		script(k)
		stop()
	})
}

// runKeeper runs k until stop is called, which waits for its end.
func runKeeper(t *testing.T, k *Keeper) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func passKeeper(d time.Duration) {
	time.Sleep(d) // on the bubble's clock
	synctest.Wait()
}

func expectState(t *testing.T, k *Keeper, how ReplicationKind, phase string, restarts int) {
	t.Helper()
	if s := k.States()[0]; s.Kind != how || s.Phase != phase || s.Restarts != restarts || s.Err != nil {
		t.Errorf("got %s, %q, restarted %d times, %v; want %s, %q, %d", s.Kind, s.Phase, s.Restarts, s.Err, how, phase, restarts)
	}
}

func TestDocument(t *testing.T) {
	c := &keeperNode{}
	playKeeper(t, c, func(k *Keeper) {
		expectState(t, k, DocumentReplication, "", 0)
		c.change(nil, func(d *replicationDoc) {
			if d.Source.URL != "http://a/d%20b" || d.Source.Headers["Authorization"] != "Basic dTpw" || d.Target.URL != "http://b/d%20b" || d.Target.Headers != nil || !d.Continuous {
				t.Errorf("got %+v", d)
			}
			d.State = "triggered"
			d.Source.Headers = nil // hidden by the node
		})
		passKeeper(time.Hour)
		expectState(t, k, DocumentReplication, "triggered", 0)
		if docs, writes, _, asked := c.counts(); docs != 1 || writes != 1 || asked > 2*370 {
			t.Errorf("%d documents, %d writes, %d requests in an hour", docs, writes, asked)
		}
	})
}

// TestRepairs checks in which cases the document is rewritten.
func TestRepairs(t *testing.T) {
	f := func(what string, restarts int, node func(c *keeperNode), doc func(d *replicationDoc)) {
		t.Helper()
		c := &keeperNode{}
		playKeeper(t, c, func(k *Keeper) {
			if c.change(nil, doc); node != nil {
				c.change(func() { node(c) }, nil)
			}
			passKeeper(11 * time.Second)
			if s := k.States()[0]; s.Restarts != restarts || s.Err != nil {
				t.Errorf("%s: restarted %d times, %v", what, s.Restarts, s.Err)
			}
		})
	}
	f("given up", 1, nil, func(d *replicationDoc) { d.State = "error" })
	f("failed", 1, nil, func(d *replicationDoc) { d.State = "failed" })
	f("running", 0, nil, func(d *replicationDoc) { d.State = "triggered" })
	f("crashing", 0, func(c *keeperNode) { c.scheduler = "crashing" }, nil)
	f("to be tried again", 0, func(c *keeperNode) { c.scheduler = "error" }, nil)
	f("failed for good", 1, func(c *keeperNode) { c.scheduler = "failed" }, nil)
	f("deleted", 1, func(c *keeperNode) { clear(c.docs) }, nil)
	f("of another source", 1, nil, func(d *replicationDoc) { d.Source.URL = "http://c/d" })
	f("of another source, and running", 1, nil, func(d *replicationDoc) { d.Source.URL, d.State = "http://c/d", "triggered" })
	f("not continuous", 1, nil, func(d *replicationDoc) { d.Continuous = false })
}

// TestRenewal checks when an intact document is rewritten.
func TestRenewal(t *testing.T) {
	c := &keeperNode{}
	playKeeper(t, c, func(k *Keeper) {
		c.change(nil, func(d *replicationDoc) { d.State = "triggered" })
		k.NodeReturned(1) // the node starts the replications of its documents
		k.Stalled("d b", 0)
		k.Stalled("other", 1)
		passKeeper(time.Minute)
		expectState(t, k, DocumentReplication, "triggered", 0)
		k.NodeReturned(0)
		synctest.Wait()
		expectState(t, k, DocumentReplication, "", 1)
		c.change(nil, func(d *replicationDoc) {
			if d.Renewed == "" {
				t.Error("the document was not rewritten")
			}
		})
		k.NodeReturned(0) // a second return soon afterwards
		synctest.Wait()
		expectState(t, k, DocumentReplication, "", 1)
		passKeeper(10 * time.Second)
		expectState(t, k, DocumentReplication, "", 2)
		passKeeper(time.Hour)
		expectState(t, k, DocumentReplication, "", 2)
		k.Stalled("d b", 1)
		synctest.Wait()
		expectState(t, k, DocumentReplication, "", 3)
	})
}

// TestRenewalRate checks that a replication that lags anyway is not constantly interrupted.
func TestRenewalRate(t *testing.T) {
	playKeeper(t, &keeperNode{}, func(k *Keeper) {
		for range 360 {
			k.Stalled("d b", 1)
			passKeeper(10 * time.Second)
		}
		if n := k.States()[0].Restarts; n < 8 || n > 12 {
			t.Errorf("renewed %d times in an hour", n)
		}
	})
}

// TestRunningIsNotRenewed checks that a replication that the scheduler runs is not renewed.
func TestRunningIsNotRenewed(t *testing.T) {
	f := func(state string, want int) {
		t.Helper()
		playKeeper(t, &keeperNode{scheduler: state}, func(k *Keeper) {
			k.NodeReturned(0)
			passKeeper(time.Minute)
			expectState(t, k, DocumentReplication, state, want)
		})
	}
	f("running", 0)
	f("crashing", 1)
	f("pending", 1)
}

func TestTransient(t *testing.T) {
	c := &keeperNode{plain: true}
	playKeeper(t, c, func(k *Keeper) {
		expectState(t, k, TransientReplication, "", 0)
		passKeeper(time.Minute)
		if _, _, started, _ := c.counts(); started != 1 {
			t.Errorf("started %d times", started)
		}
		k.NodeReturned(0) // its replications may have given up reading from that node
		passKeeper(time.Minute)
		expectState(t, k, TransientReplication, "", 1)
		for range 10 {
			k.NodeReturned(1)
			passKeeper(time.Second)
		}
		expectState(t, k, TransientReplication, "", 11)
		k.Stalled("d b", 0)
		k.Stalled("other", 1)
		passKeeper(time.Minute)
		expectState(t, k, TransientReplication, "", 11)
		k.Stalled("d b", 1)
		passKeeper(time.Second)
		expectState(t, k, TransientReplication, "", 12)
		if _, _, started, _ := c.counts(); started != 13 {
			t.Errorf("started %d times", started)
		}
	})
}

// TestNodeFailsWhileStarting checks that a replication is started again on a node that becomes
// unreachable right after it was started.
func TestNodeFailsWhileStarting(t *testing.T) {
	c := &keeperNode{plain: true}
	var k *Keeper
	c.onTransient = func() {
		if c.transient == 1 {
			k.NodeReturned(1)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		k = NewKeeper(KeeperConfig{Nodes: []ReplicationNode{{URL: "http://a"}, {URL: "http://b"}}, Jobs: []ReplicationJob{{"db", 0, 1}}, Do: c.do})
		stop := runKeeper(t, k)
		passKeeper(time.Second)
		expectState(t, k, TransientReplication, "", 1)
		if _, _, started, _ := c.counts(); started != 2 {
			t.Errorf("started %d times", started)
		}
		stop()
	})
}

// TestUnreachableNode checks that an unreachable node is retried with increasing pauses, and at
// once when it is reported to be back.
func TestUnreachableNode(t *testing.T) {
	c := &keeperNode{down: true}
	playKeeper(t, c, func(k *Keeper) {
		if s := k.States()[0]; s.Err == nil || s.Kind != NotStarted {
			t.Errorf("got the state %+v", s)
		}
		passKeeper(10 * time.Minute)
		if _, _, _, asked := c.counts(); asked < 55 || asked > 70 {
			t.Errorf("the node received %d requests in ten minutes", asked)
		}
		c.change(func() { c.down = false }, nil)
		k.NodeReturned(1)
		synctest.Wait()
		expectState(t, k, DocumentReplication, "", 0)
		c.change(func() { c.failStatus = 401 }, nil)
		passKeeper(11 * time.Second)
		if s := k.States()[0]; s.Err == nil || !strings.Contains(s.Err.Error(), "401") {
			t.Errorf("got the state %+v", s)
		}
	})
}

// TestChanged checks the calls of Changed.
func TestChanged(t *testing.T) {
	c := &keeperNode{docs: map[string]replicationDoc{}}
	synctest.Test(t, func(t *testing.T) {
		var events []string
		k := NewKeeper(KeeperConfig{Nodes: []ReplicationNode{{URL: "http://a"}, {URL: "http://b"}}, Jobs: []ReplicationJob{{"db", 0, 1}}, Do: c.do, Changed: func(before, after Replication) {
			events = append(events, fmt.Sprintf("%s %q %d %t", after.Kind, after.Phase, after.Restarts, after.Err != nil))
		}})
		stop := runKeeper(t, k)
		passKeeper(time.Second)
		c.change(nil, func(d *replicationDoc) { d.State = "triggered" })
		passKeeper(time.Minute)
		c.change(func() { c.down = true }, nil)
		passKeeper(time.Minute)
		c.change(func() { c.down = false }, func(d *replicationDoc) { d.State = "error" })
		passKeeper(11 * time.Second)
		stop()
		if got, want := strings.Join(events, "; "), `document "" 0 false; document "triggered" 0 false; document "triggered" 0 true; document "" 1 true; document "" 1 false`; got != want {
			t.Errorf("got the events %s; want %s", got, want)
		}
	})
}

func TestJobsInBothDirections(t *testing.T) {
	if got := fmt.Sprint(ReplicateBothWays("d", 3)); got != "[{d 0 1} {d 0 2} {d 1 0} {d 1 2} {d 2 0} {d 2 1}]" {
		t.Errorf("got %v", got)
	}
	k := NewKeeper(KeeperConfig{Nodes: []ReplicationNode{{URL: "http://a"}, {URL: "http://b"}}})
	ids := map[string]bool{}
	for _, j := range append(ReplicateBothWays("d", 2), ReplicateBothWays("e", 2)...) {
		ids[k.documentID(j)] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d ids for 4 jobs", len(ids))
	}
}

// TestSilentNode checks that the replications of a node that does not answer don't delay those of
// other nodes.
func TestSilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &keeperNode{docs: map[string]replicationDoc{}}
		cfg := KeeperConfig{Nodes: []ReplicationNode{{URL: "http://a"}, {URL: "http://b"}}}
		for n := range 20 {
			cfg.Jobs = append(cfg.Jobs, ReplicationJob{fmt.Sprint("d", n), 0, 1})
		}
		last := len(cfg.Jobs)
		cfg.Jobs = append(cfg.Jobs, ReplicationJob{"d", 1, 0})
		cfg.Do = func(ctx context.Context, node int, method, path string, body []byte) (int, []byte, error) {
			if node == 1 {
				time.Sleep(10 * time.Second)
				return 0, nil, errors.New("silent")
			}
			return c.do(ctx, node, method, path, body)
		}
		k := NewKeeper(cfg)
		stop := runKeeper(t, k)
		passKeeper(time.Second)
		if s := k.States()[last]; s.Kind != DocumentReplication {
			t.Errorf("got the state %+v", s)
		}
		c.change(func() { clear(c.docs) }, nil)
		passKeeper(11 * time.Second)
		if s := k.States()[last]; s.Restarts != 1 {
			t.Errorf("got the state %+v", s)
		}
		stop()
	})
}
