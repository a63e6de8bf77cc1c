package client

import (
	"runtime"
	"sync"
)

// laneState is the state of a lane's connection.
type laneState uint8

const (
	empty   laneState = iota // no connection; the next call dials
	dialing                  // dialing; calls wait for it
	up
	ending // the connection is closed and its calls are being finished; new ones wait
	closed // final
)

// lane holds one connection and the queue of calls to be written to it.
//
// If writing is set, one goroutine has the writer's role: it alone takes from pending and
// uses spare, until it finds pending empty or hands the role over. When a connection ends,
// pending is left to the writer, if there is one, which then dials again.
type lane struct {
	server *server

	mu      sync.Mutex // leaf, guards all below
	state   laneState
	writing bool
	conn    *conn   // if up
	pending []*Call // in order of arrival
	spare   []*Call // the writer's memory for the next pending
}

// enqueue appends x to the queue, and dials or writes if no other goroutine does.
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
		// Runnable goroutines enqueue their calls first. With 64 clients of Kasoku there are
		// 25 gets per write; without this line there is hardly more than one, and a request
		// costs a quarter more.
		runtime.Gosched()
		l.write(x)
	}
}

// start dials in a goroutine that then reads from the connection. The state is dialing.
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

// dialFailed finishes all calls that wait for a connection.
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

// install makes c the lane's connection. The first call in the queue becomes the writer.
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

// adopt installs and serves a connection that a probe has made, unless the lane has another.
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

// write has the writer's role: it writes pending calls until there are none. When its own
// call x is finished, it hands the role to the next call in the queue.
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

// nextBatch returns the pending calls to the writer. Without any, or without a connection,
// the role ends and it returns nil.
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

// redial handles calls that wait without a connection and without a writer: it dials, unless
// the server is down. It is called with the lock held and releases it.
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

// handOver gives an encoded batch to the reader of c before it is written. It returns false
// if c is closed; the calls are then retried.
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

// passRole hands the writer's role to the first call in the queue, or ends it.
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

// serve reads from c until it ends, then handles the calls that still wait.
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

// detach removes c from the lane and returns the calls that wait for its replies. Until they
// are finished no other connection is made, because the reason for the end of c decides
// whether to dial.
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
