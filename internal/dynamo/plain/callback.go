package plain

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// callback is the call that a request wants its answer wrapped in. It belongs to a task and
// is used again with it. Routes read only arguments of their own, so the query stays as it
// is.
type callback struct {
	asks bool         // the answer is to be judged
	why  jsonp.Reason // it is wrapped or not
	name []byte

	scanner   *jsonp.Scanner
	scannerOf *jsonp.Filter // which it was made for
}

// takeCallback finds the callback. False: the request was refused.
func (t *task) takeCallback() bool {
	f, r, cb := t.cfg.JSONP, &t.x.Request, &t.callback
	if f == nil || len(r.RawQuery) == 0 || string(r.Method) == http.MethodPost {
		return true
	}
	asks := jsonp.Request{Method: r.Method}
	if cb.name, asks.Asked = f.Name(cb.name[:0], r.RawQuery); asks.Asked == jsonp.Named {
		asks.Credentials, asks.Destination = credentials(r.Fields), r.Get("Sec-Fetch-Dest")
	}
	cb.why = f.Admit(&asks)
	switch cb.why {
	case jsonp.BadName:
		t.refuse(cb.why.Info().Status, "ValidationException", "The callback's name is not allowed")
		return false
	case jsonp.NotScript:
		t.refuse(cb.why.Info().Status, "AccessDeniedException", "The answer was not asked for as a script")
		return false
	}
	cb.asks = cb.why.Action() == jsonp.WrapIt
	return true
}

// credentials tells whether a request says who asks in fields that browsers add to what
// any site asks for. A signature in the query is what the page itself has.
func credentials(fields http1.Fields) bool {
	for i := range fields {
		if f := &fields[i]; f.Is("Cookie") || f.Is("Authorization") {
			return true
		}
	}
	return false
}

// wrap wraps the answer if it is to be. Otherwise its Content-Type is still to be said.
func (t *task) wrap() (wrapped bool) {
	cb, r := &t.callback, &t.x.Reply
	if cb.why == jsonp.NoCallback {
		return false
	}
	var body jsonp.Body
	if cb.asks {
		body = t.scan(r.Body)
		cb.why = t.cfg.JSONP.Judge(&jsonp.Answer{Status: r.Status, ContentType: applicationJSON, Kind: body.Kind})
	}
	t.tell()
	if cb.why.Action() != jsonp.WrapIt {
		return false
	}
	call := t.cfg.JSONP.Call(cb.name, cb.why, r.Status)
	t.answer(call.Status(r.Status), call.Append(r.Buf[:0], t.apart(), &body))
	t.lines = call.AppendLines(t.lines[:0])
	r.Lines(t.lines)
	return t.cfg.JSONP.Drops(nameContent)
}

// scan looks through an answer's body. The scanner is kept: it is made for a filter.
func (t *task) scan(body []byte) jsonp.Body {
	cb := &t.callback
	if cb.scannerOf != t.cfg.JSONP {
		cb.scanner, cb.scannerOf = t.cfg.JSONP.NewScanner(), t.cfg.JSONP
	}
	cb.scanner.Reset()
	_, _ = cb.scanner.Write(body) // it never fails
	return cb.scanner.Body()
}

const fieldStatus = "Cache-Status"

// tell adds to Cache-Status what became of the callback, and what keeps caches on the way
// from giving an answer to others that is as it is because of who asks.
func (t *task) tell() {
	r, why := &t.x.Reply, t.callback.why
	b := t.lines[:0]
	for line := range bytes.Lines(r.Head()) {
		if bytes.HasPrefix(line, statusLine) {
			b = append(append(append(b, bytes.TrimRight(line, "\r\n")...), "; jsonp="...), why.String()...)
			b = append(b, "\r\n"...)
		}
	}
	r.Remove(fieldStatus, fieldStatus)
	b = append(b, why.Info().Lines...)
	r.Lines(b)
	t.lines = b
}

var (
	statusLine      = []byte(fieldStatus + ":")
	applicationJSON = []byte("application/json")
)
