package jsonp

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Answer is what an answer is judged by.
type Answer struct {
	Status          int
	ContentType     []byte
	ContentEncoding []byte
	// Kind is what a Scanner has seen of the body, or Look of its beginning.
	Kind Kind
}

// Request is what a request is judged by.
type Request struct {
	Method []byte
	// NameStatus is what Name has found in its query.
	Name NameStatus
	// Credentials says that it has a Cookie or Authorization.
	Credentials bool
	// Destination is its Sec-Fetch-Dest; nil where it has none.
	Destination []byte
}

// Admit judges a request. Wrapped means that the answer is to be judged.
func (f *Filter) Admit(r *Request) Reason {
	switch {
	case string(r.Method) != "GET" && string(r.Method) != "HEAD":
		return OtherMethod
	case r.Name == NameAbsent:
		return NoCallback
	case r.Name == NameInvalid && f.cfg.Invalid == Refuse:
		return BadName
	case r.Name == NameInvalid:
		return BadNamePassed
	case f.cfg.ScriptOnly && r.Destination != nil && string(r.Destination) != "script":
		return NotScript
	case r.Credentials && !f.cfg.Public:
		return HasCredentials
	}
	return Wrapped
}

// Judge judges the answer to a request that was admitted. HEAD is answered as GET
// would be, so its answer is judged by the body that GET has, if that is known.
func (f *Filter) Judge(a *Answer) Reason {
	switch {
	case a.Status < 200 || a.Status == 204 || a.Status == 205 || a.Status == 304:
		return NoBody
	case a.Status == 206:
		return Part
	case f.cfg.Mode == Legacy && a.Status != 200, !succeeded(a.Status) && f.cfg.Errors == OnlySuccess:
		return OtherStatus
	case !succeeded(a.Status) && f.cfg.Errors == Envelope:
		return f.judgeError(a)
	}
	return f.judgeBody(a)
}

// judgeError judges what an envelope may go around. A status says something even if
// the body does not, and then comes without one. Clients follow redirects by themselves.
func (f *Filter) judgeError(a *Answer) Reason {
	if a.Status/100 == 3 {
		return OtherStatus
	}
	if f.judgeBody(a) == Encoded {
		return Encoded
	}
	return Enveloped
}

func (f *Filter) judgeBody(a *Answer) Reason {
	switch {
	case !f.Wraps(a.ContentType):
		return OtherType
	case len(a.ContentEncoding) > 0 && !bytes.EqualFold(a.ContentEncoding, identity):
		return Encoded
	case a.Kind == Empty && f.cfg.Errors != Envelope:
		return NoContent
	case a.Kind == Other && f.cfg.Mode != Legacy:
		return NotJSON
	}
	return Wrapped
}

// Bare tells whether an answer that is Enveloped has to be so without its body, which
// is no JSON.
func (f *Filter) Bare(a *Answer) bool { return f.judgeBody(a) != Wrapped }

var identity = []byte("identity")

func succeeded(status int) bool { return status == 200 || status == 201 || status == 203 }

// Wraps tells whether a media type is wrapped, whatever its parameters.
func (f *Filter) Wraps(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, semicolon)
	kind = bytes.TrimSpace(kind)
	for _, t := range f.cfg.Types {
		if ascii.EqualFold(kind, t) {
			return true
		}
	}
	if f.cfg.Mode == Legacy {
		return false
	}
	const suffix = "+json"
	n := len(kind) - len(suffix)
	return ascii.EqualFold(kind, "application/json") || n > 0 && ascii.EqualFold(kind[n:], suffix) && bytes.IndexByte(kind[:n], '/') > 0
}

var semicolon = []byte{';'}
