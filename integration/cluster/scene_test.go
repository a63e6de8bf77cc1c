//go:build unix

// Package cluster runs several Kasokus as one cluster before one origin, through proxies that
// fail on command, and checks what clients get while nodes die, hang and are cut off.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/history"
)

// origin is the name of the origin in the network of a scene.
const origin = "origin"

// late is the longest that a test holds back what was sent to the origin. Nodes must be
// configured to quarantine for longer.
const late = 3 * time.Second

// scene is a cluster before an origin. All routes lead through its network.
type scene struct {
	t     *testing.T
	net   *fault.Network
	nodes []*node
}

type node struct {
	*harness.Node
	name string
}

// store starts a process with an embedded store as the origin of a cluster.
func store(t *testing.T) string {
	return harness.Start(t, harness.Options{
		Origin:  "embedded:./data",
		Service: []string{"auth: {mode: none}", "item_ttl: 0s", "query_ttl: 0s", "negative_ttl: 0s"},
	}).URL
}

// start starts a cluster of count nodes before the origin at url, one after the other.
func start(t *testing.T, url string, count int, change ...func(*harness.Options)) *scene {
	t.Helper()
	s := &scene{t: t, net: fault.NewNetwork()}
	ports := make([]string, count)
	advertised := make([]string, count)
	for i := range count {
		port, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = port
		advertised[i] = s.net.Proxy(t, name(i), port, fault.NATSRoute)
	}
	// The nodes must agree on the address of the origin.
	url = "http://" + s.net.Proxy(t, origin, strings.TrimPrefix(url, "http://"), fault.AccessKey)
	for i := range count {
		n := &node{name: name(i)}
		o := harness.Options{
			Origin: url,
			DAX:    true,
			Env:    []string{"AWS_ACCESS_KEY_ID=" + n.name},
			Top: []string{"cluster:", "  name: test", "  node: " + n.name, "  listen: " + ports[i],
				"  advertise: " + advertised[i], "  join: [" + strings.Join(advertised, ", ") + "]"},
			Service: []string{"auth: {mode: none}", "item_ttl: 5m", "query_ttl: 5m", "negative_ttl: 5m",
				"settle: 200ms", "quarantine: 4s", "origin_timeout: 2s", "limits: {request_timeout: 10s}"},
		}
		for _, f := range change {
			f(&o)
		}
		n.Node = harness.Start(t, o)
		s.nodes = append(s.nodes, n)
	}
	// The nodes begin to stop together, and don't wait for clients to move to others.
	t.Cleanup(func() {
		for _, n := range s.nodes {
			n.signal(syscall.SIGCONT)
			n.signal(syscall.SIGINT)
		}
	})
	harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
	return s
}

// name returns the name of a node: a, b, c.
func name(i int) string { return string(rune('a' + i)) }

// signal sends a signal to the process, unless it has ended. After SIGSTOP it has stopped.
func (n *node) signal(s syscall.Signal) {
	select {
	case <-n.Ended():
		return
	default:
	}
	if err := syscall.Kill(n.Process(), s); err == nil && s == syscall.SIGSTOP {
		n.awaitStopped()
	}
}

// awaitStopped waits until all threads of a process that got SIGSTOP have stopped. Until one of
// them has run again, which takes long on a busy machine, the others continue. On systems without
// /proc it returns at once.
func (n *node) awaitStopped() {
	threads := fmt.Sprintf("/proc/%d/task/*/stat", n.Process())
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(5 * time.Second); ; {
		files, _ := filepath.Glob(threads)
		if !slices.ContainsFunc(files, runs) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			return
		}
	}
}

// runs reports whether the thread with this file of its state is not stopped.
func runs(stat string) bool {
	text, err := os.ReadFile(stat)
	if err != nil {
		return false // it has ended
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "T")
}

var admin = &http.Client{Timeout: 2 * time.Second}

// ready reports whether a balancer would use the node.
func (n *node) ready() bool {
	resp, err := admin.Get(n.Admin + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// whole reports whether all nodes are members and serve, in the view of each of them.
func (s *scene) whole() bool {
	for _, n := range s.nodes {
		serving := 0
		for _, state := range n.members() {
			if state == "serving" {
				serving++
			}
		}
		if serving != len(s.nodes) || !n.ready() {
			return false
		}
	}
	return true
}

// members returns the states of the members by node, as n has them.
func (n *node) members() map[string]string {
	resp, err := admin.Get(n.Admin + "/api/v1/cluster")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var status struct {
		Members []struct{ Node, State string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return nil
	}
	states := map[string]string{}
	for _, m := range status.Members {
		states[m.Node] = m.State
	}
	return states
}

// targets returns the nodes as clients use them.
func (s *scene) targets() []history.Node {
	var all []history.Node
	for _, n := range s.nodes {
		all = append(all, history.Node{URL: n.URL, DAX: n.DAX})
	}
	return all
}

// others returns the names of all nodes except n.
func (s *scene) others(n *node) (names []string) {
	for _, o := range s.nodes {
		if o != n {
			names = append(names, o.name)
		}
	}
	return names
}

// The requests of scenarios. Their client doesn't retry.

var client = &http.Client{Timeout: 15 * time.Second}

// errConnection is the error of a request without an answer.
var errConnection = errors.New("no answer")

// createTable creates the table of a scenario.
func (s *scene) createTable() {
	s.t.Helper()
	if _, _, err := s.nodes[0].send("CreateTable", `{"TableName":"items","BillingMode":"PAY_PER_REQUEST",
"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}`); err != nil {
		s.t.Fatal(err)
	}
}

// send sends a request and returns the body of the answer. hit reports whether it was cached.
func (n *node) send(operation, body string) (text string, hit bool, err error) {
	req, err := http.NewRequest(http.MethodPost, n.URL, strings.NewReader(body))
	if err != nil {
		return "", false, err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	resp, err := client.Do(req)
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", errConnection, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s through %s: %s: %s", operation, n.name, resp.Status, answer)
	}
	return string(answer), strings.Contains(resp.Header.Get("Cache-Status"), "; hit"), err
}
