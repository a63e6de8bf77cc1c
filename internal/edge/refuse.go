package edge

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// refuse answers a message that can't be read on. It always returns false: where
// the next message starts is unknown.
func (c *conn) refuse(e *http1.Error) bool {
	x := c.x
	x.identify(&c.ids)
	x.refusal(e)
	return c.sendRefusal(x)
}

// refusal fills the reply for a message that was refused: without a body, but
// that of a request that is too large the service may give its own shape.
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

// The reasons, in the access log, of answers that the front gives by itself.
const (
	reasonMalformed = "malformed"
	reasonMethod    = "method"
	reasonTooLarge  = "too-large"
	reasonTooSlow   = "too-slow"
	reasonRateLimit = "rate-limit"
	reasonOptions   = "options"
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

// localStatus goes with what the front answers by itself; a service's own shape of
// a refusal brings its own.
var localStatus = []byte("Cache-Status: kasoku; " + telemetry.Local.CacheStatus() + "\r\n")

// limited answers a client that asks too often.
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

// sendRefusal sends the refusal in x.Reply and has the connection closed.
func (c *conn) sendRefusal(x *Exchange) bool {
	c.linger = true
	x.closing = true
	c.reply(x)
	return false
}

// callHook lets a hook of the service fill a refusal; should it fail, the refusal
// stays bare.
func (x *Exchange) callHook(f func(*Exchange)) {
	defer x.recovered()
	f(x)
}

// recovered turns a panic of the handler into a 500, or cuts the answer if it has
// begun, and has the connection closed.
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
