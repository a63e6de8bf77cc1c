package edge

// close ends the connection. Closing a socket with unread bytes resets the connection, and
// the client may lose the answer. So the bytes that a refused client still sends are read
// for a while.
func (c *conn) close() {
	if c.linger {
		c.Linger(c.currentExchange().in.buf)
	}
	c.closeSocket()
	c.lasting.end()
	if c.x != nil {
		c.x.release()
		c.x = nil
	}
	c.Forget()
}

// closeSocket closes the connection. A client must not take the end of a broken answer for
// the end of its body: TLS sends no close_notify, and the connection is reset where only its
// end marks the end of the body, and where a handler asked for it by Hangup.
func (c *conn) closeSocket() {
	if !c.broken {
		_ = c.NC.Close()
		return
	}
	c.Abort(c.x != nil && (c.x.Reply.Hangup || !c.x.answer.chunked && c.x.answer.left < 0))
}
