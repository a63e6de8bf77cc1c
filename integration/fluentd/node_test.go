package fluentd

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// node is a Node.js process with the receiver of @fluent-org/logger.
type node struct {
	address string
	lines   *bufio.Scanner
	t       *testing.T
}

// nodeOptions are the options of its FluentServer.
type nodeOptions struct {
	Security   *nodeSecurity `json:"security,omitempty"`
	TLSOptions *nodeTLS      `json:"tlsOptions,omitempty"`
}

type nodeSecurity struct {
	ServerHostname string            `json:"serverHostname"`
	SharedKey      string            `json:"sharedKey"`
	Authorize      bool              `json:"authorize"`
	UserDict       map[string]string `json:"userDict"`
}

type nodeTLS struct {
	Key                string `json:"key"`
	Cert               string `json:"cert"`
	CA                 string `json:"ca,omitempty"`
	RequestCert        bool   `json:"requestCert"`
	RejectUnauthorized bool   `json:"rejectUnauthorized"`
}

// startNode starts the process. It ends with its standard input, at the latest at the end of the
// test.
func startNode(t *testing.T, o nodeOptions) *node {
	t.Helper()
	arg, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(harness.Root(), "integration", "fluentd", "js", "server.js"), string(arg))
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(harness.Tools(), "node-fluentd", "node_modules"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (is it installed? make tools)", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v\n%s", err, &errs)
		}
	})
	n := &node{lines: bufio.NewScanner(out), t: t}
	port, err := strconv.Atoi(n.line())
	if err != nil {
		t.Fatalf("node printed no port (is it installed? make tools)")
	}
	n.address = "127.0.0.1:" + strconv.Itoa(port)
	return n
}

// line returns the next line of output, "" at its end.
func (n *node) line() string {
	n.lines.Scan()
	return n.lines.Text()
}

// event returns the next received event.
func (n *node) event() (tag string, at time.Time, record map[string]any) {
	n.t.Helper()
	var seconds, nanoseconds int64
	if err := json.Unmarshal([]byte(n.line()), &[]any{&tag, &seconds, &nanoseconds, &record}); err != nil {
		n.t.Fatal(err)
	}
	return tag, time.Unix(seconds, nanoseconds), record
}

// Another implementation's receiver reads every supported mode, with the handshake and over
// TLS with certificates on both sides.
func TestNodeModes(t *testing.T) {
	at := time.Unix(1700000000, 123456789)
	f := func(n *node, secure bool, want time.Time, opts ...fluent.Option) {
		t.Helper()
		server := n.address
		if secure {
			server = "tls://" + server
		}
		l := logger(t, server, opts...)
		for i := range 3 {
			if err := l.PostWithTime("app.access", at, map[string]any{"n": i, "deep": map[string]any{"list": []int{1, 2}}}); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, l)
		for i := range 3 {
			tag, at, record := n.event()
			wantRecord := map[string]any{"n": float64(i), "deep": map[string]any{"list": []any{1.0, 2.0}}}
			if tag != "app.access" || !at.Equal(want) || !reflect.DeepEqual(record, wantRecord) {
				t.Errorf("event %q, %v, %v", tag, at, record)
			}
		}
	}
	modes := func(n *node, secure bool, opts ...fluent.Option) {
		t.Helper()
		f(n, secure, at, opts...)
		f(n, secure, at, append(opts, fluent.WithCompression(fluent.Gzip))...)
		f(n, secure, at, append(opts, fluent.WithMode(fluent.Message))...)
		f(n, secure, at.Truncate(time.Second), append(opts, fluent.WithSeconds())...)
		f(n, secure, at, append(opts, fluent.WithAck(false))...)
	}
	modes(startNode(t, nodeOptions{}), false)

	keyed := &nodeSecurity{ServerHostname: "server.test", SharedKey: "key"}
	modes(startNode(t, nodeOptions{Security: keyed}), false, fluent.WithSharedKey("key"), fluent.WithHostname("client.test"))
	users := &nodeSecurity{ServerHostname: "server.test", SharedKey: "key", Authorize: true, UserDict: map[string]string{"user": "pass"}}
	modes(startNode(t, nodeOptions{Security: users}), false,
		fluent.WithSharedKey("key"), fluent.WithHostname("client.test"), fluent.WithUser("user", "pass"))

	serverCert, serverKey := certs.SelfSigned(t, 1)
	clientCert, clientKey := certs.SelfSigned(t, 2)
	mutual := &nodeTLS{Key: string(serverKey), Cert: string(serverCert), CA: string(clientCert), RequestCert: true, RejectUnauthorized: true}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(serverCert)
	pair, err := tls.X509KeyPair(clientCert, clientKey)
	if err != nil {
		t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	modes(startNode(t, nodeOptions{Security: users, TLSOptions: mutual}), true,
		fluent.WithTLS(config), fluent.WithSharedKey("key"), fluent.WithHostname("client.test"), fluent.WithUser("user", "pass"))
}

// A refusal by that receiver is reported with its reason.
func TestNodeRefuses(t *testing.T) {
	users := &nodeSecurity{ServerHostname: "server.test", SharedKey: "key", Authorize: true, UserDict: map[string]string{"user": "pass"}}
	n := startNode(t, nodeOptions{Security: users})
	f := func(want string, opts ...fluent.Option) {
		t.Helper()
		l := logger(t, n.address, append(opts, fluent.WithHostname("client.test"), fluent.WithCloseTimeout(0))...)
		events := l.Subscribe()
		if err := l.Post("t", map[string]any{"n": 1}); err != nil {
			t.Fatal(err)
		}
		e := <-events
		if e.Kind != fluent.Fail || !strings.Contains(e.String(), want) {
			t.Errorf("event %v; want %v", e, want)
		}
	}
	f(fluent.ErrKeyRequired.Error())
	f(`refused: "shared key mismatch"`, fluent.WithSharedKey("wrong"))
	f(`refused: "missing authentication information"`, fluent.WithSharedKey("key"))
	f(`refused: "username/password mismatch"`, fluent.WithSharedKey("key"), fluent.WithUser("user", "wrong"))
}
