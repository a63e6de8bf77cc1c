package dax

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// call is one request and its reply. It belongs to the connection that reads it, is taken
// from a pool when bytes come and goes back when none are left: nothing of it may be kept
// after its method's serve has returned, but for what the reply has copied.
type call struct {
	srv    *Server
	set    *settings // in force for this request
	client accel.Client
	agent  []byte      // the client's software, as it told it
	args   cbor.Reader // over exactly the arguments, which are whole
	out    []byte      // the reply; empty when serve begins
	cached []byte      // the reply if it is not in out: the cache's, which is only read
	now    time.Time   // when what made the request whole was read

	scratch scratch // what the operations need from one request to the next

	conn    *conn
	in      input
	scan    cbor.Scanner
	phase   uint8
	late    bool // the request came in more than one read
	head    int  // how many bytes of the message stand before the arguments
	method  *method
	context *requestContext // made by ctx
	names   [][]byte        // of a list of attributes
	failed  *fault.Error
	line    telemetry.Record
	id      [edge.RequestIDSize]byte
}

// maxPooledReply is how large a reply's buffer may be that is kept for other requests.
const maxPooledReply = 64 << 10

func newCall() any {
	k := &call{out: make([]byte, 0, 4<<10)}
	k.in.small = make([]byte, smallBuffer)
	k.in.buf = k.in.small
	return k
}

// obtain takes a call from the pool for a connection.
func (s *Server) obtain(c *conn) *call {
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

// start sets up for the answer, whose arguments are args.
func (k *call) start(args []byte) {
	c := k.conn
	k.agent = c.agent
	k.args = cbor.NewReader(args)
	k.out = k.out[:0]
	r := &k.line // nothing is in it
	r.Time, r.Service, r.Status, r.Client = k.now, k.srv.cfg.Name, http.StatusOK, c.client
	r.UserAgent, r.TLS, r.RequestID = c.agent, c.secure, c.ids.Append(k.id[:0])
	r.Principal = c.auth.claimedID
	if k.method != nil {
		r.Operation = k.method.name
	}
}

// forget lets go of what belonged to one request.
func (k *call) forget() {
	k.client, k.agent, k.args, k.failed, k.cached = accel.Client{}, nil, cbor.Reader{}, nil, nil
	k.line = telemetry.Record{}
	k.scratch.release()
	if cap(k.out) > maxPooledReply {
		k.out = make([]byte, 0, 4<<10)
	}
}

// fail answers with an error instead of whatever the reply has so far.
func (k *call) fail(e *fault.Error) {
	k.failed = e
	k.out, k.cached = e.Append(k.out[:0]), nil
	k.line.Status = e.Status
	if e.Status == 0 {
		k.line.Status = http.StatusForbidden // one of DAX's own, which have none
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

// The reasons, in the access log, of requests that are not answered by DynamoDB or from
// memory.
const (
	reasonAuthentication = "authentication"
	reasonPermission     = "permission"
	reasonRateLimit      = "rate-limit"
	reasonMalformed      = "malformed"
	reasonFault          = "fault"
)

// local notes that the server knew the answer by itself.
func (k *call) local() { k.line.Decision = telemetry.Local }

// ctx ends when the client goes away, the time for the answer is over, or the server no
// longer waits. It costs nothing but a small allocation before somebody waits for its end.
func (k *call) ctx() context.Context {
	if k.context == nil {
		k.context = &requestContext{conn: k.conn, deadline: k.now.Add(k.set.limits.AnswerTimeout)}
	}
	return k.context
}

// answer has a whole request served, and writes the reply. False means that the connection
// is to be closed.
func (c *conn) answer(args []byte, size int) bool {
	k := c.k
	c.served, c.answered = true, true
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

// serve lets the method answer. A panic in it becomes an error: what a write did before it
// is not known then, as after any error of this kind.
func (k *call) serve() {
	defer func() {
		if p := recover(); p != nil {
			k.srv.metrics.panics.Inc()
			k.srv.log().Error("a fault inside the DAX front", slog.String("operation", k.method.name),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			k.line.Reason = reasonFault
			k.fail(fault.New("InternalServerError", "Internal server error"))
			k.scratch = scratch{} // in which state it is nobody knows
		}
	}()
	k.method.serve(k)
	if len(k.out) == 0 && k.cached == nil {
		k.fail(fault.New("InternalServerError", "Internal server error"))
	}
}

// finish writes the reply and accounts for the request, of which size bytes have come.
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
	err := c.write(out)
	r := &k.line
	r.BytesIn, r.BytesOut = size, len(out)
	if err != nil {
		r.BytesOut = 0
		c.srv.metrics.unsent.Inc()
	}
	r.Duration = time.Since(k.now)
	c.srv.metrics.request(k)
	k.set.log.Log(r)
	k.forget()
	return err == nil
}
