package edge

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Exchange is one request and its answer. It belongs to the server, which reuses it: nothing
// of it may be kept after Serve has returned.
type Exchange struct {
	Request http1.Request
	// Body is the whole request body without its framing; nil while a streaming server has
	// not received all of it, see BodyReader and ReadBody.
	Body  []byte
	Reply Reply
	// Record becomes the line of the access log. The service sets Service, Operation, Table,
	// KeyHash, Key, Decision, Reason, Error, Principal and Origin; the server sets the rest.
	Record telemetry.Record
	// Unauthenticated is set by a service that requires authentication when the client of
	// this request has not authenticated: the connection keeps Limits.UnauthenticatedIdle.
	Unauthenticated bool

	srv   *Server
	set   *settings
	conn  *conn     // nil for HTTP/2
	h2    *h2Stream // nil for HTTP/1
	start time.Time
	watch *watch // made by Context
	// scoped is set by ClientScope: the connection's client is watched for this exchange.
	scoped bool

	denied  bool // by the rate limit
	closing bool // the connection ends after this answer
	traced  bool // the tracer has decided about it

	light  bool     // of HTTP/2, with smaller buffers
	stream h2Stream // h2, if that is not nil
	held   int      // bytes of the answer's body that are counted

	in        input
	body      *incoming   // read by the handler, from Body or the connection
	out       []byte      // the head of the answer, and its body if that is small; a chunk
	vec       [3][]byte   // the pieces to write
	left      net.Buffers // of vec
	sent      int         // bytes of the answer
	pace      pace        // at which the client reads the answer, once it was waited for
	key       []byte      // memory of Record.Key
	id        [listener.RequestIDSize]byte
	principal [principalSize]byte // memory of Record.Principal, if it is no longer

	answer   Outgoing
	upgraded *upgradedConn // made by Upgrade
	// interimMu is held while an interim answer is sent and when the final one begins, but
	// not while that is sent: "100 Continue" is sent by the goroutine that reads the body.
	interimMu sync.Mutex
}

// Start returns the time at which the request's first byte was read.
func (x *Exchange) Start() time.Time { return x.start }

// Now returns the clock of this exchange. It is read once, so that all decisions about one
// request use the same instant.
func (x *Exchange) Now() time.Time { return x.start }

// Version returns the client's version of HTTP: "1.0", "1.1" or "2", as Via has it (RFC
// 9110, section 7.6.3).
func (x *Exchange) Version() string {
	switch {
	case x.h2 != nil:
		return "2"
	case x.Request.Minor == 0:
		return "1.0"
	}
	return "1.1"
}

// Sizes of buffers in the pool.
const (
	inSize  = 8 << 10
	outSize = 4 << 10
	keepMax = 64 << 10
)

var exchanges = sync.Pool{New: func() any {
	x := &Exchange{out: make([]byte, 0, outSize)}
	x.in.buf = make([]byte, inSize)
	x.Reply.Buf = make([]byte, 0, outSize)
	x.Request.Fields = make([]http1.Field, 0, 32)
	x.Reply.lines = make([]byte, 0, 1<<10)
	return x
}}

// lightExchanges are for HTTP/2. They need smaller buffers, because nothing is read from a
// connection into them and no head is made in them, and a client can have many at once.
var lightExchanges = sync.Pool{New: func() any {
	x := &Exchange{light: true}
	x.in.buf = make([]byte, 1<<10)
	x.Request.Fields = make([]http1.Field, 0, 16)
	x.Reply.lines = make([]byte, 0, 1<<9)
	return x
}}

// acquireExchange returns an exchange from the pool; c is nil for HTTP/2.
func acquireExchange(s *Server, c *conn) *Exchange {
	pool := &exchanges
	if c == nil {
		pool = &lightExchanges
	}
	x := pool.Get().(*Exchange)
	x.srv, x.conn = s, c
	x.Request.Reset()
	return x
}

// release returns x to the pool with the buffers that are worth keeping.
func (x *Exchange) release() {
	x.returnLoan()
	x.uncountBody()
	x.srv, x.conn, x.h2, x.set = nil, nil, nil, nil
	x.Body, x.Reply.Body, x.Reply.Pages, x.Reply.Before, x.Reply.After = nil, nil, nil, nil, nil
	x.body, x.upgraded, x.answer = nil, nil, Outgoing{}
	x.Record = telemetry.Record{}
	x.vec, x.left = [3][]byte{}, nil
	x.in.release()
	if x.light {
		x.shrink()
		lightExchanges.Put(x)
		return
	}
	if cap(x.out) > keepMax {
		x.out = make([]byte, 0, outSize)
	}
	if cap(x.Reply.Buf) > keepMax {
		x.Reply.Buf = make([]byte, 0, outSize)
	}
	if cap(x.Reply.lines) > keepMax {
		x.Reply.lines = make([]byte, 0, 1<<10)
	}
	exchanges.Put(x)
}

// shrink drops the buffers that have grown in an exchange of HTTP/2.
func (x *Exchange) shrink() {
	x.out = nil
	if cap(x.Reply.Buf) > outSize {
		x.Reply.Buf = nil
	}
	if cap(x.Reply.lines) > outSize {
		x.Reply.lines = nil
	}
}

// returnLoan returns the memory of the body when the answer has been written or will not be.
func (x *Exchange) returnLoan() {
	if x.Reply.Loan != nil {
		x.vec, x.left = [3][]byte{}, nil
		x.Reply.returnLoan()
	}
}

// begin initializes everything except the request for a new exchange.
func (x *Exchange) begin(client netip.AddrPort, secure bool) {
	x.Reply.Reset()
	x.Body, x.body, x.upgraded, x.pace = nil, nil, nil, pace{}
	x.denied, x.closing, x.traced, x.sent, x.Unauthenticated = false, false, false, 0, false
	if x.answer.begun {
		x.answer = Outgoing{}
	}
	x.Record = telemetry.Record{Time: x.start, Client: client, TLS: secure}
}

// maxRecordKey is the maximum length of a key that SetKey keeps.
const maxRecordKey = 256

// SetKey sets the key of the record and its hash. It copies up to 256 bytes of the key.
func (x *Exchange) SetKey(hash uint64, key []byte) {
	x.key = append(x.key[:0], key[:min(len(key), maxRecordKey)]...)
	x.Record.KeyHash, x.Record.Key = hash, x.key
}

// identify sets the request id: the client's if it is valid, or a new one.
func (x *Exchange) identify(ids *listener.RequestIDs) {
	if id := x.Request.Get("X-Request-Id"); validID(id) {
		x.Record.RequestID = id
	} else {
		x.Record.RequestID = ids.Append(x.id[:0])
	}
}

// serve calls the handler. A panic in it becomes a 500.
func (x *Exchange) serve() {
	defer x.recovered()
	x.set.handler.Serve(x)
}

// account completes the record and passes it to the log and the metrics.
func (x *Exchange) account(bytesIn, bytesOut int, took time.Duration) {
	r := &x.Record
	r.Duration = took
	r.Status = x.Reply.Status
	r.BytesIn, r.BytesOut = bytesIn, bytesOut
	r.UserAgent = x.Request.Get("User-Agent")
	parent := x.Request.Get(traceparent)
	if t := x.trace(parent); t != nil {
		r.TraceID = t.HexID()
	} else {
		r.TraceID = telemetry.TraceID(parent)
	}
	x.srv.stats.exchange(r)
	x.set.log.Log(r)
}

// end stops the watches that Context and ClientScope have started.
func (x *Exchange) end() {
	if x.watch != nil {
		x.watch.stop()
		x.watch = nil
	}
	x.stopScope()
}
