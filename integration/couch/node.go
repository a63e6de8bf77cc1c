// Package couch runs nodes that behave like Apache CouchDB 3, for tests of proxies in front
// of them. A node consists of npm's pouchdb-server and of the files in js/, which describe
// where they are closer to CouchDB. docs/development.md lists the remaining differences.
package couch

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// Node is one node, listening on loopback.
type Node struct {
	// URL is its address, without a trailing slash. It remains the same through restarts.
	URL string

	addr        string
	data        string // a directory, or "memory"
	maintenance string // a file that exists while the node is in maintenance
	log         string
	program     *harness.Program
}

// Memory starts a node that loses everything when it is killed: after a restart it is
// another node at the same address.
func Memory(t testing.TB) *Node {
	t.Helper()
	return launch(t, "memory")
}

// Disk starts a node whose databases survive Kill and Restart.
func Disk(t testing.TB) *Node {
	t.Helper()
	return launch(t, filepath.Join(t.TempDir(), "data"))
}

func launch(t testing.TB, data string) *Node {
	t.Helper()
	dir := t.TempDir()
	n := &Node{data: data, maintenance: filepath.Join(dir, "maintenance"), log: filepath.Join(dir, "log")}
	err := n.listen(harness.StablePort)
	if err != nil {
		t.Fatalf("couch node: %v; its log:\n%s", err, n.Log())
	}
	t.Cleanup(func() {
		n.program.Kill()
		if t.Failed() {
			t.Logf("log of the couch node at %s:\n%s", n.URL, n.Log())
		}
	})
	return n
}

// attempts is the maximum number of ports that are tried.
const attempts = 20

// listen starts the program at an address from next, until one has a free port.
func (n *Node) listen(next func() (string, error)) error {
	for range attempts {
		addr, err := next()
		if err != nil {
			return err
		}
		if err = n.start(addr); err == nil {
			return nil
		}
		if !strings.Contains(n.Log(), "EADDRINUSE") {
			return err
		}
	}
	return errors.New("every port was taken")
}

func (n *Node) start(addr string) error {
	n.addr, n.URL = addr, "http://"+addr
	log, err := os.Create(n.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("node", "--no-deprecation", filepath.Join(harness.Root(), "integration", "couch", "js", "node.js"),
		n.port(), n.data, n.maintenance)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(harness.Tools(), "couch", "node_modules"))
	cmd.Stdout, cmd.Stderr = log, log
	n.program, err = harness.Run(cmd, n.URL+"/_all_dbs", func(status int) bool { return status == http.StatusOK })
	return err
}

func (n *Node) port() string { return n.addr[strings.LastIndexByte(n.addr, ':')+1:] }

// Kill kills the node, like kill -9, and returns when it has ended.
func (n *Node) Kill() { n.program.Kill() }

// Restart starts the node again after Kill, at the same address.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	if err := n.listen(func() (string, error) { return n.addr, nil }); err != nil {
		t.Fatalf("restart of the couch node: %v; its log:\n%s", err, n.Log())
	}
}

// Maintain sets whether the node is in maintenance: _up answers 404, and all other requests
// work.
func (n *Node) Maintain(t testing.TB, on bool) {
	t.Helper()
	err := os.Remove(n.maintenance)
	if on {
		err = os.WriteFile(n.maintenance, nil, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// Log returns the node's output.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Answer is a node's complete answer.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request with a JSON body, or none if body is empty, and further header fields
// as pairs of name and value.
func (n *Node) Do(t testing.TB, method, path, body string, header ...string) Answer {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, content)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v after %q", method, path, err, text)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

// Must is Do, and fails the test if the status is not 2xx.
func (n *Node) Must(t testing.TB, method, path, body string, header ...string) Answer {
	t.Helper()
	a := n.Do(t, method, path, body, header...)
	if a.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	return a
}
