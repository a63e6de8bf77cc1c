package edge

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// refuse answers a message after which the connection can't be read. It always returns
// false: the start of the next message is unknown.
func (c *conn) refuse(e *http1.Error) bool {
	x := c.x
	x.identify(&c.ids)
	x.refusal(e)
	return c.sendRefusal(x)
}

// refusal fills the reply for a refused message: without a body, except that the service may
// shape the answer to a request that is too large.
func (x *Exchange) refusal(e *http1.Error) {
	x.Body = nil
	x.Reply.clear()
	x.Reply.Status = e.Status
	x.Record.Decision, x.Record.Reason, x.Record.Error = telemetry.Local, refusalReason(e.Status), e.Reason
	if f := x.srv.cfg.BodyTooLarge; f != nil && e.Status == http.StatusRequestEntityTooLarge {
		x.callHook(f)
		return
	}
	if e.Status == http.StatusMethodNotAllowed {
		x.Reply.Field("Allow", allow)
	}
	x.Reply.Lines(localStatus)
}

// The reasons, in the access log, of answers of the server's own.
const (
	reasonMalformed = "malformed"
	reasonMethod    = "method"
	reasonTooLarge  = "too-large"
	reasonTooSlow   = "too-slow"
	reasonRateLimit = "rate-limit"
	reasonOptions   = "options"
	reasonChallenge = "acme-challenge"
	reasonFault     = "fault"
)

// refusalReason returns the reason for a message that was refused with a status.
func refusalReason(status int) string {
	switch status {
	case http.StatusRequestTimeout:
		return reasonTooSlow
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return reasonTooLarge
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return reasonMethod
	}
	return reasonMalformed
}

// localStatus is sent with answers of the server's own, unless the service shapes them.
var localStatus = []byte("Cache-Status: kasoku; " + telemetry.Local.CacheStatus() + "\r\n")

// limited answers a client over its rate limit.
func (x *Exchange) limited() {
	x.srv.stats.limited.Inc()
	x.Reply.Status = http.StatusTooManyRequests
	x.Reply.FieldUint("Retry-After", 1)
	x.Record.Decision, x.Record.Reason = telemetry.Local, reasonRateLimit
	if f := x.srv.cfg.RateLimited; f != nil {
		x.callHook(f)
		return
	}
	x.Reply.Lines(localStatus)
}

// sendRefusal sends the refusal in x.Reply and closes the connection.
func (c *conn) sendRefusal(x *Exchange) bool {
	c.linger = true
	x.closing = true
	c.reply(x)
	return false
}

// callHook calls a hook of the service that fills a refusal; if it panics, the refusal has
// no body.
func (x *Exchange) callHook(f func(*Exchange)) {
	defer x.recovered()
	f(x)
}

// recovered turns a panic of the handler into a 500, or cuts the answer if it has begun, and
// closes the connection.
func (x *Exchange) recovered() {
	p := recover()
	if p == nil {
		return
	}
	x.srv.stats.panics.Inc()
	slog.Error("edge: handler panicked", "service", x.srv.cfg.Name, "panic", p,
		"request_id", string(x.Record.RequestID), "method", string(x.Request.Method),
		"path", string(x.Request.Path), "stack", string(debug.Stack()))
	x.Reply.Close = true
	if x.answer.begun {
		x.answer.Cut()
		return
	}
	x.Reply.clear()
	x.Reply.Status = http.StatusInternalServerError
	x.Reply.Lines(localStatus)
	x.Record.Decision, x.Record.Reason, x.Record.Error = telemetry.Local, reasonFault, "a fault inside Kasoku"
}
