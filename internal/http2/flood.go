package http2

import "time"

// bucket bounds a rate: it holds up to burst tokens, and perSecond are added in a second.
type bucket struct {
	burst, perSecond int64
	used             int64         // in units of a token's nanoseconds
	last             time.Duration // when used was computed
}

// take removes n tokens, and reports false if there are not as many.
func (b *bucket) take(n int64, now time.Duration) bool {
	if elapsed := now - b.last; elapsed > 0 {
		b.last = now
		b.used = max(0, b.used-int64(min(elapsed, time.Minute))*b.perSecond)
	}
	b.used += n * int64(time.Second)
	return b.used <= b.burst*int64(time.Second)
}

// add returns n tokens.
func (b *bucket) add(n int64) { b.used = max(0, b.used-n*int64(time.Second)) }

// Bounds on the streams of a connection that are reset: at once, and in a second. A browser
// that leaves a page resets all of its requests.
const (
	resetBurst     = 200
	resetPerSecond = 20
)

// Bounds on frames that carry no part of a request. They may be as many at once and in a
// second, and more in proportion to the requests and the data.
const (
	controlBurst     = 1000
	controlPerSecond = 50
	perRequest       = 4   // control frames
	dataPerControl   = 512 // bytes
)

// control counts a frame that carries no part of a request.
func (c *Conn) control(n int) error {
	if !c.controls.take(int64(n), c.Now) {
		return c.flood("control_frames")
	}
	return nil
}

// countReset counts a stream that the client has reset, or has caused the server to reset.
func (c *Conn) countReset() error {
	if !c.resets.take(1, c.Now) {
		return c.flood("resets")
	}
	return nil
}

// flood ends the connection.
func (c *Conn) flood(reason string) error {
	c.Flood = reason
	return EnhanceYourCalm
}

// transferred allows for the control frames that belong to n bytes of data.
func (c *Conn) transferred(n int) { c.controls.add(1 + int64(n/dataPerControl)) }
