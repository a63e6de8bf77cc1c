package dax

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// call is one request and its reply. It is taken from a pool when a connection receives
// bytes and returned when none are left. Nothing of it may be retained after its method's
// serve has returned.
type call struct {
	srv    *Server
	set    *settings // settings of this request
	client accel.Client
	agent  []byte      // the client's software
	args   cbor.Reader // over exactly the arguments
	out    []byte      // the reply; empty when serve begins
	cached []byte      // the reply, if it isn't in out: read-only memory of the cache
	now    time.Time   // time of the read that completed the request

	scratch scratch // buffers of the operations

	conn    *conn
	in      input
	scan    cbor.Scanner
	phase   uint8
	late    bool // the request took more than one read
	head    int  // number of bytes before the arguments
	method  *method
	context *requestContext // created by ctx
	names   [][]byte        // names of an attribute list
	failed  *fault.Error
	hangup  bool // close the connection without a reply
	line    telemetry.Record
	id      [listener.RequestIDSize]byte
}

// maxPooledReply is the maximum size of a reply buffer that is reused.
const maxPooledReply = 64 << 10

func newCall() any {
	k := &call{out: make([]byte, 0, 4<<10)}
	k.in.small = make([]byte, smallBuffer)
	k.in.buf = k.in.small
	return k
}

// acquireCall takes a call from the pool for a connection.
func (s *Server) acquireCall(c *conn) *call {
	k := s.calls.Get().(*call)
	k.srv, k.conn = s, c
	return k
}

// release gives a call back to the pool, which is as finish has left it.
func (s *Server) release(k *call) {
	k.in.release(&s.room)
	k.srv, k.conn, k.set = nil, nil, nil
	s.calls.Put(k)
}

// start initialises the reply to a request with the given arguments.
func (k *call) start(args []byte) {
	c := k.conn
	k.agent = c.agent
	k.args = cbor.NewReader(args)
	k.out = k.out[:0]
	r := &k.line // it is empty
	r.Time, r.Service, r.Status, r.Client = k.now, k.srv.cfg.Name, http.StatusOK, c.Client
	r.UserAgent, r.TLS, r.RequestID = c.agent, c.Secure, c.ids.Append(k.id[:0])
	r.Principal = c.auth.claimedID
	if k.method != nil {
		r.Operation = k.method.name
	}
}

// errHangup is the reason for which a reply is not sent.
var errHangup = errors.New("the service asked for the connection to be closed")

// forget drops the references to the request.
func (k *call) forget() {
	k.client, k.agent, k.args, k.failed, k.cached, k.hangup = accel.Client{}, nil, cbor.Reader{}, nil, nil, false
	k.line = telemetry.Record{}
	k.scratch.release()
	if cap(k.out) > maxPooledReply {
		k.out = make([]byte, 0, 4<<10)
	}
}

// fail replaces the reply with an error.
func (k *call) fail(e *fault.Error) {
	k.failed = e
	k.out, k.cached = e.Append(k.out[:0]), nil
	k.line.Status = e.Status
	if e.Status == 0 {
		k.line.Status = http.StatusForbidden // DAX's own errors have no status
	}
	if k.line.Decision == telemetry.None {
		k.line.Decision = telemetry.Local
	}
	if k.line.Error == "" {
		k.line.Error = cmp.Or(e.Type, e.Message)
	}
	if k.line.Reason == "" && k.line.Decision == telemetry.Local {
		k.line.Reason = reasonMalformed
	}
}

// Reasons in the access log of requests that are answered by the server itself.
const (
	reasonAuthentication = "authentication"
	reasonPermission     = "permission"
	reasonRateLimit      = "rate-limit"
	reasonMalformed      = "malformed"
	reasonFault          = "fault"
)

// local records that the server answered the request itself.
func (k *call) local() { k.line.Decision = telemetry.Local }

// ctx returns the context of the request. It ends when the client disconnects, the reply's
// deadline has passed, or Shutdown stops waiting. It costs only a small allocation until its
// end is waited for.
func (k *call) ctx() context.Context {
	if k.context == nil {
		k.context = &requestContext{conn: k.conn, deadline: k.now.Add(k.set.limits.AnswerTimeout)}
	}
	return k.context
}

// answer serves a complete request and writes the reply. It returns false if the connection
// must be closed.
func (c *conn) answer(args []byte, size int) bool {
	k := c.k
	c.Served, c.answered = true, true
	k.start(args)
	if e := c.admit(k.method); e != nil {
		k.fail(e)
	} else {
		k.serve()
	}
	if k.context != nil {
		k.context.stop()
		k.context = nil
	}
	return c.finish(size)
}

// serve runs the method. A panic in it becomes an error: the outcome of a write is then
// unknown, as after any such error.
func (k *call) serve() {
	defer func() {
		if p := recover(); p != nil {
			k.srv.metrics.panics.Inc()
			k.srv.log().Error("a fault inside the DAX front", slog.String("operation", k.method.name),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			k.line.Reason = reasonFault
			k.fail(fault.New("InternalServerError", "Internal server error"))
			k.scratch = scratch{} // its state is undefined
		}
	}()
	k.method.serve(k)
	if len(k.out) == 0 && k.cached == nil {
		k.fail(fault.New("InternalServerError", "Internal server error"))
	}
}

// finish writes the reply and records the request, which had size bytes.
func (c *conn) finish(size int) bool {
	k := c.k
	out := k.out
	switch {
	case c.framed:
		k.out = frame(append(k.out, k.cached...))
		out = k.out
	case k.cached != nil:
		out = k.cached
	}
	var err error
	if k.hangup {
		out, err, c.hungUp = nil, errHangup, true
	} else {
		err = c.write(out)
	}
	r := &k.line
	r.BytesIn, r.BytesOut = size, len(out)
	if err != nil {
		r.BytesOut = 0
		c.srv.metrics.unsent.Inc()
	}
	r.Duration = time.Since(k.now)
	if t := c.srv.cfg.Tracer; t != nil {
		if r.Trace = t.Start(nil); r.Trace != nil {
			r.TraceID = r.Trace.HexID()
		}
	}
	c.srv.metrics.request(k)
	k.set.log.Log(r)
	k.forget()
	return err == nil
}
