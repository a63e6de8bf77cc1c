package client

import (
	"runtime"
	"sync"
)

// laneState is whether calls can be written.
type laneState uint8

const (
	empty   laneState = iota // there is no connection; the next call has one made
	dialing                  // one is being made; calls wait for it
	up
	ending // the connection is gone, and its calls are being told; new ones wait
	closed // for ever
)

// lane is the place of one connection, where calls wait to be written.
//
// writing says that a goroutine has the writer's role: it alone takes from pending and
// uses spare, until it finds pending empty or hands the role over. A connection that
// ends leaves pending to the writer if there is one, which then has a new one made.
type lane struct {
	server *server

	mu      sync.Mutex // leaf, guards all below
	state   laneState
	writing bool
	conn    *conn   // if up
	pending []*Call // in the order in which they came
	spare   []*Call // the writer's: memory for the next pending
}

// enqueue adds x to the calls that wait, and has them written.
func (l *lane) enqueue(x *Call) {
	l.mu.Lock()
	if l.state == closed {
		l.mu.Unlock()
		x.finish(Down)
		return
	}
	l.pending = append(l.pending, x)
	lead := l.state == up && !l.writing
	if lead {
		l.writing = true
	}
	dial := l.state == empty && !l.writing
	if dial {
		l.state = dialing
	}
	l.mu.Unlock()
	switch {
	case dial:
		l.start()
	case lead:
		// Other goroutines that can run now put their calls in first. With 64 clients of
		// Kasoku there are 25 gets to a write, without this one there is hardly more than one,
		// and a request costs a quarter more.
		runtime.Gosched()
		l.write(x)
	}
}

// start makes a connection, in a goroutine that then reads from it. The state is dialing.
func (l *lane) start() {
	if !l.server.client.spawn(l.run) {
		l.dialFailed(errClosed)
	}
}

func (l *lane) run() {
	c, err := l.server.connect()
	if err != nil {
		l.dialFailed(err)
		return
	}
	l.install(c)
	l.serve(c)
}

// dialFailed ends the wait of all who wait for a connection.
func (l *lane) dialFailed(err error) {
	l.mu.Lock()
	calls := l.pending
	l.pending = nil
	if l.state != closed {
		l.state = empty
	}
	l.mu.Unlock()
	down := err != errClosed && l.server.failed(err)
	for _, x := range calls {
		x.finish(Down)
	}
	if down {
		l.server.client.spawn(l.server.probe)
	}
}

// install opens the lane for writing to c, which the first who waits begins with.
func (l *lane) install(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu = &l.mu
	if l.state == closed {
		c.end()
		return
	}
	l.state, l.conn = up, c
	if len(l.pending) > 0 {
		l.writing = true
		l.pending[0].lead()
	}
}

// adopt is install and serve for a connection that a probe has made, unless the lane
// has got another one.
func (l *lane) adopt(c *conn) {
	l.mu.Lock()
	free := l.state == empty && !l.writing
	if free {
		l.state = dialing
	}
	l.mu.Unlock()
	if !free {
		c.end()
		c.countClosed()
		return
	}
	l.install(c)
	l.serve(c)
}

// lead makes the goroutine of x, which is pending, the lane's writer.
func (x *Call) lead() { x.waiter.signal(&x.waiter.lead) }

// write has the writer's role: it writes what is pending until there is nothing. When
// its own call, x, is finished, the next one in the queue takes over.
func (l *lane) write(x *Call) {
	for {
		c, batch := l.nextBatch()
		if c == nil {
			return
		}
		c.encode(batch)
		if l.handOver(c, batch) {
			c.flush()
		}
		clear(batch)
		if x.waiter.isDone() && l.passRole() {
			return
		}
	}
}

// nextBatch gives the writer what is pending. Without anything, or without a connection, the
// role ends and take returns nil.
func (l *lane) nextBatch() (*conn, []*Call) {
	l.mu.Lock()
	if len(l.pending) == 0 {
		l.writing = false
		l.mu.Unlock()
		return nil, nil
	}
	if l.state == up {
		batch := l.pending
		l.pending, l.spare = l.spare[:0], batch
		c := l.conn
		l.mu.Unlock()
		return c, batch
	}
	l.writing = false
	l.redial()
	return nil, nil
}

// redial looks after calls that wait where there is no connection and no writer: it has
// one made, unless the server is known to be down. It is called with the lock and returns
// without it.
func (l *lane) redial() {
	switch {
	case l.state == closed, l.state == empty && l.server.down.Load():
		calls := l.pending
		l.pending = nil
		l.mu.Unlock()
		for _, x := range calls {
			x.finish(Down)
		}
	case l.state == empty && len(l.pending) > 0:
		l.state = dialing
		l.mu.Unlock()
		l.start()
	default:
		l.mu.Unlock()
	}
}

// handOver hands a batch that is encoded to the reader of c, before it is written. It returns
// false if c is gone: then its calls are to be made again.
func (l *lane) handOver(c *conn, batch []*Call) bool {
	now := int64(l.server.client.now())
	l.mu.Lock()
	if l.conn != c {
		l.mu.Unlock()
		for _, x := range batch {
			if x != nil {
				x.retry = true
				x.finish(Down)
			}
		}
		return false
	}
	for _, x := range batch {
		if x != nil {
			x.sent = now
			c.sent = append(c.sent, x)
		}
	}
	c.arm(now)
	l.mu.Unlock()
	return true
}

// passRole gives the writer's role to the first who waits, or ends it.
func (l *lane) passRole() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		l.writing = false
		return true
	}
	if l.state != up {
		return false
	}
	l.pending[0].lead()
	return true
}

// serve reads from c until it ends, and sees to those who then still wait.
func (l *lane) serve(c *conn) {
	fault := c.read()
	c.end()
	down := c.fail(l.detach(c), fault)
	c.countClosed()
	l.mu.Lock()
	if l.state == ending {
		l.state = empty
	}
	if l.writing {
		l.mu.Unlock()
	} else {
		l.redial()
	}
	if down {
		l.server.client.spawn(l.server.probe)
	}
}

// detach takes c out of the lane, with the calls that it owes replies. Until these are told
// no other connection is made: whether there is to be one, what is known of c's end decides.
func (l *lane) detach(c *conn) []*Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c {
		l.conn = nil
		if l.state == up {
			l.state = ending
		}
	}
	calls := append(c.due[c.next:], c.sent...)
	c.sent = nil
	return calls
}

// close ends the lane.
func (l *lane) close() {
	l.mu.Lock()
	l.state = closed
	if l.conn != nil {
		l.conn.end()
	}
	if l.writing {
		l.mu.Unlock()
		return
	}
	l.redial()
}
