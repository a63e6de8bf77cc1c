package harness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Options configure a node.
type Options struct {
	// Type is the service's type: "http", "couchdb", "memcached", "" for dynamodb, or "none" for
	// a node without a service.
	Type string
	// Origin is the URL of the origin. For types http and couchdb it can be several URLs
	// separated by commas, for type memcached likewise the servers.
	Origin string
	// DAX also enables the DAX protocol.
	DAX bool
	// Service holds additional lines of the service's section, for example "item_ttl: 5m";
	// those of a nested map are indented by two spaces.
	Service []string
	// Services holds additional lines of the section services, for services besides "db".
	Services []string
	// Admin holds additional lines of the section admin.
	Admin []string
	// Top holds additional top-level lines.
	Top []string
	// Env holds additional environment variables, as NAME=VALUE.
	Env []string
	// Tags are the build tags of the binary.
	Tags string
	// Unready lets Start and Restart return before the node is ready, for nodes that need others.
	Unready bool
	// Plain builds the binary without the race detector, for tests that measure.
	Plain bool
}

// Node is a running kasoku process with one service, named "db".
type Node struct {
	URL, Admin string
	DAX        string // the URL for DAX clients

	options Options
	binary  string
	config  string
	log     string
	proc    *process
}

// Start starts a node, waits until it is ready, and stops it when the test ends. If the test
// has failed by then, it prints the node's log.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	build := Binary
	if o.Plain {
		build = PlainBinary
	}
	binary, err := build(o.Tags)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{options: o, binary: binary}
	if err := n.configure(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	n.run(t)
	t.Cleanup(func() {
		if err := n.end(); err != nil {
			t.Errorf("kasoku: %v", err)
		}
		if t.Failed() {
			t.Logf("kasoku's log:\n%s", n.tail())
		}
	})
	return n
}

func (n *Node) configure(dir string) error {
	ports, err := stablePorts(3)
	if err != nil {
		return err
	}
	service, admin := ports[0], ports[1]
	n.URL, n.Admin = "http://"+service, "http://"+admin
	n.config, n.log = filepath.Join(dir, "kasoku.yaml"), filepath.Join(dir, "kasoku.log")
	lines := []string{
		"admin:", "  listen: " + admin,
	}
	for _, l := range n.options.Admin {
		lines = append(lines, "  "+l)
	}
	lines = append(lines, "access_log: {to: none}")
	lines = append(lines, n.options.Top...)
	if n.options.Type != "none" {
		lines = append(lines, "services:", "  db:", "    listen: "+service)
	}
	switch n.options.Type {
	case "none":
	case "http":
		lines = append(lines, "    type: http", "    origins: ["+n.options.Origin+"]")
	case "memcached":
		lines = append(lines, "    type: memcached", "    servers: ["+n.options.Origin+"]")
	case "couchdb":
		lines = append(lines, "    type: couchdb", "    nodes: ["+n.options.Origin+"]")
	default:
		lines = append(lines, "    type: dynamodb", "    origin: "+n.options.Origin, "    region: us-east-1")
	}
	if n.options.DAX {
		n.DAX = "dax://" + ports[2]
		lines = append(lines, "    dax: {listen: "+ports[2]+"}")
	}
	for _, l := range n.options.Service {
		lines = append(lines, "    "+l)
	}
	for _, l := range n.options.Services {
		lines = append(lines, "  "+l)
	}
	return os.WriteFile(n.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// race makes the first data race end the process, and reduces the delay of a normal exit
// from one second to 50 ms.
const race = "GORACE=halt_on_error=1 atexit_sleep_ms=50"

// run starts the process and waits until it is ready.
func (n *Node) run(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(n.binary, "serve", "-c", n.config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=origin", "AWS_SECRET_ACCESS_KEY=origin",
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", race)
	cmd.Env = append(cmd.Env, n.options.Env...)
	if n.proc, err = start(cmd); err != nil {
		t.Fatal(err)
	}
	if n.options.Unready {
		return
	}
	if err := awaitUp(n.proc.ended, answers(n.Admin+"/readyz", func(status int) bool { return status == http.StatusOK })); err != nil {
		n.proc.kill()
		t.Fatalf("kasoku: %v; its log:\n%s", err, n.tail())
	}
}

// Config returns the path of the node's kasoku.yaml.
func (n *Node) Config() string { return n.config }

// Process returns the ID of the node's process.
func (n *Node) Process() int { return n.proc.cmd.Process.Pid }

// Kill ends the process at once, like kill -9.
func (n *Node) Kill() { n.proc.kill() }

// Terminate sends SIGTERM and waits for the process, which must exit normally.
func (n *Node) Terminate(t testing.TB) {
	t.Helper()
	if err := n.proc.terminate(); err != nil {
		t.Fatalf("kasoku, after SIGTERM: %v; its log:\n%s", err, n.tail())
	}
}

// Restart starts the node again, after Kill or Terminate, with the same configuration and
// addresses.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	n.run(t)
}

// end stops the node if it is still running. After a data race the process exits with a
// special status, which fails the test.
func (n *Node) end() error {
	select {
	case <-n.proc.ended:
		var exit *exec.ExitError
		if errors.As(n.proc.err, &exit) && exit.ExitCode() >= 0 {
			return fmt.Errorf("ended by itself: %w", n.proc.err)
		}
		return nil
	default:
		return n.proc.stop()
	}
}

// Logged returns the number of lines of the log that contain text.
func (n *Node) Logged(t testing.TB, text string) (lines int) {
	t.Helper()
	log, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, text) {
			lines++
		}
	}
	return lines
}

// tail returns the end of the log.
func (n *Node) tail() string {
	const maxBytes = 16 << 10
	log, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-maxBytes):])
}

// Ended returns a channel that is closed when the process has ended.
func (n *Node) Ended() <-chan struct{} { return n.proc.ended }

var adminClient = &http.Client{Timeout: 10 * time.Second}

// Metrics returns the text of /metrics.
func (n *Node) Metrics() (string, error) {
	resp, err := adminClient.Get(n.Admin + "/metrics")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
