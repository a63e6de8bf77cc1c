package fault

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Network connects named ends through TCP proxies, so that a test controls each direction of
// the route between two ends.
type Network struct {
	mu     sync.Mutex
	routes map[[2]string]*direction // by sender and receiver
	conns  map[*link]bool
}

// NewNetwork returns a network without faults.
func NewNetwork() *Network {
	return &Network{routes: map[[2]string]*direction{}, conns: map[*link]bool{}}
}

// direction is the state of a route in one direction.
type direction struct {
	mu    sync.Mutex
	delay time.Duration
	held  chan struct{} // closed when bytes pass again; nil while they do
}

func (d *direction) state() (delay time.Duration, held chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delay, d.held
}

func (n *Network) direction(from, to string) *direction {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.routes[[2]string{from, to}]
	if d == nil {
		d = &direction{}
		n.routes[[2]string{from, to}] = d
	}
	return d
}

// Hold keeps back the bytes from one end to the other until Release. The connections remain
// open, and new ones are accepted, as by a network that loses packets.
func (n *Network) Hold(from, to string) {
	d := n.direction(from, to)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = make(chan struct{})
	}
}

// Delay delays the bytes from one end to the other; 0 ends that.
func (n *Network) Delay(from, to string, by time.Duration) {
	d := n.direction(from, to)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = by
}

// Release ends Hold and delivers what was kept back, also of connections that their client
// has closed meanwhile.
func (n *Network) Release(from, to string) {
	d := n.direction(from, to)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
		d.held = nil
	}
}

// Cut holds both directions between two ends.
func (n *Network) Cut(a, b string) {
	n.Hold(a, b)
	n.Hold(b, a)
}

// Heal ends Cut. What was kept back is delivered.
func (n *Network) Heal(a, b string) {
	n.Release(a, b)
	n.Release(b, a)
}

// Reset resets all connections between two ends; what was kept back is lost.
func (n *Network) Reset(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for l := range n.conns {
		if l.from == a && l.to == b || l.from == b && l.to == a {
			l.close()
		}
	}
}

// Client returns the name of the end that has opened a connection, from the first bytes that
// it has sent. It returns "" as long as they are too few.
type Client func(head []byte) string

// AccessKey finds the access key ID in the signature of the first request.
func AccessKey(head []byte) string {
	_, after, _ := bytes.Cut(head, []byte("Credential="))
	id, _, ended := bytes.Cut(after, []byte("/"))
	if !ended {
		return ""
	}
	return string(id)
}

// NATSRoute finds the name of a server in the first messages of its route to another one:
// the part before the last '-'.
func NATSRoute(head []byte) string {
	_, after, found := bytes.Cut(head, []byte(`"server_name":"`))
	name, _, ended := bytes.Cut(after, []byte(`"`))
	at := bytes.LastIndexByte(name, '-')
	if !found || !ended || at < 0 {
		return ""
	}
	return string(name[:at])
}

// Proxy forwards connections to the end named to, which listens on target, until the test
// ends. It returns its address.
func (n *Network) Proxy(t testing.TB, to, target string, client Client) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { n.serve(conn, to, target, client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		n.mu.Lock()
		for c := range n.conns {
			if c.to == to {
				c.close()
			}
		}
		n.mu.Unlock()
		done.Wait()
	})
	return l.Addr().String()
}

// link is a connection through a proxy.
type link struct {
	from, to string
	ends     [2]net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		for _, c := range l.ends {
			if c, ok := c.(*net.TCPConn); ok {
				c.SetLinger(0)
			}
			c.Close()
		}
	})
}

func (n *Network) serve(conn net.Conn, to, target string, client Client) {
	l := &link{to: to, closed: make(chan struct{})}
	server, err := net.Dial("tcp", target)
	if err != nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		return
	}
	l.ends = [2]net.Conn{conn, server}
	n.mu.Lock()
	n.conns[l] = true
	n.mu.Unlock()
	defer func() {
		l.close()
		n.mu.Lock()
		delete(n.conns, l)
		n.mu.Unlock()
	}()
	// The first bytes of the server may name it to the client, which names itself then.
	known := make(chan struct{})
	var answers sync.WaitGroup
	answers.Go(func() { n.answers(l, known) })
	head, from := n.identify(conn, client)
	if from == "" {
		l.close()
		close(known)
		answers.Wait()
		return
	}
	n.mu.Lock()
	l.from = from
	n.mu.Unlock()
	close(known)
	l.forward(n.direction(from, to), conn, server, head)
	answers.Wait()
}

// identify reads until the client is known.
func (n *Network) identify(conn net.Conn, client Client) (head []byte, from string) {
	for {
		if from = client(head); from != "" {
			return head, from
		}
		part := make([]byte, 16<<10)
		k, err := conn.Read(part)
		if err != nil {
			return nil, ""
		}
		head = append(head, part[:k]...)
	}
}

// answers forwards what the server sends: the first bytes at once, and the others under the
// conditions of the route, when the client is known.
func (n *Network) answers(l *link, known <-chan struct{}) {
	first := make([]byte, 16<<10)
	k, err := l.ends[1].Read(first)
	if err != nil {
		l.end(l.ends[0])
		return
	}
	select {
	case <-known:
		// The client has spoken first.
		l.forward(n.direction(l.to, l.from), l.ends[1], l.ends[0], first[:k])
		return
	default:
	}
	if _, err := l.ends[0].Write(first[:k]); err != nil {
		l.close()
		return
	}
	<-known
	if l.from != "" {
		l.forward(n.direction(l.to, l.from), l.ends[1], l.ends[0], nil)
	}
}

// end passes on the end of the bytes to one end.
func (l *link) end(to net.Conn) {
	if to.(*net.TCPConn).CloseWrite() != nil {
		l.close()
	}
}

// chunk is a number of bytes, and when they were received. Without bytes it is their end.
type chunk struct {
	bytes []byte
	at    time.Time
}

// maxHeld is the number of chunks that a direction of a connection keeps back; its sender
// then can't send more.
const maxHeld = 256

// forward forwards bytes from one end to the other until they end.
func (l *link) forward(d *direction, from, to net.Conn, head []byte) {
	queue := make(chan chunk, maxHeld)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(queue)
		for part := head; ; {
			if len(part) > 0 {
				select {
				case queue <- chunk{part, time.Now()}:
				case <-l.closed:
					return
				}
			}
			buf := make([]byte, 16<<10)
			k, err := from.Read(buf)
			if err != nil {
				return
			}
			part = buf[:k]
		}
	})
	for c := range queue {
		if !l.pass(d, c.at) {
			break
		}
		if _, err := to.Write(c.bytes); err != nil {
			l.close()
			break
		}
	}
	if l.pass(d, time.Now()) {
		l.end(to)
	}
	reading.Wait()
}

// pass waits until bytes that were received at a time may be delivered. It returns false if
// the connection is closed before.
func (l *link) pass(d *direction, at time.Time) bool {
	if delay, _ := d.state(); delay > 0 {
		late := time.NewTimer(time.Until(at.Add(delay)))
		defer late.Stop()
		select {
		case <-late.C:
		case <-l.closed:
			return false
		}
	}
	for {
		_, held := d.state()
		if held == nil {
			return true
		}
		select {
		case <-held:
		case <-l.closed:
			return false
		}
	}
}
