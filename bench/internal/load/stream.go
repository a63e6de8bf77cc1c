package load

import (
	"context"
	"time"
)

// runStream drives one connection with blocking reads and writes: for TLS, and on systems
// without an event loop.
func runStream(t *counts, c *conn) {
	for {
		stream := c.stream
		stop := context.AfterFunc(t.ctx, func() { stream.Close() })
		over := t.converse(c)
		stop()
		c.hangUp()
		if over || t.ctx.Err() != nil {
			return
		}
		if err := t.dial(c); err != nil {
			t.fail(err)
			return
		}
	}
}

// converse sends requests until the connection must be replaced or the run is over. It
// reports whether the run is over.
func (t *counts) converse(c *conn) (over bool) {
	for {
		drawn := t.pace.now()
		due, ok := t.pace.draw(drawn)
		if !ok || !t.sleepUntil(due) {
			return true
		}
		c.since = t.pace.since(due, drawn, t.pace.now())
		if !t.exchange(c) {
			return false
		}
	}
}

// sleepUntil waits for a moment on the run's clock. It reports false if ctx ended first.
func (t *counts) sleepUntil(due time.Duration) bool {
	wait := due - t.pace.now()
	if wait <= 0 {
		return t.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// exchange sends one request and reads its answer. It reports whether the connection can be
// used again.
func (t *counts) exchange(c *conn) bool {
	request := t.request(c)
	c.stream.SetDeadline(time.Now().Add(t.cfg.Timeout))
	n, err := c.stream.Write(request)
	t.BytesOut += uint64(n)
	for err == nil {
		if n, err = c.stream.Read(c.room()); n > 0 {
			if done, again := t.arrived(c, n); done {
				return again
			}
		}
	}
	if t.ctx.Err() == nil {
		t.fail(err)
	}
	return false
}
