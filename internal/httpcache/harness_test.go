package httpcache

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// site is a service with its listener and its origin, all on real sockets.
type site struct {
	*Service
	t      testing.TB
	addr   string
	origin *rawOrigin
	server *edge.Server
	stop   func() // stops the server and the origin
}

// newSite serves requests in front of an origin that is scripted by script. change may
// change the service's configuration.
func newSite(t testing.TB, script func(*asked), change ...func(*Config)) *site {
	t.Helper()
	return newSiteWithOrigin(t, newRawOrigin(t, &rawOrigin{script: script}), change...)
}

// newBareSite is newSite with an origin that gets whole connections.
func newBareSite(t testing.TB, whole func(*bufio.Reader, io.Writer)) *site {
	t.Helper()
	return newSiteWithOrigin(t, newRawOrigin(t, &rawOrigin{whole: whole}))
}

// newSiteWithOrigin starts a site with the given origin.
func newSiteWithOrigin(t testing.TB, origin *rawOrigin, change ...func(*Config)) *site {
	t.Helper()
	s := &site{t: t, origin: origin}
	cfg := Config{
		Name: "site", Policy: policy.Defaults(), UncacheableTTL: 60e9, MaxObject: 1 << 20,
		Group: balance.Config{Members: []balance.Member{{URL: "http://" + s.origin.addr()}}, Ejection: balance.Ejection{Disabled: true}},
	}
	cfg.Group.Breaker.Disabled = true
	for _, f := range change {
		f(&cfg)
	}
	c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	registry := telemetry.NewRegistry()
	if s.Service, err = New(cfg, space, registry, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s.server, err = edge.Listen(edge.Config{Name: "site", Listen: "127.0.0.1:0", Streaming: true, Handler: s.Service, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	s.addr = s.server.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve() }()
	s.stop = sync.OnceFunc(func() {
		stopped, stop := context.WithCancel(context.Background())
		stop()
		s.server.Shutdown(stopped)
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.origin.close()
		s.Service.Close()
		c.Close()
	})
	t.Cleanup(s.stop)
	return s
}

// rawOrigin accepts connections and calls script for each request.
type rawOrigin struct {
	ln     net.Listener
	script func(*asked)
	whole  func(*bufio.Reader, io.Writer) // if set, handles a whole connection

	mu      sync.Mutex
	heads   []string // of the requests so far
	conns   map[net.Conn]struct{}
	serving sync.WaitGroup
}

// asked is a request that a rawOrigin has received.
type asked struct {
	n    int    // from 1, of all requests
	head string // with plain line ends
	body string
	conn net.Conn
}

func newRawOrigin(t testing.TB, o *rawOrigin) *rawOrigin {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.ln, o.conns = ln, map[net.Conn]struct{}{}
	o.serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns[c] = struct{}{}
			o.mu.Unlock()
			o.serving.Go(func() { o.serve(c) })
		}
	})
	return o
}

func (o *rawOrigin) addr() string { return o.ln.Addr().String() }

func (o *rawOrigin) close() {
	o.ln.Close()
	o.mu.Lock()
	for c := range o.conns {
		c.Close()
	}
	o.mu.Unlock()
	o.serving.Wait()
}

// requests returns the heads of the requests so far.
func (o *rawOrigin) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.heads...)
}

func (o *rawOrigin) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	if o.whole != nil {
		o.whole(r, c)
		return
	}
	for {
		head, body, err := readMessage(r)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.heads = append(o.heads, head)
		a := &asked{n: len(o.heads), head: head, body: body, conn: c}
		o.mu.Unlock()
		o.script(a)
	}
}

// readMessage reads a request with a body of known length or in chunks.
func readMessage(r *bufio.Reader) (head, body string, err error) {
	var h strings.Builder
	length, chunked := 0, false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		h.WriteString(line + "\n")
		fmt.Sscanf(strings.ToLower(line), "content-length: %d", &length)
		chunked = chunked || strings.EqualFold(line, "transfer-encoding: chunked")
	}
	if !chunked {
		b := make([]byte, length)
		_, err = io.ReadFull(r, b)
		return h.String(), string(b), err
	}
	var all strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		var n int
		fmt.Sscanf(line, "%x", &n)
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return "", "", err
		}
		if n == 0 {
			return h.String(), all.String(), nil
		}
		all.Write(b[:n])
	}
}

// respond sends text, with CRLF as line ends up to the first empty line.
func (a *asked) respond(text string) {
	head, body, found := strings.Cut(text, "\n\n")
	head = strings.ReplaceAll(head, "\n", "\r\n")
	if found {
		head += "\r\n\r\n"
	}
	io.WriteString(a.conn, head+body)
}

// raw sends text as it is.
func (a *asked) raw(text string) { io.WriteString(a.conn, text) }

// ok answers with a body that is fresh for a minute, and with more fields.
func (a *asked) ok(body string, fields ...string) {
	a.respond(fmt.Sprintf("HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: %d\n%s\n%s", len(body), joined(fields), body))
}

// joined returns fields as lines.
func joined(fields []string) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f + "\n")
	}
	return b.String()
}

// client is a connection to the site.
type client struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func (s *site) dial() *client {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &client{s.t, c, bufio.NewReader(c)}
}

// got is an answer as the client receives it.
type got struct {
	status int
	fields http1.Fields
	body   string
	cut    bool
}

func (g *got) get(name string) string { return string(g.fields.Get(name)) }

// String returns the answer without the parts that differ between runs.
func (g *got) String() string {
	return fmt.Sprintf("%d %q cut=%v %s", g.status, g.body, g.cut, written(g.fields))
}

// send writes a request, its head with plain line ends.
func (c *client) send(text string) {
	c.t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	if _, err := io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body); err != nil {
		c.t.Fatal(err)
	}
}

// head reads the head of the next answer.
func (c *client) head() *got {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	g := &got{}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &g.status); err != nil {
		c.t.Fatalf("got %q, want a status line", line)
	}
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the head is cut: %v", err)
		}
		if line == "\r\n" {
			return g
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		g.fields = append(g.fields, http1.Field{Name: []byte(name), Value: []byte(value)})
	}
}

// rest reads the body that belongs to g.
func (c *client) rest(g *got, method string) *got {
	var b strings.Builder
	switch {
	case method == "HEAD" || g.status == 304 || g.status == 204 || g.status < 200:
	case strings.EqualFold(g.get("Transfer-Encoding"), "chunked"):
		g.cut = !c.chunks(&b)
	case g.fields.Get("Content-Length") != nil:
		var n int64
		fmt.Sscan(g.get("Content-Length"), &n)
		m, _ := io.CopyN(&b, c.r, n)
		g.cut = m < n
	default:
		_, err := io.Copy(&b, c.r)
		g.cut = err != nil
	}
	g.body = b.String()
	return g
}

func (c *client) chunks(b *strings.Builder) bool {
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return false
		}
		var n int64
		fmt.Sscanf(line, "%x", &n)
		if n == 0 {
			_, err := c.r.ReadString('\n')
			return err == nil
		}
		if m, _ := io.CopyN(b, c.r, n); m < n {
			return false
		}
		if _, err := c.r.ReadString('\n'); err != nil {
			return false
		}
	}
}

// ask sends a request line with fields and returns the answer.
func (c *client) ask(line string, fields ...string) *got {
	c.t.Helper()
	c.send(line + " HTTP/1.1\nHost: site\n" + strings.TrimSuffix(joined(fields), "\n"))
	method, _, _ := strings.Cut(line, " ")
	for {
		g := c.head()
		if g.status >= 200 || g.status == 101 {
			return c.rest(g, method)
		}
	}
}

// ask is client.ask on a connection of its own.
func (s *site) ask(line string, fields ...string) *got {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	return c.ask(line, fields...)
}
