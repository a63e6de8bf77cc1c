package plain

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// bbpd's own header fields. Only their presence matters.
const (
	fieldVerbose = "X-Bbpd-Verbose"
	fieldIndent  = "X-Bbpd-Indent"
)

var contentJSON = []byte("Content-Type: application/json\r\n")

// formatReply converts the reply to the form that the client requested. An error is only
// indented: clients recognise errors by their members.
func (t *task) formatReply() {
	r := &t.x.Reply
	if t.verbose && r.Status == http.StatusOK {
		body := t.moveBody()
		t.answer(r.Status, t.appendEnvelope(r.Buf[:0], body, time.Now()))
	}
	if t.indent && len(r.Body) > 0 {
		var b bytes.Buffer
		if json.Indent(&b, r.Body, "", "\t") == nil {
			t.answer(r.Status, append(r.Buf[:0], b.Bytes()...))
		}
	}
	r.Remove(fieldType, fieldType)
	if !t.wrap() {
		r.Lines(contentJSON)
	}
	if t.rewritten {
		r.Remove(fieldCRC, fieldCRC) // it was the checksum of the original body
	}
}

const (
	fieldType = "Content-Type"
	fieldCRC  = "x-amz-crc32"
)

// appendEnvelope appends bbpd's envelope: the body, as a string, and the details of the run.
func (t *task) appendEnvelope(dst, body []byte, now time.Time) []byte {
	start := t.x.Start()
	dst = wire.AppendQuoted(append(dst, `{"Name":`...), []byte(t.operationName()))
	dst = strconv.AppendInt(append(dst, `,"StatusCode":`...), int64(t.x.Reply.Status), 10)
	dst = wire.AppendQuoted(append(dst, `,"Body":`...), body)
	dst = append(append(dst, `,"Run":{"Method":"`...), t.x.Request.Method...)
	dst = start.AppendFormat(append(dst, `","Host":"localhost","Start":"`...), time.RFC3339Nano)
	dst = now.AppendFormat(append(dst, `","End":"`...), time.RFC3339Nano)
	dst = append(append(dst, `","Duration":"`...), now.Sub(start).String()...)
	return append(dst, `"}}`...)
}

// operationName returns the name of the operation in the envelope: the whole target of a raw
// operation, otherwise the route's name.
func (t *task) operationName() string {
	switch {
	case t.r.name != "":
		return t.r.name
	case len(t.pathRest) > 0:
		return string(t.pathRest)
	}
	return string(t.x.Request.Get(fieldTarget))
}
