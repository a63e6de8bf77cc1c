package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// store is an origin with one table, one item, and a count of reads.
type store struct {
	*httptest.Server
	reads atomic.Int64
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch _, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); op {
		case "DescribeTable":
			io.WriteString(w, `{"Table":{"TableName":"t","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
				`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}}`)
		case "GetItem":
			s.reads.Add(1)
			io.WriteString(w, `{"Item":{"id":{"S":"1"}}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"com.amazon.coral.service#UnknownOperationException"}`)
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "origin")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "origin")
	t.Setenv("AWS_REGION", "local")
	return s
}

// running is a node in this process.
type running struct {
	*Node
	t     *testing.T
	file  string
	store *store
	out   *bytes.Buffer // standard output; read it once the node has stopped
}

// run starts a node with the configuration format, in which %s is the origin's URL.
func run(t *testing.T, format string) *running {
	t.Helper()
	return runLogging(t, format, slog.DiscardHandler)
}

// runLogging is run with a handler for the node's own log.
func runLogging(t *testing.T, format string, log slog.Handler) *running {
	t.Helper()
	r := &running{t: t, file: filepath.Join(t.TempDir(), "kasoku.yaml"), store: newStore(t), out: &bytes.Buffer{}}
	r.write(format)
	cfg, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	if r.Node, err = start(cfg, r.file, r.out, slog.New(log)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	if err := r.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
}

func (r *running) write(format string) {
	r.t.Helper()
	text := strings.ReplaceAll(format, "%s", r.store.URL)
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) load() (*config.Config, error) {
	return load(r.file, &Environment{Lookup: os.LookupEnv})
}

// reload writes the file anew and reads it.
func (r *running) reload(format string) error {
	r.t.Helper()
	r.write(format)
	return r.Reload(r.load)
}

func (r *running) mustReload(format string) {
	r.t.Helper()
	if err := r.reload(format); err != nil {
		r.t.Fatal(err)
	}
}

// get reads the item through a service and returns how it was answered.
func (r *running) get(service string) string {
	r.t.Helper()
	return getItem(r.t, http.DefaultClient, "http://"+r.ServiceAddr(service).String())
}

// settle waits until a service has finished every request. A record is logged after the client has
// the answer, and before its connection is closed.
func (r *running) settle(service string) {
	http.DefaultClient.CloseIdleConnections()
	for r.find(service).server.Open() > 0 {
		runtime.Gosched()
	}
}

func getItem(t *testing.T, client *http.Client, base string) string {
	t.Helper()
	resp, body := post(t, client, base+"/", "application/x-amz-json-1.0", `{"TableName":"t","Key":{"id":{"S":"1"}}}`)
	if resp.StatusCode != 200 || body != `{"Item":{"id":{"S":"1"}}}` {
		t.Fatalf("GetItem at %s: %d %s", base, resp.StatusCode, body)
	}
	return resp.Header.Get("Cache-Status")
}

func post(t *testing.T, client *http.Client, url, contentType, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

// page reads a page of the admin server.
func (r *running) page(path string) string {
	r.t.Helper()
	resp, err := http.Get("http://" + r.AdminAddr().String() + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

const head = "admin: {listen: \"127.0.0.1:0\"}\nservices:\n"
const orders = `  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "%s", region: local, auth: {mode: none}}` + "\n"

func TestReloadKeepsCacheAndConnections(t *testing.T) {
	r := run(t, head+orders)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	base := "http://" + r.ServiceAddr("orders").String()
	if got := getItem(t, client, base); !strings.Contains(got, "fwd=miss") {
		t.Errorf("decision of the first read: got %s", got)
	}
	r.mustReload(head + strings.Replace(orders, "auth:", "item_ttl: 10m, retry: {attempts: 2}, limits: {body_bytes: 1KiB}, auth:", 1) +
		`  users: {type: dynamodb, listen: "127.0.0.1:0", origin: "%s", region: local, auth: {mode: none}}` + "\n")
	if got := getItem(t, client, base); !strings.Contains(got, "hit") {
		t.Errorf("decision after a reload: got %s", got)
	}
	if n := r.store.reads.Load(); n != 1 {
		t.Errorf("got %d reads at the origin, want 1", n)
	}
	if !strings.Contains(r.page("/metrics"), `kasoku_edge_connections_accepted_total{service="orders"} 1`+"\n") {
		t.Error("the reload has closed the client's connection")
	}
	resp, _ := post(t, client, base, "application/x-amz-json-1.0", strings.Repeat(" ", 2000))
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("new limits have no effect: got status %d", resp.StatusCode)
	}
	if got := r.get("users"); !strings.Contains(got, "fwd=miss") {
		t.Errorf("decision of the new service: got %s", got)
	}
	if pending := r.configStatus().Pending; len(pending) != 0 {
		t.Errorf("pending: %v", pending)
	}
	r.mustReload(head + strings.Replace(orders, "auth:", "item_ttl: 1m, auth:", 1))
	if got := r.get("orders"); strings.HasPrefix(got, "kasoku; hit") {
		t.Errorf("an entry with the former, longer TTL: got decision %s", got)
	}
}

func TestBadReloadChangesNothing(t *testing.T) {
	r := run(t, head+orders)
	r.get("orders")
	r.get("orders") // creates the series of hits, after those of misses
	r.settle("orders")
	addr := r.ServiceAddr("orders").String()
	metrics := seriesNames(r.page("/metrics"))
	f := func(format, want string) {
		t.Helper()
		err := r.reload(format)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the old one still runs") {
			t.Fatalf("reload: %v; want %q", err, want)
		}
		if got := r.get("orders"); !strings.Contains(got, "hit") || r.ServiceAddr("orders").String() != addr {
			t.Fatalf("the service has changed: %s at %s", got, r.ServiceAddr("orders"))
		}
		var status admin.ConfigStatus
		if err := json.Unmarshal([]byte(r.page("/api/v1/config")), &status); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(status.Problems, "\n"), want) || strings.Contains(string(status.Running), "users") {
			t.Fatalf("got status %+v, want %q in it", status, want)
		}
		page := r.page("/metrics")
		if got := seriesNames(page); !slices.Equal(got, metrics) {
			t.Fatalf("series have changed:\n%v\nwant\n%v", got, metrics)
		}
		if !strings.Contains(page, "kasoku_config_last_reload_successful 0\n") {
			t.Fatal("the metrics do not show the failure")
		}
	}
	f("services: 3", "expected a mapping")
	f(head, "no value")
	f(head+orders+fmt.Sprintf(`  users: {type: dynamodb, listen: %q, origin: "%%s", region: local, auth: {mode: none}}`, addr), "address already in use")
	f(strings.Replace(head, "services", "access_log: {to: file, file: missing/log}\nservices", 1)+
		strings.Replace(orders, "auth:", "item_ttl: 1s, auth:", 1), "missing/log")
	f(head+strings.Replace(orders, "127.0.0.1:0", addr, 1), "address already in use")

	r.mustReload(head + orders)
	if got := r.page("/metrics"); !strings.Contains(got, "kasoku_config_last_reload_successful 1\n") {
		t.Error("the metrics do not show the success")
	}
}

// seriesNames lists Kasoku's series without their values.
func seriesNames(page string) (names []string) {
	for line := range strings.Lines(page) {
		if name, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "kasoku_") {
			names = append(names, name)
		}
	}
	return names
}

func TestReloadMovesAndRemoves(t *testing.T) {
	users := strings.Replace(orders, "orders", "users", 1)
	r := run(t, head+orders+users)
	r.get("orders")
	before := r.ServiceAddr("orders").String()
	// localhost:0 is another address than 127.0.0.1:0, so a new listener is opened.
	r.mustReload(strings.Replace(head, "127.0.0.1:0", "localhost:0", 1) + strings.Replace(orders, "127.0.0.1:0", "localhost:0", 1))
	if r.ServiceAddr("orders").String() == before {
		t.Fatal("the listener has not moved")
	}
	if got := r.get("orders"); !strings.Contains(got, "hit") {
		t.Errorf("an entry after the move of the listener: got decision %s", got)
	}
	r.retirement.Wait()
	if _, err := http.Get("http://" + before); err == nil {
		t.Error("the old address still answers")
	}
	page := r.page("/metrics") // at the new admin address
	if strings.Contains(page, `service="users"`) || !strings.Contains(page, `service="orders"`) {
		t.Error("the metrics have series of the removed service, or lack some of the other")
	}
	if r.ServiceAddr("users") != nil || strings.Contains(r.page("/api/v1/report"), "users") {
		t.Error("the report still has the removed service")
	}
}

// slowLog is a log that takes long for one message.
type slowLog struct {
	slog.Handler
	message string
}

func (s slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (s slowLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.message {
		<-time.After(100 * time.Millisecond)
	}
	return nil
}

// A removed service may end before the reload that removes it and others is complete.
func TestReloadRemovesServiceThatHasEnded(t *testing.T) {
	users, carts := strings.Replace(orders, "orders", "users", 1), strings.Replace(orders, "orders", "carts", 1)
	r := runLogging(t, head+orders+users+carts, slowLog{slog.DiscardHandler, "removed"})
	r.mustReload(head + orders)
	r.retirement.Wait()
	page := r.page("/metrics")
	for _, name := range []string{"users", "carts"} {
		if strings.Contains(page, `service="`+name+`"`) {
			t.Errorf("the removed service %s still has series", name)
		}
	}
}

func TestPendingSettingsNeedARestart(t *testing.T) {
	r := run(t, head+orders)
	r.mustReload("cache: {memory: 64MiB, generations: 2048}\n" + head +
		strings.Replace(orders, "auth:", "memory: 1MiB, settle: 1s, quarantine: 1s, auth:", 1))
	want := []string{"cache.memory", "cache.generations", "settle", "quarantine", "services.orders.memory"}
	if got := r.configStatus().Pending; !slices.Equal(got, want) {
		t.Errorf("pending: %v; want %v", got, want)
	}
	if !strings.Contains(r.page("/api/v1/report"), "waits for a restart: services.orders.memory\n") {
		t.Error("the report does not list the pending keys")
	}
}

func TestReloadChangesAccessLog(t *testing.T) {
	r := run(t, "access_log: {to: stdout, fields: [service, operation, decision]}\n"+head+orders)
	log := filepath.Join(filepath.Dir(r.file), "access.log")
	r.get("orders")
	r.settle("orders")
	r.mustReload("access_log: {to: file, file: access.log, fields: [decision, table]}\n" + head + orders)
	r.get("orders")
	r.settle("orders")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	r.mustReload("access_log: {to: file, file: access.log, fields: [decision, table]}\n" + head + orders)
	r.retirement.Wait()
	r.mustReload("access_log: {to: none}\n" + head + orders)
	r.get("orders")
	r.retirement.Wait()
	if got, want := r.out.String(), `{"service":"orders","operation":"GetItem","decision":"miss"}`+"\n"; got != want {
		t.Errorf("standard output has %q; want %q", got, want)
	}
	both := ""
	for _, name := range []string{log + ".1", log} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		both += string(data)
	}
	if want := `{"table":"t","decision":"hit"}` + "\n"; both != want {
		t.Errorf("the log files have %q; want %q", both, want)
	}
	if got := r.page("/metrics"); !strings.Contains(got, "kasoku_access_log_written_total 2\n") {
		t.Error("the figures of closed logs are lost")
	}
}

func TestReloadChangesCertificate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, serial int64) *x509.CertPool {
		cert, key := certs.SelfSigned(t, serial)
		for suffix, data := range map[string][]byte{".pem": cert, ".key": key} {
			if err := os.WriteFile(filepath.Join(dir, name+suffix), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(cert)
		return pool
	}
	secure := func(name string) string {
		path := filepath.Join(dir, name)
		return head + strings.Replace(orders, "auth:", fmt.Sprintf("tls: {cert: %s.pem, key: %s.key}, auth:", path, path), 1)
	}
	one, two := write("one", 1), write("two", 2)
	r := run(t, secure("one"))
	f := func(pool *x509.CertPool, serial int64) {
		t.Helper()
		for _, h2 := range []bool{false, true} {
			tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2}
			defer tr.CloseIdleConnections()
			resp, err := (&http.Client{Transport: tr}).Get("https://" + r.ServiceAddr("orders").String())
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.TLS.PeerCertificates[0].SerialNumber.Int64(); got != serial || (resp.ProtoMajor == 2) != h2 {
				t.Fatalf("got certificate %d over %s, want %d", got, resp.Proto, serial)
			}
		}
	}
	f(one, 1)
	r.mustReload(secure("two"))
	f(two, 2)
	three := write("two", 3) // other content under the same name
	if err := os.Chtimes(filepath.Join(dir, "two.pem"), time.Time{}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	r.mustReload(secure("two"))
	f(three, 3)
	if err := os.WriteFile(filepath.Join(dir, "two.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.reload(secure("two")); err == nil {
		t.Error("an invalid key was accepted")
	}
	f(three, 3)
	r.mustReload(head + orders)
	if got := r.configStatus().Pending; !slices.Equal(got, []string{"services.orders.tls"}) {
		t.Errorf("turning TLS off: pending %v", got)
	}
}

func TestAdminTokenChangesWithReload(t *testing.T) {
	withToken := "admin: {listen: \"127.0.0.1:0\", token_env: ADMIN_TOKEN}\nservices:\n"
	t.Setenv("ADMIN_TOKEN", "one")
	r := run(t, withToken+orders)
	f := func(token string, code int, want string) {
		t.Helper()
		var out, errs bytes.Buffer
		got := Main([]string{"purge", "--admin", "http://" + r.AdminAddr().String(), "--service", "orders", "--table", "t",
			"--key", `{"id":{"S":"1"}}`}, Environment{Stdout: &out, Stderr: &errs, Lookup: func(name string) (string, bool) {
			return token, name == "KASOKU_ADMIN_TOKEN"
		}})
		if got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Fatalf("purge with token %q: %d %s%s; want %d %s", token, got, &out, &errs, code, want)
		}
	}
	f("one", 0, "orders: dropped ")
	f("two", 1, "status 401: the token is missing or wrong")
	t.Setenv("ADMIN_TOKEN", "two")
	r.mustReload(withToken + orders)
	f("two", 0, "orders: dropped ")
	f("one", 1, "status 401")
}

func TestPurgeDrops(t *testing.T) {
	r := run(t, head+orders)
	f := func(args ...string) {
		t.Helper()
		r.get("orders")
		if got := r.get("orders"); !strings.Contains(got, "hit") {
			t.Fatalf("before the purge: got decision %s, want a hit", got)
		}
		var out, errs bytes.Buffer
		args = append([]string{"purge", "--admin", "http://" + r.AdminAddr().String(), "--service", "orders"}, args...)
		if code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); code != 0 || errs.Len() > 0 {
			t.Fatalf("%v: %d %s", args, code, &errs)
		}
		if got := r.get("orders"); strings.HasPrefix(got, "kasoku; hit") {
			t.Fatalf("%v printed %q, but the item is still cached: %s", args, &out, got)
		}
	}
	f()
	f("--table", "t")
	f("--table", "t", "--partition", "1")
	f("--table", "t", "--partition", `{"S":"1"}`)
	f("--table", "t", "--key", `{"id":{"S":"1"}}`)
	f("--table", "t", "--json")
}

// console collects standard error. A test can wait for a line of it.
type console struct {
	mu   sync.Mutex
	cond *sync.Cond
	text strings.Builder
}

func newConsole() *console {
	c := &console{}
	c.cond = sync.NewCond(&c.mu)
	return c
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cond.Broadcast()
	return c.text.Write(p)
}

// await returns when the output contains text n times.
func (c *console) await(text string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for strings.Count(c.text.String(), text) < n {
		c.cond.Wait()
	}
}

func TestSignals(t *testing.T) {
	s := newStore(t)
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "%s", s.URL)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(head + orders)
	signals, started, code := make(chan os.Signal), make(chan *Node, 1), make(chan int, 1)
	stderr := newConsole()
	go func() {
		code <- Main([]string{"serve", "-c", file}, Environment{
			Stdout: io.Discard, Stderr: stderr, Signals: signals, Lookup: os.LookupEnv, Started: func(n *Node) { started <- n },
		})
	}()
	n := <-started
	base := "http://" + n.ServiceAddr("orders").String()
	getItem(t, http.DefaultClient, base)

	write(head + "  orders: {}\n")
	signals <- syscall.SIGHUP
	stderr.await("configuration not taken", 1)
	getItem(t, http.DefaultClient, base)
	write(head + orders)
	signals <- syscall.SIGHUP
	stderr.await("configuration taken", 1)
	getItem(t, http.DefaultClient, base)

	signals <- syscall.SIGTERM
	if got := <-code; got != 0 {
		t.Errorf("got exit code %d", got)
	}
	stderr.await("stopped", 1)
	if _, err := http.Get(base); err == nil {
		t.Error("the node still answers")
	}
}

func TestStopWaitsForRequests(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		io.WriteString(w, `{"TableNames":[]}`)
	}))
	defer slow.Close()
	r := run(t, head+strings.Replace(orders, "%s", slow.URL, 1))
	status := make(chan int, 1)
	go func() {
		req, _ := http.NewRequest(http.MethodPost, "http://"+r.ServiceAddr("orders").String(), strings.NewReader("{}"))
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- r.Stop(context.Background()) }()
	for !r.overview().Draining {
		runtime.Gosched()
	}
	resp, err := http.Get("http://" + r.AdminAddr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz while stopping: got status %d", resp.StatusCode)
	}
	close(answer)
	if got := <-status; got != http.StatusOK {
		t.Errorf("the request in flight: got status %d", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := r.reload(head + orders); err == nil {
		t.Error("a stopped node was reloaded")
	}
}
