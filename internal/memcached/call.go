package memcached

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/cespare/xxhash/v2"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
)

// call is the state of one exchange. It is pooled: nothing that outlives the exchange may
// refer to it or its memory. The one exception is the answer's body, which may be in get or
// plain: then the call is the reply's Loan and is released when that is returned.
type call struct {
	svc *Service
	set *settings
	loc *location
	x   *edge.Exchange

	req    key.Request
	bare   []byte // the key that the template makes
	wire   []byte // the key as sent
	hashed []byte // the text that the ring hashes; a part of one of the two
	server int    // index of the server with the key
	near   []byte // key of the copy in this process

	get      *client.Call
	callback jsonp.Session
	object   object // the value in get
	text     []byte // scratch for header lines
	plain    []byte // scratch for bodies
	inUse    bool   // the answer's body lies in get or plain
}

func newCall(s *Service) *call { return &call{svc: s, get: client.NewCall()} }

// Serve answers one exchange.
func (s *Service) Serve(x *edge.Exchange) {
	c := s.enter(x)
	defer c.finish()
	c.serve()
}

// enter starts a call.
func (s *Service) enter(x *edge.Exchange) *call {
	c := s.calls.Get().(*call)
	c.x, c.set = x, s.settings.Load()
	r := &x.Record
	r.Service, r.Path, r.Operation = s.name, x.Request.Path, httpcache.Operation(x.Request.Method)
	x.RecordUser()
	return c
}

// serve dispatches a request.
func (c *call) serve() {
	r := &c.x.Request
	if c.loc = c.set.table.find(r.Path, &c.req.Captures); c.loc != nil {
		c.x.Record.Route = c.loc.route
	}
	switch {
	case c.loc == nil:
		c.pass(NoLocation)
	case string(r.Method) != http.MethodGet && string(r.Method) != http.MethodHead:
		c.pass(OtherMethod)
	case !c.admitCallback():
	case !c.makeKey():
	case c.loc.NearTTL > 0:
		c.lookUpNear()
	default:
		c.ask()
	}
}

// makeKey makes the key. It returns false if there is none, and the request was answered.
func (c *call) makeKey() bool {
	if trouble := c.findKey(); trouble != key.OK {
		c.wire = c.wire[:0]
		c.miss(keyReasons[trouble])
		return false
	}
	c.x.SetKey(max(1, xxhash.Sum64(c.wire)), c.wire)
	return true
}

// findKey makes the key, or returns why there is none.
func (c *call) findKey() (trouble key.Trouble) {
	q, r := &c.req, &c.x.Request
	q.Path, q.Host, q.Fields, q.Decode = r.Path, r.Host, r.Fields, c.loc.Decode
	var ok bool
	if c.bare, ok = c.loc.template.Append(c.bare[:0], q); !ok {
		return key.Absent
	}
	c.wire, c.hashed, trouble = c.set.cfg.Rules.Wire(c.wire[:0], c.bare)
	return trouble
}

// ask fetches the value from memcached and answers.
func (c *call) ask() {
	if why := c.fetch(); why != FromMemcached {
		c.miss(why)
		return
	}
	c.answerHit()
}

// fetch fetches memcached's answer into c.get.
func (c *call) fetch() Reason {
	c.server = c.set.place(c.hashed)
	if c.server < 0 {
		return ServerDown
	}
	if r := c.set.client.Get(c.get, c.server, c.wire, c.loc.options()); r != client.Hit {
		return resultReasons[r]
	}
	return FromMemcached
}

// finish releases the call. A panic must not end more than the request.
func (c *call) finish() {
	if p := recover(); p != nil {
		c.fault(p)
		return // a call that panicked is not reused
	}
	if !c.inUse {
		c.release()
	}
}

// release drops everything that belongs to the exchange and returns the call to the pool.
func (c *call) release() {
	c.x, c.set, c.loc, c.hashed, c.inUse = nil, nil, nil, nil, false
	c.req, c.object = key.Request{}, object{}
	c.callback.Reset()
	if cap(c.plain) > keepBody {
		c.plain = nil
	}
	if cap(c.get.Value()) > keepBody {
		c.get.Release()
		c.get = client.NewCall()
	}
	c.svc.calls.Put(c)
}

// keepBody is the largest scratch for bodies that a call keeps.
const keepBody = 64 << 10

// Return implements edge.Loan: the answer's body has been sent.
func (c *call) Return() { c.release() }

// Pace implements edge.Loan: the memory of a body is not urgently needed.
func (c *call) Pace() int64 { return 0 }

// fault answers 500 after a panic.
func (c *call) fault(p any) {
	c.svc.log.Error("a fault in the service", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	c.x.Reply.Reset()
	c.refuse(http.StatusInternalServerError, Fault, "a fault inside Kasoku")
}

// refuse answers with an error as text.
func (c *call) refuse(status int, why Reason, words string) {
	r := &c.x.Reply
	r.Status = status
	r.FieldBytes("Content-Type", wordsType)
	r.Build(append(append(append(r.Buf, http.StatusText(status)...), ": "...), words+"\n"...))
	c.answered(why)
	c.x.Record.Error = words
}

// wordsType is the Content-Type of errors.
var wordsType = []byte("text/plain; charset=utf-8")

// answered records how the request was answered.
func (c *call) answered(why Reason) {
	c.x.Record.Decision, c.x.Record.Reason = why.Info().Decision, why.Info().Name
	c.svc.metrics.answered(why)
}
