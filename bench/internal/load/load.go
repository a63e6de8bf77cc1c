// Package load sends HTTP/1.1 requests over many keep-alive connections and
// measures how they are answered. It is made to cost little beside the server
// it drives: request bytes come ready from the caller, of an answer only the
// status and the length are read, and on Linux a single thread looks after all
// connections of a plain TCP run. Config.Frame makes it speak another protocol in
// which a connection carries one request at a time.
//
// A run is a closed loop (each connection sends its next request as soon as the
// last one is answered: this finds the throughput) or, with Config.Rate, an
// open loop (requests fall due by the clock whatever the server does: this
// finds the latency that users see). In an open loop a request that had to wait
// for a free connection is timed from the moment it was due, so that a stalled
// server can't hide the requests it kept from being sent.
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
	Conns int

	// Duration ends the run by the clock, Count after so many requests;
	// whichever comes first. Answers still due at the end are waited for.
	Duration time.Duration
	Count    uint64

	// Rate is the number of requests a second of an open loop; 0 is a closed
	// loop.
	Rate float64

	// Next returns the bytes of the next request on a connection, numbered
	// from 0. It may append to dst, which is the connection's own buffer, or
	// return bytes that it keeps, which are only read. It is called
	// concurrently, but never twice at a time for the same connection.
	Next func(conn int, dst []byte) []byte

	// Check says what is wrong with an answer to the last request on a
	// connection; it is called like Next, and body is valid until it returns.
	// Without it every answer of status 200 is right.
	Check func(conn, status int, body []byte) error

	// Frame finds the end of an answer in another protocol than HTTP: its length, once
	// it is whole. The answer then has status 200, and all of it is its body. Called like
	// Next, with all that has come of the answer.
	Frame func(answer []byte) (length int, whole bool, err error)

	// Greeting is what a connection begins with and what is not answered, in protocols
	// that have such a thing.
	Greeting []byte

	// Timeout is the longest wait for one answer, 10 s when zero.
	Timeout time.Duration
}

// Result is what a run has seen.
type Result struct {
	Requests uint64 // answered and right
	Errors   uint64 // answered wrongly, timed out, or lost with the connection
	Unsent   uint64 // open loop: due, but no connection was free before the end
	Err      error  // the first of Errors
	BytesIn  uint64
	BytesOut uint64
	Elapsed  time.Duration // from the first request to the last answer

	// Latency holds an entry for each of Requests, and for each of Unsent the
	// time it had waited when the run ended, which is less than its latency.
	Latency Histogram
}

// Throughput is the number of right answers a second.
func (r *Result) Throughput() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Requests) / r.Elapsed.Seconds()
}

// Run opens all connections first, then sends until the run is over or ctx is
// cancelled. The error says that the run could not be made: a bad Config, or no
// connection. What went wrong later is counted in the Result.
func Run(ctx context.Context, cfg Config) (Result, error) {
	switch {
	case cfg.Conns <= 0:
		return Result{}, errors.New("load: no connections asked for")
	case cfg.Next == nil:
		return Result{}, errors.New("load: no requests given")
	case cfg.Duration <= 0 && cfg.Count == 0:
		return Result{}, errors.New("load: neither duration nor count given")
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

// run spreads the connections over the loops and joins what they counted.
func (d *driver) run(conns []*conn) Result {
	loops := len(conns)
	if eventLoops && d.cfg.TLS == nil {
		loops = min(loops, max(1, runtime.GOMAXPROCS(0)/2))
	}
	tallies := make(chan *tally, loops)
	d.pace.begin(&d.cfg)
	for i := range loops {
		mine := conns[i*len(conns)/loops : (i+1)*len(conns)/loops]
		t := &tally{driver: d}
		go func() {
			if eventLoops && d.cfg.TLS == nil {
				runEvents(t, mine)
			} else {
				runStream(t, mine[0])
			}
			tallies <- t
		}()
	}
	var sum Result
	for range loops {
		t := <-tallies
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

// connecting is the longest wait for a connection.
const connecting = 10 * time.Second

// dial connects c anew.
func (d *driver) dial(c *conn) error {
	ctx, cancel := context.WithTimeout(d.ctx, connecting)
	defer cancel()
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", d.cfg.Addr)
	if err != nil {
		return fmt.Errorf("load: connect: %w", err)
	}
	c.got = 0
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

// greet sends what a connection begins with.
func (d *driver) greet(c net.Conn) error {
	if len(d.cfg.Greeting) == 0 {
		return nil
	}
	if _, err := c.Write(d.cfg.Greeting); err != nil {
		return fmt.Errorf("load: greet %s: %w", d.cfg.Addr, err)
	}
	return nil
}

// conn is one connection and the request that is out on it. It belongs to the
// loop that drives it.
type conn struct {
	id     int
	socket socket   // event loops
	stream net.Conn // all others
	out    []byte   // offered to Next
	in     []byte
	got    int           // bytes of in that hold data
	since  time.Duration // from when the request that is out is timed, on the run's clock

	// Event loops only.
	sent    time.Duration // when the request went out
	busy    bool          // a request is out
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

// room returns space to read into, growing the buffer to hold the answer that
// is coming in.
func (c *conn) room() []byte {
	if c.got == len(c.in) {
		c.in = append(c.in, make([]byte, len(c.in))...)
	}
	return c.in[c.got:]
}

// tally is what one loop has counted.
type tally struct {
	*driver
	Result
}

// request asks for c's next request. The buffer offered grows to the size of
// what was sent, so that a caller who appends to it soon allocates nothing.
func (t *tally) request(c *conn) []byte {
	request := t.cfg.Next(c.id, c.out[:0])
	if len(request) > cap(c.out) {
		c.out = make([]byte, 0, 2*len(request))
	}
	return request
}

// arrived takes the n bytes just read into c.room and reports whether they end
// the answer. again says that the connection may carry another request.
func (t *tally) arrived(c *conn, n int) (done, again bool) {
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

// parse finds the end of an answer by the protocol in use.
func (t *tally) parse(in []byte) (a answer, ok bool, err error) {
	if t.cfg.Frame == nil {
		return parseAnswer(in)
	}
	a.status = 200
	a.length, ok, err = t.cfg.Frame(in)
	return a, ok, err
}

func (t *tally) check(id, status int, body []byte) error {
	if t.cfg.Check != nil {
		return t.cfg.Check(id, status, body)
	}
	if status != 200 {
		return fmt.Errorf("load: status %d: %.200q", status, body)
	}
	return nil
}

func (t *tally) fail(err error) {
	t.Errors++
	if t.Err == nil {
		t.Err = err
	}
	t.Elapsed = t.pace.now()
}
