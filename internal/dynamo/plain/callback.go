package plain

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/jsonp"
)

// admitCallback reads the callback from the query. It returns false if it has rejected the
// request. Routes read only their own arguments, so the query is not changed. A signature in
// the query is not a credential here: the page itself made it.
func (t *task) admitCallback() bool {
	r := &t.x.Request
	if string(r.Method) == http.MethodPost {
		return true
	}
	if t.callback.Admit(t.cfg.JSONP, r, nil) != jsonp.RefuseIt {
		return true
	}
	reason := t.callback.Reason()
	typ, message := "ValidationException", "The callback's name is not allowed"
	if reason == jsonp.NotScript {
		typ, message = "AccessDeniedException", "The answer was not requested as a script"
	}
	t.refuse(reason.Info().Status, typ, message)
	return false
}

// wrap wraps the reply in the callback if that is allowed. It reports whether it has also
// set the Content-Type.
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

// addStatus adds the callback's reason to Cache-Status, and the header lines that keep other
// caches from sharing the reply with other clients.
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
