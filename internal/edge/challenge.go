package edge

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// challengePath begins the paths with which an ACME server verifies over HTTP that a domain
// leads to the listener (RFC 8555, section 8.3).
var challengePath = []byte("/.well-known/acme-challenge/")

// answerChallenge answers a request of an ACME server, if Config.Challenge has an answer for
// it. Other requests with such paths are for the service.
func (x *Exchange) answerChallenge() bool {
	if x.srv.cfg.Challenge == nil || string(x.Request.Method) != http.MethodGet {
		return false
	}
	body, ok := x.srv.cfg.Challenge(string(x.Request.Path))
	if !ok {
		return false
	}
	x.Reply.Status = http.StatusOK
	x.Reply.Field("Content-Type", "application/octet-stream")
	x.Reply.Lines(localStatus)
	x.Reply.Build(append(x.Reply.Buf, body...))
	x.Record.Decision, x.Record.Reason = telemetry.Local, reasonChallenge
	return true
}
