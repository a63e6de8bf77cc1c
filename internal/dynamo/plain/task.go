package plain

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// task is an exchange in progress. It is pooled: its buffers are reused for later exchanges.
type task struct {
	h        *Handler
	cfg      *Config
	x        *edge.Exchange
	r        *route
	pathRest []byte // path after the route's prefix

	call func(x *edge.Exchange) // serves exchanges on behalf of the client; see Service.Admit

	verbose, indent bool
	rewritten       bool // the body differs from the service's

	conv   converter
	fields http1.Fields // header fields of the forwarded request
	body   []byte       // body of the forwarded request
	reply  []byte       // copy of a reply's body, made by moveBody
	name   []byte       // a decoded table name

	callback jsonp.Session
	lines    []byte // header lines of the reply
}

var tasks = sync.Pool{New: func() any { return new(task) }}

func (t *task) begin(h *Handler, x *edge.Exchange, r *route, rest []byte) {
	t.h, t.cfg, t.x, t.r, t.pathRest = h, h.cfg.Load(), x, r, rest
	t.rewritten, t.conv.tooLarge = false, false
}

// maxPooledBuffer and maxPooledMembers bound the capacity of slices that are returned to the
// pool.
const (
	maxPooledBuffer  = 64 << 10
	maxPooledMembers = 512
)

// end releases everything that belongs to the exchange.
func (t *task) end() {
	t.h, t.cfg, t.x, t.r, t.pathRest, t.call = nil, nil, nil, nil, nil, nil
	clear(t.fields)
	t.fields = t.fields[:0]
	for _, b := range []*[]byte{&t.body, &t.reply, &t.name, &t.conv.text, &t.lines} {
		if *b = (*b)[:0]; cap(*b) > maxPooledBuffer {
			*b = nil
		}
	}
	t.callback.Reset()
	t.conv.seen = nil
	clear(t.conv.members)
	if t.conv.members = t.conv.members[:0]; cap(t.conv.members) > maxPooledMembers {
		t.conv.members = nil
	}
	tasks.Put(t)
}

func (t *task) serve() {
	x := t.x
	t.verbose, t.indent = x.Request.Get(fieldVerbose) != nil, x.Request.Get(fieldIndent) != nil
	switch {
	case !t.r.allows(x.Request.Method):
		x.Reply.Field("Allow", t.r.allow)
		t.refuse(http.StatusMethodNotAllowed, "UnknownOperationException", string(x.Request.Method)+" is not a method of "+t.r.path+"; it takes "+t.r.allow)
	case crossSite(&x.Request):
		t.refuse(http.StatusForbidden, "AccessDeniedException", "A page of another origin may not use this route")
	case !t.admitCallback():
	default:
		if t.call = t.h.service.Admit(x); t.call != nil {
			t.r.serve(t)
		}
	}
	t.formatReply()
}

// crossSite reports whether a browser sent the request for a page of another site. Plain
// routes require no header field that would trigger a preflight, and without signatures any
// page could otherwise use a service on its reader's machine.
func crossSite(r *http1.Request) bool {
	if string(r.Method) != http.MethodPost {
		return false
	}
	if site := r.Get("Sec-Fetch-Site"); site != nil {
		return string(site) != "same-origin" && string(site) != "none"
	}
	from := r.Get("Origin")
	if from == nil {
		return false
	}
	_, host, _ := bytes.Cut(from, []byte("://"))
	return !bytes.EqualFold(host, r.Host)
}

// refuse answers with an error in DynamoDB's format.
func (t *task) refuse(status int, typ, message string) {
	t.answer(status, wire.AppendError(t.x.Reply.Buf[:0], typ, message))
	t.local()
	t.x.Record.Reason, t.x.Record.Error = "malformed", typ
	if status >= http.StatusInternalServerError {
		t.x.Record.Reason = "fault"
	}
}

// answer answers with a body that was built in the exchange's buffer.
func (t *task) answer(status int, body []byte) {
	t.x.Reply.Status = status
	t.x.Reply.Build(body)
	t.rewritten = true
}

// local records that the service was not involved in the reply.
func (t *task) local() { t.setDecision(telemetry.Local) }

// setDecision records the decision for a reply that isn't that of a single service reply.
func (t *task) setDecision(d telemetry.Decision) {
	t.x.Record.Service, t.x.Record.Decision = t.h.name, d
	t.x.Reply.Field("Cache-Status", "kasoku; "+d.CacheStatus())
}

// forward forwards the exchange to the service as a request with the given target and body.
func (t *task) forward(target, body []byte) {
	x := t.x
	request, sent := x.Request, x.Body
	defer func() { x.Request, x.Body = request, sent }()
	t.fields = protocolFields(t.fields[:0], &request, target)
	x.Request, x.Body = protocolRequest(&request, t.fields), body
	t.call(x)
	if sameBuffer(body, t.body) {
		// The record may alias the body, and outlives it.
		x.Record.Table = bytes.Clone(x.Record.Table)
	}
}

// sameBuffer reports whether b begins at the start of buf.
func sameBuffer(b, buf []byte) bool {
	buf = buf[:cap(buf)]
	return len(b) > 0 && len(buf) > 0 && &b[0] == &buf[0]
}

var (
	methodPost  = []byte(http.MethodPost)
	pathRoot    = []byte("/")
	nameTarget  = []byte(fieldTarget)
	nameContent = []byte("Content-Type")
	jsonType    = []byte(protocolType)
)

// protocolRequest returns r as a request in DynamoDB's own protocol.
func protocolRequest(r *http1.Request, fields http1.Fields) http1.Request {
	own := *r
	own.Method, own.Target, own.Path, own.RawQuery, own.Fields = methodPost, pathRoot, pathRoot, nil, fields
	return own
}

// protocolFields appends the header fields of r with the target and content type of
// DynamoDB's protocol, and without Content-Encoding, because the body has been decoded.
func protocolFields(dst http1.Fields, r *http1.Request, target []byte) http1.Fields {
	dst = append(dst, http1.Field{Name: nameTarget, Value: target}, http1.Field{Name: nameContent, Value: jsonType})
	for _, f := range r.Fields {
		// If a field is repeated, the first is used.
		if !bytes.EqualFold(f.Name, nameEncoding) {
			dst = append(dst, f)
		}
	}
	return dst
}

var nameEncoding = []byte("Content-Encoding")

// moveBody copies the reply's body out of the exchange's buffer, so that another one can be
// built there.
func (t *task) moveBody() []byte {
	t.reply = append(t.reply[:0], t.x.Reply.Body...)
	return t.reply
}

// detachBody returns the reply's body, copied if it is in the exchange's buffer.
func (t *task) detachBody() []byte {
	if sameBuffer(t.x.Reply.Body, t.x.Reply.Buf) {
		return t.moveBody()
	}
	return t.x.Reply.Body
}
