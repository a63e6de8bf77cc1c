package balance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// network is a network in memory for tests within a synctest bubble. Its nodes are named a, b
// and so on.
type network struct {
	nodes   map[string]*node // by address
	serving sync.WaitGroup
}

// node is a server that can misbehave.
type node struct {
	name string
	srv  http.Server
	conn chan net.Conn
	once sync.Once // closes conn

	mu   sync.Mutex
	mode string // see handle
	got  []string
	open map[net.Conn]bool
}

func newNetwork(t *testing.T, n int) *network {
	w := &network{nodes: map[string]*node{}}
	for i := range n {
		x := &node{name: string(rune('a' + i)), conn: make(chan net.Conn), mode: "ok", open: map[net.Conn]bool{}}
		x.srv.Handler = http.HandlerFunc(x.handle)
		w.nodes[x.name+":80"] = x
		w.serving.Go(func() { x.srv.Serve(listener{x}) })
	}
	t.Cleanup(func() {
		for _, x := range w.nodes {
			x.srv.Close()
		}
		w.serving.Wait()
	})
	return w
}

func (w *network) node(name string) *node { return w.nodes[name+":80"] }

// members returns the members of a group with all nodes.
func (w *network) members() (m []Member) {
	for i := range len(w.nodes) {
		name := string(rune('a' + i))
		m = append(m, Member{Name: name, URL: "http://" + name})
	}
	return m
}

// group makes a group of all nodes, closed at the end of the test.
func (w *network) group(t *testing.T, cfg Config) *Group {
	t.Helper()
	if cfg.Members == nil {
		cfg.Members = w.members()
	}
	cfg.Transport.Dialer = w
	return group(t, cfg)
}

// DialContext connects to a node unless its mode is "refuse".
func (w *network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	x := w.nodes[address]
	if x.is("refuse") {
		return nil, errors.New("refused")
	}
	if x.is("unreachable") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	x.mu.Lock()
	x.open[server] = true
	x.mu.Unlock()
	x.conn <- server
	return client, nil
}

// listener passes the dialled connections to a node's server.
type listener struct{ *node }

func (l listener) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l listener) Close() error {
	l.once.Do(func() { close(l.conn) })
	return nil
}
func (l listener) Addr() net.Addr { return &net.TCPAddr{} }

func (x *node) is(mode string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mode == mode
}

// set changes the mode.
func (x *node) set(mode string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mode = mode
}

// kill ends all connections and refuses new ones.
func (x *node) kill() {
	x.set("refuse")
	x.mu.Lock()
	defer x.mu.Unlock()
	for c := range x.open {
		c.Close()
	}
	clear(x.open)
}

// count returns the number of received requests, except those to /up.
func (x *node) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, g := range x.got {
		if !strings.HasSuffix(g, " /up") {
			n++
		}
	}
	return n
}

// all returns the received requests.
func (x *node) all() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.got)
}

// handle answers with the node's name, or according to its mode.
func (x *node) handle(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	x.mu.Lock()
	mode := x.mode
	x.got = append(x.got, r.Method+" "+r.URL.Path)
	x.mu.Unlock()
	kind, arg, _ := strings.Cut(mode, " ")
	switch kind {
	case "slow":
		d, err := time.ParseDuration(arg)
		if err != nil {
			panic(err)
		}
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	case "500", "503":
		w.WriteHeader(int(kind[0]-'0')*100 + int(kind[2]-'0'))
	case "reset":
		x.hijack(w, "")
		return
	case "garbage":
		x.hijack(w, "hello, world\r\n\r\n")
		return
	case "cut":
		x.hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
		return
	case "stall":
		<-r.Context().Done()
		return
	case "chunks":
		x.chunks(w, arg)
		return
	}
	io.WriteString(w, x.name)
}

// chunks sends a body in two chunks with a pause between them, and optionally truncates it.
func (x *node) chunks(w http.ResponseWriter, how string) {
	var pause string
	var n int
	var end string
	fmt.Sscan(how, &pause, &n, &end)
	d, err := time.ParseDuration(pause)
	if err != nil {
		panic(err)
	}
	half := strings.Repeat("x", n/2)
	io.WriteString(w, half)
	w.(http.Flusher).Flush()
	<-time.After(d)
	io.WriteString(w, half)
	w.(http.Flusher).Flush()
	if end == "cut" {
		panic(http.ErrAbortHandler)
	}
}

// hijack sends text in place of an answer and closes the connection.
func (x *node) hijack(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(conn, text)
	conn.Close()
}

func post(body string) *origin.Outbound {
	return &origin.Outbound{Method: []byte("POST"), Target: []byte("/"), Content: []byte(body)}
}
