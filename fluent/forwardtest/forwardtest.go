// Package forwardtest is a small receiver of the Fluentd forward protocol for tests. It
// supports TCP, TLS and unix sockets, the handshake, all four modes, acknowledgements, and
// configurable misbehaviour. It decodes with a library that is independent of the encoder
// under test. Its names may change in any version of the module.
//
//	r := forwardtest.New(t, forwardtest.Options{})
//	... connect to r.Address() ...
//	r.Wait(t, 3)
//	events := r.Events()
//
// In a testing/synctest bubble, where sockets do not work, make it with Detached and pass
// its Dial to clients: each connection is a net.Pipe.
package forwardtest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options configures a Receiver. The zero value is a TCP server on a free port of 127.0.0.1,
// without security, that stores every event.
type Options struct {
	Network string      // "tcp" (default) or "unix"
	Address string      // default: a free port of 127.0.0.1, or for "unix" a file in a temporary folder
	TLS     *tls.Config // nil: plain text
	UDP     bool        // answers heartbeats by UDP on the same port number

	Security    *Security // nil: no handshake
	NoKeepalive bool      // closes after one message, as announced in HELO

	OnEvent   func(Event)   // called for each event, by the connection's goroutine; events are then not stored
	OnMessage func(Message) // the same for each message, after its events
	Count     bool          // only counts events by tag: it does not decode, store or call back
}

// A Receiver is a server that stores the received messages. Its methods may be called
// concurrently.
type Receiver struct {
	opt Options

	mu        sync.Mutex
	changed   *sync.Cond // signals a change of the fields below
	listener  net.Listener
	packets   net.PacketConn
	address   string
	conns     map[*conn]bool
	accepted  int
	behaviour Behaviour
	script    []Behaviour // of the next connections, before behaviour applies
	held      bool        // acknowledgements are held
	stopped   bool        // by Stop: connections are refused

	store
	running sync.WaitGroup
}

// New starts a receiver that ends with the test.
func New(t testing.TB, opt Options) *Receiver {
	t.Helper()
	if opt.Network == "" {
		opt.Network = "tcp"
	}
	if opt.Address == "" {
		opt.Address = "127.0.0.1:0"
		if opt.Network == "unix" {
			opt.Address = t.TempDir() + "/forward.sock"
		}
	}
	r := Detached(opt)
	r.address = opt.Address
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Detached returns a receiver that does not listen: Serve and Dial make its connections. The
// caller closes it.
func Detached(opt Options) *Receiver {
	r := &Receiver{opt: opt, conns: map[*conn]bool{}}
	r.changed = sync.NewCond(&r.mu)
	r.store.init()
	return r
}

// Address returns the address that the receiver listens on, "host:port" or a file's name.
// Stop and Start do not change it.
func (r *Receiver) Address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// Start listens again after Stop. A receiver made with Detached accepts dials again.
func (r *Receiver) Start() error {
	r.mu.Lock()
	r.stopped = false
	r.mu.Unlock()
	if r.opt.Network == "" {
		return nil
	}
	l, err := net.Listen(r.opt.Network, r.Address())
	if err != nil {
		return err
	}
	var packets net.PacketConn
	if r.opt.UDP {
		if packets, err = net.ListenPacket("udp", l.Addr().String()); err != nil {
			return errors.Join(err, l.Close())
		}
		r.spawn(func() { beat(packets) })
	}
	r.mu.Lock()
	r.listener, r.packets, r.address = l, packets, l.Addr().String()
	r.mu.Unlock()
	r.spawn(func() { r.accept(l) })
	return nil
}

// spawn runs f in a goroutine that Close waits for.
func (r *Receiver) spawn(f func()) {
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		f()
	}()
}

// Stop closes the listener and every connection. Dials are refused afterwards.
func (r *Receiver) Stop() {
	r.mu.Lock()
	l, packets := r.listener, r.packets
	r.listener, r.packets, r.stopped = nil, nil, true
	r.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	if packets != nil {
		_ = packets.Close()
	}
	r.CloseConns()
}

// Close stops the receiver and waits for its goroutines.
func (r *Receiver) Close() {
	r.Stop()
	r.running.Wait()
}

// CloseConns closes every connection, like a server that exits.
func (r *Receiver) CloseConns() {
	for _, c := range r.live() {
		c.close(false)
	}
}

// ResetConns resets every connection: the client receives RST instead of FIN.
func (r *Receiver) ResetConns() {
	for _, c := range r.live() {
		c.close(true)
	}
}

func (r *Receiver) live() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*conn, 0, len(r.conns))
	for c := range r.conns {
		all = append(all, c)
	}
	return all
}

// Accepted returns the number of connections accepted so far.
func (r *Receiver) Accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Open returns the number of open connections.
func (r *Receiver) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// Dial connects without a socket: it returns one end of a net.Pipe and serves the other in a
// goroutine. It ignores network and address. Between Stop and Start it fails like a socket.
func (r *Receiver) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	r.spawn(func() { r.Serve(server) })
	return client, nil
}

// Serve serves one connection until it ends, and closes it.
func (r *Receiver) Serve(nc net.Conn) {
	c := r.register(nc)
	defer r.forget(c)
	if !c.behaviour.Refuse {
		c.run()
	}
	c.close(c.behaviour.Reset)
}

func (r *Receiver) register(nc net.Conn) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted++
	b := r.behaviour
	if len(r.script) > 0 {
		b, r.script = r.script[0], r.script[1:]
	}
	b.Refuse = b.Refuse || r.stopped
	c := newConn(r, nc, b, r.accepted)
	r.conns[c] = true
	r.changed.Broadcast()
	return c
}

func (r *Receiver) forget(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	r.changed.Broadcast()
}

func (r *Receiver) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // a shortage of resources, which may pass
			time.Sleep(time.Millisecond)
		default:
			r.spawn(func() { r.Serve(nc) })
		}
	}
}

// beat answers each datagram with one zero byte, as Fluentd does.
func beat(packets net.PacketConn) {
	var b [128]byte
	for {
		_, from, err := packets.ReadFrom(b[:])
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = packets.WriteTo([]byte{0}, from)
		}
	}
}
