package plain

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// admitCallback finds the callback, and reports false if the request was refused. Routes
// read only arguments of their own, so the query keeps the callback. A signature in the
// query is not a credential here: the page has made it itself.
func (t *task) admitCallback() bool {
	r := &t.x.Request
	if string(r.Method) == http.MethodPost {
		return true
	}
	if t.callback.Admit(t.cfg.JSONP, r, nil) != jsonp.RefuseIt {
		return true
	}
	why := t.callback.Reason()
	typ, message := "ValidationException", "The callback's name is not allowed"
	if why == jsonp.NotScript {
		typ, message = "AccessDeniedException", "The answer was not asked for as a script"
	}
	t.refuse(why.Info().Status, typ, message)
	return false
}

// wrap wraps the answer if it is to be wrapped. It reports whether the answer then has a
// Content-Type.
func (t *task) wrap() bool {
	cb, r := &t.callback, &t.x.Reply
	var body jsonp.Body
	if cb.Admitted() {
		body = cb.Scan(r.Body)
		cb.Judge(jsonp.Answer{Status: r.Status, ContentType: applicationJSON, Kind: body.Kind})
	}
	if !cb.Decided() {
		return false
	}
	t.addStatus()
	if !cb.Wraps() {
		return false
	}
	call := cb.Wrap()
	t.answer(call.Status(r.Status), call.Append(r.Buf[:0], t.detachBody(), &body))
	t.lines = call.AppendLines(t.lines[:0])
	r.Lines(t.lines)
	return cb.Filter().Drops(nameContent)
}

const fieldStatus = "Cache-Status"

// addStatus adds the callback's reason to Cache-Status, and the header lines that keep
// caches on the way from giving the answer to other clients.
func (t *task) addStatus() {
	r := &t.x.Reply
	b := t.lines[:0]
	for line := range bytes.Lines(r.Head()) {
		if bytes.HasPrefix(line, statusLine) {
			b = append(t.callback.AppendStatus(append(b, bytes.TrimRight(line, "\r\n")...)), "\r\n"...)
		}
	}
	r.Remove(fieldStatus, fieldStatus)
	b = append(b, t.callback.Lines()...)
	r.Lines(b)
	t.lines = b
}

var (
	statusLine      = []byte(fieldStatus + ":")
	applicationJSON = []byte("application/json")
)
