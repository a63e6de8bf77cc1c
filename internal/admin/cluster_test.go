package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeCluster is a cluster whose status is set by the test.
type fakeCluster struct {
	status    ClusterStatus
	evicted   []string
	fail      error
	unreached error // Unreached returns true for it
}

func (f *fakeCluster) Status() ClusterStatus { return f.status }

func (f *fakeCluster) Evict(_ context.Context, node string) error {
	if f.fail != nil {
		return f.fail
	}
	f.evicted = append(f.evicted, node)
	return nil
}

// Warm takes over as many answers as the limit allows, one by one.
func (f *fakeCluster) Warm(_ context.Context, r *WarmRequest, progress func(WarmProgress)) error {
	if r.Peer != "b" {
		return fmt.Errorf("%w: there is no other member %s", ErrInput, r.Peer)
	}
	for i := range r.Keys {
		progress(WarmProgress{Filled: uint64(i + 1), Present: 2, Bytes: 10 * uint64(i+1), Part: float64(i+1) / float64(r.Keys)})
	}
	if r.Keys == 13 {
		return errors.New("b does not reply")
	}
	return nil
}

func (f *fakeCluster) Unreached(err error) bool {
	return f.unreached != nil && errors.Is(err, f.unreached)
}

func exampleCluster() *fakeCluster {
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	return &fakeCluster{status: ClusterStatus{
		Name: "shop", Node: "a", Instance: "00000000000000a1", Epoch: 7, Rev: 12, State: NodeServing, LeaseMS: 1234,
		Members: []ClusterMember{
			{Node: "a", Address: "10.0.0.1:7400", Zone: "eu-west-1a", State: NodeServing, Self: true, Instance: "00000000000000a1", Joined: start},
			{Node: "b", Address: "10.0.0.2:7400", Zone: "eu-west-1b", State: NodeSuspended, Instance: "00000000000000b1", AckMS: 0.417, SilentMS: 812, Joined: start.Add(time.Minute)},
			{Node: "c", Address: "10.0.0.3:7400", State: NodeJoining, Instance: "00000000000000c1"},
		},
		Away: []AwayNode{{Node: "d", Since: start.Add(time.Hour), Reason: "stopped"}},
	}}
}

func TestClusterRoutes(t *testing.T) {
	o, _ := example()
	base := start(t, o, "")
	f := func(method, path, body string, status int, want string) string {
		t.Helper()
		got, text := send(t, method, base+path, body, nil)
		if got != status || !strings.Contains(text, want) {
			t.Fatalf("%s %s: %d %s; want %d with %s", method, path, got, text, status, want)
		}
		return text
	}
	const explain = `{"service":"orders","headers":{"X-Amz-Target":"T"},"body":{}}`
	const none = "this Kasoku is in no cluster: its configuration has no section cluster"
	f("GET", "/api/v1/cluster", "", 404, none)
	f("POST", "/api/v1/cluster/evict", `{"node":"b"}`, 404, none)
	if text := f("POST", "/api/v1/explain", explain, 200, `"what": "body"`); strings.Contains(text, `"node"`) {
		t.Errorf("the explanation names a node without a cluster: %s", text)
	}
	if text := f("GET", "/api/v1/report?format=json", "", 200, ""); strings.Contains(text, `"cluster"`) {
		t.Errorf("the report has a cluster: %s", text)
	}
	if text := f("POST", "/api/v1/purge", `{"service":"orders","table":"t"}`, 200, ""); strings.Contains(text, "nodes") {
		t.Errorf("the purge was on nodes: %s", text)
	}

	c := exampleCluster()
	o.Cluster = c
	text := f("GET", "/api/v1/cluster", "", 200, `"lease_ms": 1234`)
	var got ClusterStatus
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, c.status) {
		t.Errorf("got %v, %v\nwant %v", got, err, c.status)
	}
	f("POST", "/api/v1/cluster", "{}", 405, "takes GET")
	f("GET", "/api/v1/cluster/evict", "", 405, "takes POST")
	f("POST", "/api/v1/cluster/evict", `{"node":"b"}`, 200, `"evicted": "b"`)
	f("POST", "/api/v1/cluster/evict", `{"node":""}`, 400, "give the name of a node")
	f("POST", "/api/v1/cluster/evict", `{}`, 400, "give the name of a node")
	f("POST", "/api/v1/cluster/evict", `{"name":"b"}`, 400, "unknown field")
	c.fail = fmt.Errorf("%w: there is no other member x", ErrInput)
	f("POST", "/api/v1/cluster/evict", `{"node":"x"}`, 400, "no other member x")
	c.fail = errors.New("the origin does not answer")
	f("POST", "/api/v1/cluster/evict", `{"node":"b"}`, 500, "does not answer")
	if want := []string{"b"}; !slices.Equal(c.evicted, want) {
		t.Errorf("evicted %q, want %q", c.evicted, want)
	}

	f("GET", "/api/v1/report?format=json", "", 200, `"instance": "00000000000000a1"`)

	var e Explanation
	if err := json.Unmarshal([]byte(f("POST", "/api/v1/explain", explain, 200, "")), &e); err != nil {
		t.Fatal(err)
	}
	if want := (Step{"node", "a", "serving in cluster shop"}); len(e.Steps) != 2 || e.Steps[0] != want || e.Steps[1].What != "body" {
		t.Errorf("the steps are %v; want %v first", e.Steps, want)
	}
	c.status.State = NodeIsolated
	f("POST", "/api/v1/explain", explain, 200, "isolated in cluster shop; without a lease reads are forwarded")

	c.status.Members, c.status.Away = nil, nil
	f("GET", "/api/v1/cluster", "", 200, `"members": [],`)
	f("GET", "/api/v1/cluster", "", 200, `"away": []`)
}

// TestWitnessReadiness checks a node without services.
func TestWitnessReadiness(t *testing.T) {
	for obstacle, want := range map[string]string{
		"":          "ready\nnode w of cluster shop: witness",
		"no leader": "not ready\nnode w of cluster shop: witness without a current copy of the list of members: no leader",
	} {
		c := &fakeCluster{status: ClusterStatus{Name: "shop", Node: "w", State: NodeWitness, Obstacle: obstacle}}
		lines, status := readiness(&Overview{Cluster: c})
		if text := strings.Join(lines, "\n"); text != want || (status == 200) != (obstacle == "") {
			t.Errorf("got %d\n%s\nwant\n%s", status, text, want)
		}
		var b strings.Builder
		c.status.WriteTable(&b, time.Now())
		if text := b.String(); strings.Contains(text, "it has no current copy of the list of members: no leader") != (obstacle != "") {
			t.Errorf("got the table\n%s", text)
		}
	}
	lines, status := readiness(&Overview{})
	if status != 503 || lines[0] != "not ready" {
		t.Errorf("without services and a cluster: got %d %q", status, lines)
	}
}

func TestClusterReadiness(t *testing.T) {
	for state, want := range map[NodeState]string{
		NodeServing:   "ready\nnode a of cluster shop: serving\n",
		NodeSuspended: "ready\nnode a of cluster shop: suspended\n",
		NodeJoining:   "not ready\nnode a of cluster shop: joining the cluster\n",
		NodeIsolated:  "not ready\nnode a of cluster shop: isolated: it has no proof that it is a member\n",
		NodeLeaving:   "not ready\nnode a of cluster shop: leaving the cluster\n",
		"":            "not ready\nnode a of cluster shop: in the unknown state \"\"\n",
	} {
		o, _ := example()
		c := exampleCluster()
		c.status.State = state
		o.Cluster = c
		want += "orders: ready\nusers: the origin's breaker is open"
		status := 200
		if strings.HasPrefix(want, "not") {
			status = 503
		}
		lines, got := readiness(o)
		if text := strings.Join(lines, "\n"); got != status || text != want {
			t.Errorf("%s: got %d\n%s\nwant %d\n%s", state, got, text, status, want)
		}
	}
}

func TestClusterReport(t *testing.T) {
	for name, change := range map[string]func(*ClusterStatus){
		"report_cluster.txt": func(*ClusterStatus) {},
		"report_warming.txt": func(st *ClusterStatus) {
			st.Warming = &Warming{From: []string{"b", "c"}, Stored: 1200, Bytes: 345_678}
		},
		"report_isolated.txt": func(st *ClusterStatus) {
			st.State, st.LeaseMS, st.Away = NodeIsolated, 0, nil
			st.Members[1].AckMS, st.Members[1].SilentMS = 12.6, 65_000
		},
	} {
		file := "testdata/" + name
		o, _ := example()
		o.Services = nil
		c := exampleCluster()
		change(&c.status)
		o.Cluster = c
		got := string(o.Text())
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got the page\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestPurgeInCluster purges a service of a node whose cluster reaches all members, or not.
func TestPurgeInCluster(t *testing.T) {
	unreached := errors.New("b does not answer")
	for name, c := range map[string]struct {
		change func(c *fakeCluster, orders *fake)
		status int
		want   string
	}{
		"complete": {func(*fakeCluster, *fake) {}, 200, `{"dropped":"everything of table t","tags":1,"nodes":["a","b","c"],"away":["d","e"]}`},
		"alone": {func(c *fakeCluster, _ *fake) { c.status.Members, c.status.Away = c.status.Members[2:], nil }, 200,
			`{"dropped":"everything of table t","tags":1,"nodes":["a"]}`},
		"unreached": {func(c *fakeCluster, orders *fake) {
			c.unreached, orders.fail = unreached, fmt.Errorf("purge: %w", unreached)
		}, 503,
			`{"error":"only node a has certainly dropped the selection, others may not have: purge: b does not answer; repeat the purge, at another node if this one is not ready"}`},
		"isolated": {func(c *fakeCluster, _ *fake) { c.status.State = NodeIsolated }, 503,
			`{"error":"only node a has certainly dropped the selection, others may not have: the node was isolated: it has no proof that it is a member; repeat the purge, at another node if this one is not ready"}`},
		"another error": {func(c *fakeCluster, orders *fake) { c.unreached, orders.fail = unreached, errors.New("broken") }, 500, `{"error":"broken"}`},
		"bad request":   {func(_ *fakeCluster, orders *fake) { orders.fail = fmt.Errorf("no key: %w", ErrInput) }, 400, `{"error":"no key: bad request"}`},
	} {
		t.Run(name, func(t *testing.T) {
			o, orders := example()
			cl := exampleCluster()
			cl.status.Members[0], cl.status.Members[2] = cl.status.Members[2], cl.status.Members[0]
			cl.status.Away = append([]AwayNode{{Node: "e"}, {Node: "e"}}, cl.status.Away...)
			c.change(cl, orders)
			o.Cluster = cl
			status, text := send(t, "POST", start(t, o, "")+"/api/v1/purge", `{"service":"orders","table":"t"}`, nil)
			var got bytes.Buffer
			if err := json.Compact(&got, []byte(text)); err != nil || status != c.status || got.String() != c.want {
				t.Errorf("%d %s, %v\nwant %d %s", status, &got, err, c.status, c.want)
			}
		})
	}
}
