package edge

import (
	"context"

	"github.com/kasoku/kasoku/internal/scope"
	"github.com/kasoku/kasoku/internal/socket"
)

// scopes are the contexts that the exchanges of a connection use one after the other. Both
// end when the server is stopped hard.
type scopes struct {
	client *scope.Scope            // ends when the client disconnects; nil before its first use
	leave  context.CancelCauseFunc // ends client
	work   *scope.Scope            // ends by its user; nil before its first use
	peer   socket.Watch
}

// end ends the scopes of a closed connection.
func (s *scopes) end() {
	if s.client != nil {
		s.client.Cancel(context.Canceled)
	}
	if s.work != nil {
		s.work.Cancel(context.Canceled)
	}
}

// open returns *s, or a new scope if that has ended or is nil.
func open(s **scope.Scope, parent context.Context) *scope.Scope {
	if *s == nil || (*s).Err() != nil {
		*s = scope.New(parent)
	}
	return *s
}

// ClientScope returns a context that ends when the client disconnects or the server is
// stopped hard, like Context, but not when Serve returns: other exchanges of the connection
// use it later, so nothing that outlives Serve may refer to it. It costs no allocation. The
// result is nil where there is no such context, and Context has to be used.
func (x *Exchange) ClientScope() *scope.Scope {
	if x.conn == nil || x.watch != nil || x.set.limits.RequestTimeout != 0 {
		return nil
	}
	s := &x.conn.lasting
	if x.scoped {
		return s.client
	}
	x.scoped = true
	if before := s.client; open(&s.client, x.srv.hard) != before {
		s.leave = s.client.Cancel
	}
	s.peer.Start(x.conn.Raw, watchStream, s.leave, ErrClientGone)
	return s.client
}

// WorkScope returns a context for work that continues when the client disconnects, as
// Lasting does, and that its user may end. It has the limits of ClientScope.
func (x *Exchange) WorkScope() *scope.Scope {
	if x.conn == nil {
		return nil
	}
	return open(&x.conn.lasting.work, x.srv.hard)
}

// stopScope ends the watch that ClientScope has started.
func (x *Exchange) stopScope() {
	if x.scoped {
		x.scoped = false
		x.conn.lasting.peer.Stop()
	}
}
