// Package load sends HTTP/1.1 requests over many keep-alive connections and measures the
// answers. It is made to cost little compared with the server: the caller prepares the
// request bytes, only the status and the length of an answer are parsed, and on Linux a
// single thread drives all connections of a plain TCP run. Config.Frame selects another
// protocol in which a connection carries one request at a time.
//
// A run is a closed loop (each connection sends its next request as soon as the last one is
// answered: this measures throughput) or, with Config.Rate, an open loop (requests are due
// at fixed times, independent of the server: this measures the latency that users see). In
// an open loop the latency of a request that waits for a free connection counts from its due
// time, so that a stalled server can't hide the requests that it delays.
package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"
)

// Config describes one run. Addr, Conns, Next and one of Duration and Count
// are required.
type Config struct {
	Addr  string
	TLS   *tls.Config // nil: plain TCP
	Nagle bool        // turn Nagle's algorithm on
	Conns int

	// Duration ends the run after a time, Count after a number of requests, whichever is
	// reached first. Run waits for the answers in flight.
	Duration time.Duration
	Count    uint64

	// Rate is the number of requests a second of an open loop; 0 means a closed loop.
	Rate float64

	// Next returns the bytes of the next request on a connection, numbered from 0. It may
	// append to dst, which is the connection's own buffer, or return bytes of its own, which
	// are only read. It is called concurrently, but not for the same connection.
	Next func(conn int, dst []byte) []byte

	// Check returns an error if the answer to the last request on a connection is wrong. It
	// is called like Next, and body is valid until it returns. Without it every answer with
	// status 200 is right.
	Check func(conn, status int, body []byte) error

	// Frame returns the length of an answer in another protocol than HTTP, once it is
	// complete. The answer then has status 200, and all of it is its body. It is called like
	// Next, with all received bytes of the answer.
	Frame func(answer []byte) (length int, whole bool, err error)

	// Greeting is sent at the start of a connection and not answered, in protocols that have
	// such a message.
	Greeting []byte

	// Timeout is the longest wait for one answer, 10 s if zero.
	Timeout time.Duration
}

// Result is the result of a run.
type Result struct {
	Requests uint64 // with a right answer
	Errors   uint64 // with a wrong answer, timed out, or lost with the connection
	Unsent   uint64 // open loop: due, but not sent because no connection was free before the end
	Err      error  // the first of Errors
	BytesIn  uint64
	BytesOut uint64
	Elapsed  time.Duration // from the first request to the last answer

	// Latency has an entry for each of Requests, and for each of Unsent the time that it had
	// waited when the run ended, which is less than its latency.
	Latency Histogram
}

// Throughput returns the number of right answers a second.
func (r *Result) Throughput() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Requests) / r.Elapsed.Seconds()
}

// Run opens all connections first, then sends until the run ends or ctx is cancelled. It
// returns an error if the run could not start: a bad Config, or no connection. Later errors
// are counted in the Result.
func Run(ctx context.Context, cfg Config) (Result, error) {
	switch {
	case cfg.Conns <= 0:
		return Result{}, errors.New("load: Conns is not positive")
	case cfg.Next == nil:
		return Result{}, errors.New("load: no requests given")
	case cfg.Duration <= 0 && cfg.Count == 0:
		return Result{}, errors.New("load: neither Duration nor Count is set")
	case cfg.Rate < 0:
		return Result{}, fmt.Errorf("load: negative rate %g", cfg.Rate)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	d := &driver{cfg: cfg, ctx: ctx}
	conns := make([]*conn, cfg.Conns)
	defer func() {
		for _, c := range conns {
			c.hangUp()
		}
	}()
	for i := range conns {
		conns[i] = &conn{id: i, in: make([]byte, 4<<10)}
		if err := d.dial(conns[i]); err != nil {
			return Result{}, err
		}
	}
	return d.run(conns), nil
}

// driver is the state that the loops of one run share.
type driver struct {
	cfg  Config
	ctx  context.Context
	pace pace
}

// run distributes the connections over the loops and merges their results.
func (d *driver) run(conns []*conn) Result {
	loops := len(conns)
	if eventLoops && d.cfg.TLS == nil {
		loops = min(loops, max(1, runtime.GOMAXPROCS(0)/2))
	}
	results := make(chan *counts, loops)
	d.pace.begin(&d.cfg)
	for i := range loops {
		mine := conns[i*len(conns)/loops : (i+1)*len(conns)/loops]
		t := &counts{driver: d}
		go func() {
			if eventLoops && d.cfg.TLS == nil {
				runEvents(t, mine)
			} else {
				runStream(t, mine[0])
			}
			results <- t
		}()
	}
	var sum Result
	for range loops {
		t := <-results
		sum.add(&t.Result)
	}
	d.pace.finish(&sum)
	return sum
}

func (r *Result) add(other *Result) {
	r.Requests += other.Requests
	r.Errors += other.Errors
	r.BytesIn += other.BytesIn
	r.BytesOut += other.BytesOut
	r.Elapsed = max(r.Elapsed, other.Elapsed)
	r.Latency.Merge(&other.Latency)
	if r.Err == nil {
		r.Err = other.Err
	}
}

// connecting is the timeout for a connection.
const connecting = 10 * time.Second

// dial connects c again.
func (d *driver) dial(c *conn) error {
	ctx, cancel := context.WithTimeout(d.ctx, connecting)
	defer cancel()
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", d.cfg.Addr)
	if err != nil {
		return fmt.Errorf("load: connect: %w", err)
	}
	c.got = 0
	if tcp, ok := nc.(*net.TCPConn); ok && d.cfg.Nagle {
		_ = tcp.SetNoDelay(false)
	}
	if d.cfg.TLS != nil {
		config := d.cfg.TLS.Clone()
		if d.cfg.Frame == nil {
			config.NextProtos = []string{"http/1.1"}
		}
		if config.ServerName == "" && !config.InsecureSkipVerify {
			config.ServerName, _, _ = net.SplitHostPort(d.cfg.Addr)
		}
		secured := tls.Client(nc, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			nc.Close()
			return fmt.Errorf("load: TLS handshake with %s: %w", d.cfg.Addr, err)
		}
		c.stream = secured
		return d.greet(secured)
	}
	if err := d.greet(nc); err != nil {
		nc.Close()
		return err
	}
	return c.attach(nc)
}

// greet sends the greeting.
func (d *driver) greet(c net.Conn) error {
	if len(d.cfg.Greeting) == 0 {
		return nil
	}
	if _, err := c.Write(d.cfg.Greeting); err != nil {
		return fmt.Errorf("load: greet %s: %w", d.cfg.Addr, err)
	}
	return nil
}

// conn is one connection and its request in flight. It is owned by one loop.
type conn struct {
	id     int
	socket socket   // event loops
	stream net.Conn // other loops
	out    []byte   // passed to Next
	in     []byte
	got    int           // bytes of in that hold data
	since  time.Duration // start of the latency of the request in flight, on the run's clock

	// Event loops only.
	sent    time.Duration // when the request was sent
	busy    bool          // a request is in flight
	blocked bool          // waiting to write the rest of it
}

func (c *conn) hangUp() {
	if c == nil {
		return
	}
	if c.stream != nil {
		c.stream.Close()
		c.stream = nil
	}
	c.socket.close()
}

// room returns space to read into. It grows the buffer for the answer being received.
func (c *conn) room() []byte {
	if c.got == len(c.in) {
		c.in = append(c.in, make([]byte, len(c.in))...)
	}
	return c.in[c.got:]
}

// counts is the result of one loop.
type counts struct {
	*driver
	Result
}

// request returns c's next request. The buffer passed to Next grows to the size of the
// request, so that a caller that appends to it soon allocates nothing.
func (t *counts) request(c *conn) []byte {
	request := t.cfg.Next(c.id, c.out[:0])
	if len(request) > cap(c.out) {
		c.out = make([]byte, 0, 2*len(request))
	}
	return request
}

// arrived handles the n bytes just read into c.room and reports whether they end the answer.
// again reports whether the connection may carry another request.
func (t *counts) arrived(c *conn, n int) (done, again bool) {
	c.got += n
	t.BytesIn += uint64(n)
	a, ok, err := t.parse(c.in[:c.got])
	if err != nil {
		t.fail(err)
		return true, false
	}
	if !ok || c.got < a.head+a.length {
		return false, true
	}
	if c.got > a.head+a.length {
		t.fail(fmt.Errorf("load: %d bytes after the answer", c.got-a.head-a.length))
		return true, false
	}
	now := t.pace.now()
	if err := t.check(c.id, a.status, a.body(c.in)); err != nil {
		t.fail(err)
	} else {
		t.Requests++
		t.Latency.Observe(now - c.since)
	}
	t.Elapsed = now
	c.got = 0
	return true, !a.close
}

// parse returns the framing of an answer in the protocol in use.
func (t *counts) parse(in []byte) (a answer, ok bool, err error) {
	if t.cfg.Frame == nil {
		return parseAnswer(in)
	}
	a.status = 200
	a.length, ok, err = t.cfg.Frame(in)
	return a, ok, err
}

func (t *counts) check(id, status int, body []byte) error {
	if t.cfg.Check != nil {
		return t.cfg.Check(id, status, body)
	}
	if status != 200 {
		return fmt.Errorf("load: status %d: %.200q", status, body)
	}
	return nil
}

func (t *counts) fail(err error) {
	t.Errors++
	if t.Err == nil {
		t.Err = err
	}
	t.Elapsed = t.pace.now()
}
