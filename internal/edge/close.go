package edge

// close ends the connection. Closing a socket with unread bytes in it resets
// the connection and may take the answer away from the client, so that what a
// refused client is still sending is read for a while.
func (c *conn) close() {
	if c.linger {
		c.Linger(c.currentExchange().in.buf)
	}
	c.closeSocket()
	if c.x != nil {
		c.x.release()
		c.x = nil
	}
	c.Forget()
}

// closeSocket closes the connection. The end of a broken one must not look like that of
// a body: without TLS's farewell, and as a reset where only the end would tell.
func (c *conn) closeSocket() {
	if !c.broken {
		_ = c.NC.Close()
		return
	}
	c.Abort(c.x != nil && !c.x.answer.chunked && c.x.answer.left < 0)
}
