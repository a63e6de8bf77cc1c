package jsonp

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Answer has the properties of an answer that Judge needs.
type Answer struct {
	Status          int
	ContentType     []byte
	ContentEncoding []byte
	// Kind is the result of a Scanner for the body, or of Look for its beginning.
	Kind Kind
}

// Request has the properties of a request that Admit needs.
type Request struct {
	Method []byte
	// Name is the result of Filter.Name for its query.
	Name NameStatus
	// Credentials reports a Cookie, an Authorization or another field that identifies a
	// client.
	Credentials bool
	// Destination is its Sec-Fetch-Dest; nil if it has none.
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

// Judge judges the answer to a request that was admitted. The answer to HEAD is judged by
// the body that GET would have, if that is available.
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

// judgeError judges an answer for an envelope. The status is information even if the body is
// not JSON; it is then sent without the body. Clients follow redirects themselves.
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

// Bare reports whether an Enveloped answer is sent without its body, because that is not
// JSON.
func (f *Filter) Bare(a *Answer) bool { return f.judgeBody(a) != Wrapped }

var identity = []byte("identity")

func succeeded(status int) bool { return status == 200 || status == 201 || status == 203 }

// Wraps reports whether a media type is wrapped. Its parameters are ignored.
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
