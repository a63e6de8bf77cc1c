package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// daxOrders returns a service with a listener for DAX clients; more is added to its mapping.
func daxOrders(dir, more string) string {
	return fmt.Sprintf(`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "%%s", region: local, auth: {mode: none}, `+
		`dax: {listen: "127.0.0.1:0", lists: %q%s}}`+"\n", filepath.Join(dir, "lists"), more)
}

// daxClient is a connection after the client's greeting.
type daxClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// A client's greeting, and its request for the list of nodes.
const (
	daxHello     = "674a37796e65354700" + "4101" + "a169557365724167656e746474657374" + "00"
	daxEndpoints = "011a1b2bcf02"
)

// hello sends the greeting over a new connection.
func hello(t *testing.T, conn net.Conn, err error) *daxClient {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &daxClient{t, conn, bufio.NewReader(conn)}
	c.send(daxHello)
	return c
}

// dax connects to a service as a DAX client does.
func (r *running) dax(service string) *daxClient {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.DAXAddr(service).String())
	return hello(r.t, conn, err)
}

// send sends bytes given in hexadecimal.
func (c *daxClient) send(text string) {
	c.t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the two values of an answer without an error.
func (c *daxClient) answer() (b []byte) {
	c.t.Helper()
	var scan cbor.Scanner
	scan.Begin(2)
	for {
		if _, whole, err := scan.Scan(b); err != nil {
			c.t.Fatal(err)
		} else if whole {
			return b
		}
		next, err := c.in.ReadByte()
		if err != nil {
			c.t.Fatalf("%v after %x", err, b)
		}
		b = append(b, next)
	}
}

// nodes requests the nodes and returns their addresses and zones.
func (c *daxClient) nodes() []string {
	c.t.Helper()
	c.send(daxEndpoints)
	b := c.answer()
	r := cbor.NewReader(b)
	if n := r.Array(); n != 0 {
		c.t.Fatalf("invalid list of nodes: %x", b)
	}
	list := []string{}
	for n := r.Array(); r.More(&n); {
		list = append(list, node(&r))
	}
	if err := r.Close(); err != nil {
		c.t.Fatalf("%v in %x", err, b)
	}
	return list
}

// node reads one of the nodes.
func node(r *cbor.Reader) string {
	var ip netip.Addr
	var port uint16
	var zone string
	for n := r.Map(); r.More(&n); {
		switch r.Int() {
		case 2:
			ip, _ = netip.AddrFromSlice(r.Bytes())
		case 3:
			port = uint16(r.Int())
		case 5:
			zone = string(r.Text())
		default:
			r.Skip()
		}
	}
	return netip.AddrPortFrom(ip, port).String() + " " + zone
}

func (c *daxClient) wantNodes(want ...string) {
	c.t.Helper()
	if got := c.nodes(); !slices.Equal(got, want) {
		c.t.Errorf("the nodes are %q; want %q", got, want)
	}
}

// wantEnd waits for the server to close the connection.
func (c *daxClient) wantEnd() {
	c.t.Helper()
	if b, err := io.ReadAll(c.in); len(b) > 0 || err != nil {
		c.t.Errorf("got %x and error %v, want the end of the connection", b, err)
	}
}

func TestDAXListens(t *testing.T) {
	r := run(t, "access_log: {to: stdout}\n"+head+daxOrders(t.TempDir(), ""))
	addr := r.DAXAddr("orders").String()
	c := r.dax("orders")
	c.wantNodes(addr + " kasoku-1a")
	var report admin.ReportJSON
	if err := json.Unmarshal([]byte(r.page("/api/v1/report?format=json")), &report); err != nil {
		t.Fatal(err)
	}
	if d := report.Services[0].DAX; d == nil || *d != (admin.Listener{Address: addr, Accepting: true, Connections: 1}) || !report.Services[0].Ready {
		t.Errorf("the report has %+v", d)
	}
	if page := r.page("/metrics"); !strings.Contains(page, `kasoku_dax_connections_accepted_total{service="orders"} 1`+"\n") {
		t.Error("metrics lack the connection")
	}
	if got := r.get("orders"); !strings.Contains(got, "fwd=miss") {
		t.Errorf("decision over HTTP: %s", got)
	}
	c.conn.Close()
	r.stop()
	if !strings.Contains(r.out.String(), `"service":"orders"`) || !strings.Contains(r.out.String(), `"user_agent":"test"`) {
		t.Errorf("the access log is\n%s", r.out)
	}
}

// A stop of the only node never sends clients an empty list of nodes, and does not wait for
// clients that can't move to another node.
func TestDAXStops(t *testing.T) {
	r := run(t, head+daxOrders(t.TempDir(), ""))
	c := r.dax("orders")
	addr := r.DAXAddr("orders").String()
	c.wantNodes(addr + " kasoku-1a")
	if err := r.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	c.wantEnd()
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the stopped node still answers")
	}
}

// A stop disconnects remaining clients after its timeout.
func TestDAXStopHasATimeout(t *testing.T) {
	r := run(t, head+daxOrders(t.TempDir(), ""))
	c := r.dax("orders")
	c.nodes()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Stop(ctx)
	c.wantEnd()
}

func TestDAXReload(t *testing.T) {
	dir := t.TempDir()
	r := run(t, head+orders)
	if r.DAXAddr("orders") != nil {
		t.Fatal("DAXAddr returned a listener that is not configured")
	}
	r.mustReload(head + daxOrders(dir, ""))
	before := r.DAXAddr("orders").String()
	c := r.dax("orders")
	c.wantNodes(before + " kasoku-1a")

	r.mustReload(head + daxOrders(dir, `, zone: b, advertise: "192.0.2.5:19111"`))
	c.wantNodes("192.0.2.5:19111 b")
	r.mustReload(head + daxOrders(dir, `, zone: b, advertise: ["localhost"], limits: {connections: 1}`))
	c.wantNodes(before + " b")
	second, err := net.Dial("tcp", before)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := second.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("new limits have no effect")
	}

	if err := r.reload(head + strings.Replace(daxOrders(dir, ", zone: c"), `dax: {listen: "127.0.0.1:0`, `dax: {listen: "`+r.AdminAddr().String(), 1)); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("an address in use: got error %v", err)
	}
	if err := r.reload(head + daxOrders(dir, `, advertise: "no-such-name.invalid"`)); err == nil || !strings.Contains(err.Error(), "service orders: dax.advertise: lookup no-such-name.invalid") {
		t.Errorf("an advertised name that does not resolve: got error %v", err)
	}
	c.wantNodes(before + " b")

	r.mustReload(head + strings.Replace(daxOrders(dir, ""), `dax: {listen: "127.0.0.1:0`, `dax: {listen: "localhost:0`, 1))
	after := r.DAXAddr("orders").String()
	if after == before {
		t.Fatal("the listener has not moved")
	}
	c.wantEnd()
	r.retirement.Wait()
	c = r.dax("orders")
	c.wantNodes(after + " kasoku-1a")

	r.mustReload(head + orders)
	c.wantEnd()
	r.retirement.Wait()
	if conn, err := net.Dial("tcp", after); err == nil {
		conn.Close()
		t.Error("the listener still accepts connections")
	}
	if got := r.get("orders"); !strings.Contains(got, "fwd=miss") {
		t.Errorf("decision over HTTP: %s", got)
	}
	if len(r.lists.open) > 0 {
		t.Error("the directory of lists is still open")
	}
}

// Once keys are required, unsigned requests get no information, on older connections too.
func TestDAXRequiresSignatures(t *testing.T) {
	t.Setenv("APP_SECRET", "s")
	dir := t.TempDir()
	r := run(t, head+daxOrders(dir, ""))
	c := r.dax("orders")
	c.nodes()
	r.mustReload(head + strings.Replace(daxOrders(dir, ""), "{mode: none}", "{keys: [{id: A, secret_env: APP_SECRET}]}", 1))
	for _, c := range []*daxClient{c, r.dax("orders")} {
		c.send(daxEndpoints)
		if first, err := c.in.ReadByte(); err != nil || first == 0x80 {
			t.Errorf("the answer begins with %x, %v; want an error", first, err)
		}
	}
	r.mustReload(head + daxOrders(dir, ""))
	r.dax("orders").wantNodes(r.DAXAddr("orders").String() + " kasoku-1a")
	c.conn.Close()
}

func TestDAXListsAreShared(t *testing.T) {
	dir := t.TempDir()
	users := strings.Replace(daxOrders(dir, ""), "orders", "users", 1)
	r := run(t, head+daxOrders(dir, "")+users)
	if len(r.lists.open) != 1 {
		t.Errorf("got %d open directories, want 1", len(r.lists.open))
	}
	r.mustReload(head + daxOrders(dir, ""))
	r.retirement.Wait()
	if len(r.lists.open) != 1 {
		t.Errorf("got %d open directories, want 1", len(r.lists.open))
	}
	r.mustReload(head + daxOrders(t.TempDir(), ""))
	if got := r.configStatus().Pending; !slices.Equal(got, []string{"services.orders.dax.lists"}) {
		t.Errorf("pending: %q", got)
	}
	r.stop()
	if len(r.lists.open) != 0 {
		t.Errorf("got %d open directories after the end, want none", len(r.lists.open))
	}
}

func TestDAXWithTLS(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, serial int64) {
		t.Helper()
		cert, key := certs.SelfSigned(t, serial)
		for ending, data := range map[string][]byte{"-cert.pem": cert, "-key.pem": key} {
			if err := os.WriteFile(filepath.Join(dir, name+ending), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("service", 1)
	write("own", 2)
	files := func(name string) string {
		return fmt.Sprintf("tls: {cert: %[1]s/%[2]s-cert.pem, key: %[1]s/%[2]s-key.pem}", dir, name)
	}
	both := strings.Replace(daxOrders(dir, ""), "auth:", files("service")+", auth:", 1)
	r := run(t, head+both)
	f := func(serial int64) {
		t.Helper()
		conn, err := tls.Dial("tcp", r.DAXAddr("orders").String(), &tls.Config{InsecureSkipVerify: true})
		c := hello(t, conn, err)
		c.wantNodes(r.DAXAddr("orders").String() + " kasoku-1a")
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != serial {
			t.Errorf("got certificate %d, want %d", got, serial)
		}
		conn.Close()
	}
	f(1)
	r.mustReload(head + strings.Replace(daxOrders(dir, ", "+files("own")), "auth:", files("service")+", auth:", 1))
	f(2)
	write("own", 3)
	r.mustReload(head + strings.Replace(daxOrders(dir, ", "+files("own")), "auth:", files("service")+", auth:", 1))
	f(3)
	r.mustReload(head + daxOrders(dir, ""))
	if got := r.configStatus().Pending; !slices.Equal(got, []string{"services.orders.tls", "services.orders.dax.tls"}) {
		t.Errorf("pending: %q", got)
	}
	f(3)
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}).Get("https://" + r.ServiceAddr("orders").String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.TLS.PeerCertificates[0].SerialNumber.Int64(); got != 1 {
		t.Errorf("the service still has certificate %d", got)
	}
}
