package dax

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// preambles are the recorded preambles of five clients.
var preambles = map[string]string{
	"Python":        "674a37796e6535470050d1c9b19c1ebaf221b1bd912ba43bf110a169557365724167656e7475446178507974686f6e436c69656e742d322e312e3000",
	"JavaScript v3": "674a37796e65354700503b2362e0ad66729d95fee90e14de7205a169557365724167656e74734461784a535633436c69656e742d332e312e3000",
	"JavaScript v2": "674a37796e65354700503a1f1f8249d6558f5b9f996d6829ffeca169557365724167656e74724461784a53436c69656e742d312e322e313000",
	"Go v1":         "674a37796e653547006130a169557365724167656e7472446178476f436c69656e742d312e322e313400",
	"Go v2":         "674a37796e653547006130a169557365724167656e7473446178476f5632436c69656e742d312e302e3300",
}

// Requests for the methods in testMethods.
const (
	askEndpoints = "011a1b2bcf02"
	askEcho      = "011903e9" // and a byte string
	askWait      = "011903ea"
	askPanic     = "011903eb"
	askNothing   = "011903ec"
	askFail      = "011903ed"
	askRelease   = "011903ee" // waits until the test releases it
)

// slow synchronizes the methods that wait with the tests.
type slow struct {
	begun   chan struct{}
	release chan struct{}
	ended   chan error
}

func newSlow() *slow {
	return &slow{begun: make(chan struct{}, 16), release: make(chan struct{}), ended: make(chan error, 16)}
}

// testMethods replaces the operations with methods for tests.
func testMethods(s *slow) []method {
	return []method{
		{id: 1001, name: "Echo", args: 1, serve: func(k *call) { k.out = cbor.AppendBytes(append(k.out, success), k.args.Bytes()) }},
		{id: 1002, name: "Wait", serve: func(k *call) {
			ctx := k.ctx()
			s.begun <- struct{}{}
			<-ctx.Done()
			s.ended <- context.Cause(ctx.(*requestContext).inner)
			k.out = append(k.out, success, 0xf6)
		}},
		{id: 1003, name: "Panic", serve: func(k *call) { k.out = append(k.out, success); panic("as asked") }},
		{id: 1004, name: "Nothing", serve: func(*call) {}},
		{id: 1005, name: "GetItem", args: 1, serve: func(k *call) {
			k.line.Decision, k.line.Table = telemetry.Hit, k.args.Bytes()
			k.out = append(k.out, success, 0xf6)
		}},
		{id: 1006, name: "Release", serve: func(k *call) {
			s.begun <- struct{}{}
			<-s.release
			k.out = append(k.out, success, 0xf5)
		}},
	}
}

// pipes is a listener in memory.
type pipes struct {
	in   chan net.Conn
	done chan struct{}
	once sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.in:
		return nc, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8111} }

// rig is a server under test.
type rig struct {
	ln       net.Listener
	t        testing.TB
	srv      *Server
	slow     *slow
	cfg      Config
	log      *records
	reg      *telemetry.Registry
	getItems hitsAndMisses // counted by serveOperations
}

// serveOperations replaces the methods for tests by the real ones.
func (r *rig) serveOperations() {
	r.srv.methods = newMethodTable(operations, metadata)
	for _, m := range r.srv.methods {
		m.series = newMethodMetrics(m.name, func(string, string, ...string) *telemetry.Counter { return telemetry.NewCounter() })
		if m.name == "GetItem" {
			m.series.cache = &r.getItems
		}
	}
	r.getItems = hitsAndMisses{telemetry.NewCounter(), telemetry.NewCounter()}
}

// records stores the access log.
type records struct {
	mu  sync.Mutex
	all []telemetry.Record
}

func (r *records) Log(rec *telemetry.Record) {
	copied := *rec
	copied.Table, copied.RequestID, copied.Principal = bytes.Clone(rec.Table), bytes.Clone(rec.RequestID), bytes.Clone(rec.Principal)
	r.mu.Lock()
	r.all = append(r.all, copied)
	r.mu.Unlock()
}

func (r *records) Close(context.Context) error { return nil }

// wait waits for n records and checks that no more follow.
func (r *records) wait(n int) (all []telemetry.Record) {
	for len(all) < n {
		all = append(all, r.take()...)
		<-time.After(time.Millisecond)
	}
	if all = append(all, r.take()...); len(all) != n {
		panic("more records than requests")
	}
	return all
}

func (r *records) take() []telemetry.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// newRig starts a server on a listener: in memory, unless cfg.Listen is set.
func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, slow: newSlow(), log: &records{}, reg: telemetry.NewRegistry()}
	r.cfg = Config{Name: "orders", Open: true, Region: "us-west-2", Lists: &testLists{}, Log: r.log, Metrics: r.reg, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&r.cfg)
	}
	if r.cfg.Service == nil {
		r.cfg.Service = newService(t, nil)
	}
	var ln net.Listener = &pipes{in: make(chan net.Conn), done: make(chan struct{})}
	if r.cfg.Listen != "" {
		var err error
		if ln, err = net.Listen("tcp", r.cfg.Listen); err != nil {
			t.Fatal(err)
		}
	}
	r.ln = ln
	r.srv = newServer(r.cfg, ln, testMethods(r.slow))
	served := make(chan error, 1)
	go func() { served <- r.srv.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.srv.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r
}

// newService returns a service with these keys, or an open one, whose origin has only the
// tables of testTables.
func newService(t testing.TB, keys []accel.Key) *accel.Service {
	return newServiceOf(t, keys, tablesOnly{})
}

func newServiceOf(t testing.TB, keys []accel.Key, o accel.Origin, change ...func(*accel.Config, *cache.Config)) *accel.Service {
	t.Helper()
	// Nothing counts as recently written unless a test changes that.
	cc := cache.Config{Memory: 1 << 20, Settle: time.Nanosecond, Generations: 1 << 16}
	cfg := accel.Config{Name: "orders", Region: "us-west-2", Open: keys == nil, Keys: keys,
		ItemTTL: time.Minute, QueryTTL: time.Minute, NegativeTTL: time.Minute,
		Connect: func(origin.Config) (accel.Origin, error) { return o, nil }}
	for _, f := range change {
		f(&cfg, &cc)
	}
	c, err := cache.New(cc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := accel.New(cfg, space, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	<-time.After(2 * time.Millisecond) // in its first millisecond, everything counts as recently written
	return svc
}

// scripted is an origin with scripted responses that records its requests.
type scripted struct {
	tablesOnly
	mu     sync.Mutex
	asked  []string
	status int
	answer string
}

func (s *scripted) Do(ctx context.Context, r *origin.Request) (*origin.Response, error) {
	operation := string(r.Header.Get("X-Amz-Target"))
	operation = operation[strings.IndexByte(operation, '.')+1:]
	if operation == "DescribeTable" {
		return s.tablesOnly.Do(ctx, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, operation+" "+string(r.Body))
	if s.status == 0 {
		return nil, &origin.Fault{Kind: origin.Timeout, Reached: true, Err: errors.New("too late")}
	}
	class := origin.Good
	if s.status >= 500 {
		class = origin.Failed
	} else if s.status >= 400 {
		class = origin.Refused
	}
	head := http1.FieldsOf("x-amzn-RequestId", "REQ1", "Content-Type", "application/x-amz-json-1.0")
	return &origin.Response{Status: s.status, Header: head, Body: []byte(s.answer), Class: class}, nil
}

// setAnswer sets the response.
func (s *scripted) setAnswer(status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.answer = status, answer
}

// take returns the requests since the last call.
func (s *scripted) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.asked, "\n")
	s.asked = nil
	return all
}

// tablesOnly is an origin that describes tables.
type tablesOnly struct{}

// described returns a description of a table with these key attributes.
func described(definitions ...string) string {
	var keys []string
	for i, d := range definitions {
		name, _, _ := strings.Cut(d, " ")
		keys = append(keys, `{"AttributeName":"`+name+`","KeyType":"`+[]string{"HASH", "RANGE"}[i]+`"}`)
		definitions[i] = `{"AttributeName":"` + strings.Replace(d, " ", `","AttributeType":"`, 1) + `"}`
	}
	slices.Reverse(definitions) // definitions may have another order than the keys
	return `"AttributeDefinitions":[` + strings.Join(definitions, ",") + `],"KeySchema":[` + strings.Join(keys, ",") + `]`
}

var testTables = map[string]string{
	"Tab1": described("pk S"), "Tab2": described("pk S", "sk N"), "Tab3": described("pk N"), "Tab4": described("pk B", "sk B"), "Tab5": described("pk N", "sk S"), "Tab6": described("pk B"),
}

func (tablesOnly) Do(_ context.Context, r *origin.Request) (*origin.Response, error) {
	for name, keys := range testTables {
		if strings.Contains(string(r.Body), `"`+name+`"`) {
			return &origin.Response{Status: 200, Body: []byte(`{"Table":{"TableName":"` + name + `","TableStatus":"ACTIVE","TableId":"1","CreationDateTime":1,` + keys + `}}`)}, nil
		}
	}
	if strings.Contains(string(r.Body), `"Away"`) {
		return nil, errors.New("the origin is unreachable")
	}
	return &origin.Response{Status: 400, Body: []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`)}, nil
}

func (tablesOnly) State() origin.State { return origin.State{Breaker: "closed"} }
func (tablesOnly) Close()              {}

// testLists numbers lists from 2 on. It accepts at most four lists, of at most 1100 names.
type testLists struct {
	mu  sync.Mutex
	all []string
}

func (l *testLists) ID(names [][]byte, _ lists.Owner) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(bytes.Join(names, []byte{0}))
	i := slices.Index(l.all, text)
	switch {
	case len(names) == 0:
		return 1, nil
	case len(names) > 1100:
		return 0, lists.ErrNames
	case i < 0 && len(l.all) == 4:
		return 0, lists.ErrFull
	case string(names[0]) == "disk":
		return 0, errors.New("the disk is full")
	case i < 0:
		i = len(l.all)
		l.all = append(l.all, text)
	}
	return uint64(i) + 2, nil
}

func (l *testLists) Names(id uint64) ([]string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 1 {
		return nil, true
	}
	if id < 2 || id-2 >= uint64(len(l.all)) {
		return nil, false
	}
	return strings.Split(l.all[id-2], "\x00"), true
}

// client is the client's end of a connection.
type client struct {
	t  testing.TB
	nc net.Conn
}

// dial connects without sending anything.
func (r *rig) dial() *client {
	r.t.Helper()
	if p, ok := r.ln.(*pipes); ok {
		theirs, ours := net.Pipe()
		p.in <- ours
		r.t.Cleanup(func() { _ = theirs.Close() })
		return &client{r.t, theirs}
	}
	nc, err := net.Dial("tcp", r.srv.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	return &client{r.t, nc}
}

// hello connects and sends a preamble.
func (r *rig) hello(preamble string) *client {
	r.t.Helper()
	c := r.dial()
	c.send(preambles[preamble])
	return c
}

// send sends bytes given in hexadecimal; blanks are ignored.
func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.nc.Write(unhex(c.t, text)); err != nil {
		c.t.Fatal(err)
	}
}

// reply reads n CBOR items and returns them in hexadecimal.
func (c *client) reply(n int) string {
	c.t.Helper()
	var scan cbor.Scanner
	scan.Begin(n)
	var b []byte
	for {
		_, whole, err := scan.Scan(b)
		if err != nil {
			c.t.Fatalf("%v in the reply %x", err, b)
		}
		if whole {
			return hex.EncodeToString(b)
		}
		var one [1]byte
		if _, err := io.ReadFull(c.nc, one[:]); err != nil {
			c.t.Fatalf("%v after %x", err, b)
		}
		b = append(b, one[0])
	}
}

// expect sends a request and compares the reply.
func (c *client) expect(request, want string) {
	c.t.Helper()
	c.send(request)
	want = strings.ReplaceAll(want, " ", "")
	n, r := 0, cbor.NewReader(unhex(c.t, want))
	for ; !r.Done(); n++ {
		r.Skip()
	}
	if got := c.reply(n); got != want {
		c.t.Errorf("request %s:\ngot  %s\nwant %s", request, got, want)
	}
}

// failure reads an error and returns its codes and message.
func (c *client) failure() (codes []int64, message string) {
	c.t.Helper()
	r := cbor.NewReader(unhex(c.t, c.reply(3)))
	n := r.Array()
	for r.More(&n) {
		codes = append(codes, r.Int())
	}
	message = string(r.Text())
	r.Skip()
	if err := r.Close(); err != nil {
		c.t.Fatal(err)
	}
	return codes, message
}

// expectError sends a request and compares the error.
func (c *client) expectError(request, message string, codes ...int64) {
	c.t.Helper()
	c.send(request)
	got, text := c.failure()
	if !equal(got, codes) || !strings.Contains(text, message) {
		c.t.Errorf("request %s: got the error %v %q, want %v %q", request, got, text, codes, message)
	}
}

// expectEnd checks that the connection ends without another byte.
func (c *client) expectEnd() {
	c.t.Helper()
	b, err := io.ReadAll(c.nc)
	if len(b) > 0 || err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.t.Errorf("read %x and %v, want the end of the stream", b, err)
	}
}

// expectSilence checks that the connection remains open without a reply.
func (c *client) expectSilence() {
	c.t.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(time.Millisecond))
	var one [1]byte
	if n, err := c.nc.Read(one[:]); n > 0 || !isTimeout(err) {
		c.t.Errorf("read %x and %v, want nothing", one[:n], err)
	}
	_ = c.nc.SetReadDeadline(time.Time{})
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func equal(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// until polls until reached returns true, inside and outside of a synctest bubble.
func until(reached func() bool) {
	for !reached() {
		<-time.After(time.Millisecond)
	}
}
