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

// task is an exchange under way. It is pooled: its buffers keep their memory from
// one exchange to the next.
type task struct {
	h        *Handler
	cfg      *Config
	x        *edge.Exchange
	r        *route
	pathRest []byte // of the path, behind a prefix

	call func(x *edge.Exchange) // in the client's name

	verbose, indent bool
	rewritten       bool // the body is not the service's

	conv   converter
	fields http1.Fields // of the request that the service is given
	body   []byte       // that request's
	reply  []byte       // a reply moved out of the exchange's buffer
	name   []byte       // a table's

	callback jsonp.Session
	lines    []byte // of the answer's header
}

var tasks = sync.Pool{New: func() any { return new(task) }}

func (t *task) begin(h *Handler, x *edge.Exchange, r *route, rest []byte) {
	t.h, t.cfg, t.x, t.r, t.pathRest = h, h.cfg.Load(), x, r, rest
	t.rewritten, t.conv.tooLarge = false, false
}

// maxPooledBuffer bounds the buffers that go back to the pool, maxPooledMembers the members.
const (
	maxPooledBuffer  = 64 << 10
	maxPooledMembers = 512
)

// end lets go of everything that belongs to the exchange.
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

// crossSite tells whether a browser sent the request for a page from elsewhere. Plain
// routes need no header field that makes browsers ask first, and without signatures
// any page could use what listens on its reader's machine.
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

// refuse answers by itself with an error in DynamoDB's shape.
func (t *task) refuse(status int, typ, message string) {
	t.answer(status, wire.AppendError(t.x.Reply.Buf[:0], typ, message))
	t.local()
	t.x.Record.Reason, t.x.Record.Error = "malformed", typ
	if status >= http.StatusInternalServerError {
		t.x.Record.Reason = "fault"
	}
}

// merge gives the client a body that was built in the exchange's buffer.
func (t *task) answer(status int, body []byte) {
	t.x.Reply.Status = status
	t.x.Reply.Build(body)
	t.rewritten = true
}

// local notes that the service had no part in the answer.
func (t *task) local() { t.setDecision(telemetry.Local) }

// setDecision notes how an answer came about that is not the service's as a whole.
func (t *task) setDecision(d telemetry.Decision) {
	t.x.Record.Service, t.x.Record.Decision = t.h.name, d
	t.x.Reply.Field("Cache-Status", "kasoku; "+d.CacheStatus())
}

// forward has the service answer the exchange as a request for the target with a body.
func (t *task) forward(target, body []byte) {
	x := t.x
	request, sent := x.Request, x.Body
	defer func() { x.Request, x.Body = request, sent }()
	t.fields = protocolFields(t.fields[:0], &request, target)
	x.Request, x.Body = protocolRequest(&request, t.fields), body
	t.call(x)
	if sameBuffer(body, t.body) {
		// The record may refer to the body, and outlives it.
		x.Record.Table = bytes.Clone(x.Record.Table)
	}
}

// sameBuffer tells whether b is what is in buf.
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

// protocolRequest is the request that the service is given: r in DynamoDB's own protocol.
func protocolRequest(r *http1.Request, fields http1.Fields) http1.Request {
	own := *r
	own.Method, own.Target, own.Path, own.RawQuery, own.Fields = methodPost, pathRoot, pathRoot, nil, fields
	return own
}

// protocolFields appends the header fields of r, but with what DynamoDB's protocol says
// in place of what the client said; the body is decoded by now.
func protocolFields(dst http1.Fields, r *http1.Request, target []byte) http1.Fields {
	dst = append(dst, http1.Field{Name: nameTarget, Value: target}, http1.Field{Name: nameContent, Value: jsonType})
	for _, f := range r.Fields {
		// Of fields with one name the first counts.
		if !bytes.EqualFold(f.Name, nameEncoding) {
			dst = append(dst, f)
		}
	}
	return dst
}

var nameEncoding = []byte("Content-Encoding")

// moveBody returns the reply's body out of the exchange's buffer, so that another can
// be built there.
func (t *task) moveBody() []byte {
	t.reply = append(t.reply[:0], t.x.Reply.Body...)
	return t.reply
}

// detachBody returns the reply's body where it does not lie in the exchange's buffer.
func (t *task) detachBody() []byte {
	if sameBuffer(t.x.Reply.Body, t.x.Reply.Buf) {
		return t.moveBody()
	}
	return t.x.Reply.Body
}
