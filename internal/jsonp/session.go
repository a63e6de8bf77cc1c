package jsonp

import (
	"slices"

	"github.com/kasoku/kasoku/internal/http1"
)

// Session wraps the answer to one request, in four steps: Admit finds the callback and
// decides whether it may be called, Strip removes it from the query, Judge decides whether
// the answer is wrapped, and Wrap starts the call around it.
//
// The zero Session is ready for use, and so is one after Reset, which keeps its memory. It
// refers to the request until Reset.
type Session struct {
	filter   *Filter // nil before Admit
	admitted bool    // the answer is to be judged
	decided  bool    // reason is final, unless another answer is judged
	reason   Reason
	answer   Answer // the last one judged
	call     Call

	name    []byte
	target  []byte   // memory of the result of Strip
	match   [][]byte // the lines of If-None-Match; they list tags of wrapped answers
	scanner Scanner
}

// Reset prepares s for another request.
func (s *Session) Reset() {
	if s.filter == nil {
		return // it holds nothing
	}
	clear(s.match)
	*s = Session{name: s.name, target: s.target, match: s.match[:0]}
}

// Admit starts with a new request and returns the action: refuse it (RefuseIt), judge its
// answer (WrapIt), or leave the answer as it is (LeaveIt). A nil f admits nothing.
// credentials are fields that identify a client, beside Cookie and Authorization.
func (s *Session) Admit(f *Filter, r *http1.Request, credentials []string) Action {
	s.Reset()
	if s.reason = NoCallback; f == nil || len(r.RawQuery) == 0 {
		return LeaveIt
	}
	q := Request{Method: r.Method}
	if s.name, q.Name = f.Name(s.name[:0], r.RawQuery); q.Name == NameValid {
		q.Credentials, q.Destination = hasCredentials(r.Fields, credentials), r.Get("Sec-Fetch-Dest")
	}
	s.filter, s.reason = f, f.Admit(&q)
	s.admitted = s.reason.Action() == WrapIt
	s.decided = !s.admitted && s.reason != NoCallback
	if s.admitted {
		for i := range r.Fields {
			if r.Fields[i].Is("If-None-Match") {
				s.match = append(s.match, r.Fields[i].Value)
			}
		}
	}
	return s.reason.Action()
}

// hasCredentials reports whether a request has Cookie, Authorization or a field of more.
func hasCredentials(fields http1.Fields, more []string) bool {
	for i := range fields {
		f := &fields[i]
		if f.Is("Cookie") || f.Is("Authorization") {
			return true
		}
		for _, name := range more {
			if f.Is(name) {
				return true
			}
		}
	}
	return false
}

// Strip returns the query without the callback and the other arguments that f strips, and
// path with that query behind a question mark. If nothing is left of the query, it is nil
// and the question mark is removed. If there is nothing to strip, target is nil. Both are
// valid until the next Strip.
func (s *Session) Strip(f *Filter, path, query []byte) (target, bare []byte) {
	if f == nil || !f.Strips(query) {
		return nil, query
	}
	b := append(append(s.target[:0], path...), '?')
	n := len(b)
	if b = f.Strip(b, query); len(b) > n {
		bare = b[n:]
	} else {
		b = b[:n-1]
	}
	s.target = b
	return b, bare
}

// Judge returns the action for the answer to an admitted request.
func (s *Session) Judge(a Answer) Action {
	s.answer, s.decided = a, true
	s.reason = s.filter.Judge(&s.answer)
	return s.reason.Action()
}

// JudgeBody judges the same answer again when more is known of its body.
func (s *Session) JudgeBody(kind Kind) Action {
	a := s.answer
	a.Kind = kind
	return s.Judge(a)
}

// JudgeDecoded judges the same answer again without its content coding.
func (s *Session) JudgeDecoded() Action {
	a := s.answer
	a.ContentEncoding = nil
	return s.Judge(a)
}

// Wrap starts the call around the answer that was judged last, and returns it. The call is
// valid until Reset.
func (s *Session) Wrap() *Call {
	s.call = s.filter.Call(s.name, s.reason, s.answer.Status)
	return &s.call
}

// Call returns the call that Wrap has started.
func (s *Session) Call() *Call { return &s.call }

// NotModified reports whether the client has the wrapped answer. tag is the plain answer's
// entity tag. Wrap precedes it.
func (s *Session) NotModified(tag []byte) bool {
	return len(tag) > 0 && s.answer.Status == 200 &&
		slices.ContainsFunc(s.match, func(line []byte) bool { return s.call.NotModified(line, tag) })
}

// Cancel leaves the answer to an admitted request as it is, without a reason.
func (s *Session) Cancel() { s.admitted = false }

// Admitted reports whether the answer is to be judged.
func (s *Session) Admitted() bool { return s.admitted }

// Decided reports whether Reason is final: the request was not admitted, or its answer was
// judged.
func (s *Session) Decided() bool { return s.decided }

// Wraps reports whether the answer was judged to be wrapped.
func (s *Session) Wraps() bool { return s.admitted && s.decided && s.reason.Action() == WrapIt }

// Bare reports whether the answer is wrapped as an envelope without a body.
func (s *Session) Bare() bool { return s.reason == Enveloped && s.filter.Bare(&s.answer) }

// Filter returns the filter that has admitted the request, nil if none has.
func (s *Session) Filter() *Filter { return s.filter }

// Reason returns the reason for the last decision.
func (s *Session) Reason() Reason { return s.reason }

// AppendStatus appends the parameter of Cache-Status for the reason, if it is decided.
func (s *Session) AppendStatus(dst []byte) []byte {
	if !s.decided {
		return dst
	}
	return append(append(dst, "; jsonp="...), s.reason.String()...)
}

// Lines returns the header lines that the reason adds to the answer, if it is decided.
func (s *Session) Lines() string {
	if !s.decided {
		return ""
	}
	return s.reason.Info().Lines
}

// Scan scans a whole body for the filter that has admitted the request.
func (s *Session) Scan(body []byte) Body {
	s.scanner = s.filter.scanner()
	_, _ = s.scanner.Write(body) // it never fails
	return s.scanner.Body()
}
