package cli

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"testing"
)

// probe connects, sends data, and returns the status of an HTTP answer, 1 for a DAX answer, or
// 0 for no answer.
func probe(t *testing.T, to net.Addr, send string) int {
	t.Helper()
	nc, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if _, err := io.WriteString(nc, send); err != nil {
		return 0
	}
	in := bufio.NewReader(nc)
	if send[0] != 'G' {
		if _, err := in.ReadByte(); err != nil {
			return 0
		}
		return 1
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
}

// TestConnectionsPerClient checks that one client may have a quarter of each listener's
// connections, unless the file has another setting.
func TestConnectionsPerClient(t *testing.T) {
	dir := t.TempDir()
	node := func(service, dax, admin string) string {
		return "admin: {listen: \"127.0.0.1:0\"" + admin + "}\nservices:\n  orders: {type: dynamodb, listen: \"127.0.0.1:0\", origin: \"%s\", region: local, auth: {mode: none}, " +
			"limits: {connections: 80" + service + "}, dax: {listen: \"127.0.0.1:0\", lists: \"" + dir + "\", limits: {connections: 80" + dax + "}}}\n"
	}
	greeting, err := hex.DecodeString(daxHello + daxEndpoints)
	if err != nil {
		t.Fatal(err)
	}
	const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	f := func(name string, to net.Addr, send string, n, beyond int) {
		t.Helper()
		for i := range n {
			if got := probe(t, to, send); got == beyond {
				t.Fatalf("%s: connection %d of %d: got %d", name, i+1, n, got)
			}
		}
		if got := probe(t, to, send); got != beyond {
			t.Errorf("%s: connection %d: got %d, want %d", name, n+1, got, beyond)
		}
	}
	r := run(t, node("", "", ""))
	f("service", r.ServiceAddr("orders"), request, 20, 503)
	f("dax", r.DAXAddr("orders"), string(greeting), 20, 0)
	f("admin", r.AdminAddr(), request, 16, 503)

	r.mustReload(node(", connections_per_client: 22", ", connections_per_client: 22", ", limits: {connections_per_client: 18}"))
	f("service, raised", r.ServiceAddr("orders"), request, 2, 503)
	f("dax, raised", r.DAXAddr("orders"), string(greeting), 2, 0)
	f("admin, raised", r.AdminAddr(), request, 2, 503)

	r.mustReload(node(", connections_per_client: 80", ", connections_per_client: 80", ", limits: {connections_per_client: 20, connections: 20}"))
	f("service, up to all", r.ServiceAddr("orders"), request, 80-22, 503)
	f("dax, up to all", r.DAXAddr("orders"), string(greeting), 80-22, 0)
	f("admin, up to all", r.AdminAddr(), request, 2, 503)
}

// TestUnauthenticatedIdle checks that every listener uses the configured timeout.
func TestUnauthenticatedIdle(t *testing.T) {
	const limits = `limits: {unauthenticated_idle: 20ms}`
	r := run(t, `
admin: {listen: "127.0.0.1:0", `+limits+`}
services:
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "%s", region: local, auth: {mode: none}, `+limits+`, dax: {listen: "127.0.0.1:0", lists: "`+t.TempDir()+`", `+limits+`}}
`)
	greeting, err := hex.DecodeString(daxHello)
	if err != nil {
		t.Fatal(err)
	}
	for send, to := range map[string]net.Addr{"": r.ServiceAddr("orders"), string(greeting): r.DAXAddr("orders")} {
		ends(t, to, send)
	}
	ends(t, r.AdminAddr(), "")
}

// ends connects, sends data, and checks that the connection is closed without an answer.
func ends(t *testing.T, to net.Addr, send string) {
	t.Helper()
	nc, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, send); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(nc); err != nil || len(b) > 0 {
		t.Errorf("got %q, %v, want the end of the connection", b, err)
	}
}
