package jsonp

import "strconv"

// Call is the function call around one answer.
type Call struct {
	filter *Filter
	name   []byte
	status int // in the envelope; 0: no envelope
}

// Call returns the call for an answer that was judged Wrapped or Enveloped. The name is one
// that Name has returned, and must not change while the call is used.
func (f *Filter) Call(name []byte, why Reason, status int) Call {
	c := Call{filter: f, name: name}
	if why == Enveloped {
		c.status = status
	}
	return c
}

// Status returns the status to send for an answer with this status.
func (c *Call) Status(status int) int {
	if c.status != 0 {
		return 200
	}
	return status
}

// Length returns the length of the wrapped body. It is the Content-Length, for HEAD too.
func (c *Call) Length(b *Body) int64 {
	return int64(c.headLength()+len(c.tail(b.empty()))) + b.wrapped()
}

// Append appends the whole wrapped body to dst. b is the result of scanning body; Append may
// panic with any other.
func (c *Call) Append(dst, body []byte, b *Body) []byte {
	dst = appendEscaped(c.AppendHead(dst), body[b.From:b.To], b.Separators)
	return c.AppendTail(dst, b)
}

// AppendEmpty appends a call without a body.
func (c *Call) AppendEmpty(dst []byte) []byte { return c.Append(dst, nil, new(Body)) }

// AppendTail appends the part behind the body.
func (c *Call) AppendTail(dst []byte, b *Body) []byte { return append(dst, c.tail(b.empty())...) }

// appendEscaped appends p, which has this number of separators, with each escaped.
func appendEscaped(dst, p []byte, separators int64) []byte {
	for ; separators > 0; separators-- {
		i := find(p)
		dst = append(append(dst, p[:i]...), escaped(p[i+2])...)
		p = p[i+3:]
	}
	return append(dst, p...)
}

const (
	guardBegin = " typeof "
	guardEnd   = " === 'function' && "

	envelopeBegin = `{"status":`
	envelopeData  = `,"data":`
)

// AppendHead appends the part before the body.
func (c *Call) AppendHead(dst []byte) []byte {
	dst = append(dst, c.filter.cfg.Prefix...)
	if c.filter.cfg.Guard {
		dst = append(append(append(dst, guardBegin...), c.name...), guardEnd...)
	}
	dst = append(append(dst, c.name...), '(')
	if c.status == 0 {
		return dst
	}
	dst = strconv.AppendInt(append(dst, envelopeBegin...), int64(c.status), 10)
	return append(dst, envelopeData...)
}

func (c *Call) headLength() int {
	n := len(c.filter.cfg.Prefix) + len(c.name) + 1
	if c.filter.cfg.Guard {
		n += len(guardBegin) + len(c.name) + len(guardEnd)
	}
	if c.status == 0 {
		return n
	}
	return n + len(envelopeBegin) + digits(c.status) + len(envelopeData)
}

func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// tail returns the end of the call. An envelope around an empty body has null as its data.
func (c *Call) tail(empty bool) string {
	const all = "null});\n"
	if c.status == 0 {
		return c.filter.tail
	}
	from, to := 0, len(all)
	if !empty {
		from = len("null")
	}
	if !c.filter.cfg.Newline {
		to--
	}
	return all[from:to]
}
