package origin

import (
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// Outbound is a request as it goes to an origin. A Transport does not change it.
type Outbound struct {
	Method []byte
	// Host is the Host field; nil means the origin's own name.
	Host []byte
	// Target is in origin-form, escaped as on the wire, or "*".
	Target []byte
	// Header is sent as it is and in its order, but for the lines that concern one
	// connection or frame the message: those are the Transport's, and left out if they
	// are there (see Upgrade for the exception).
	Header http1.Fields

	// Content is the whole body in memory. It must not change before the Inbound is
	// closed. With it, Body, Rewind and Length don't count.
	Content []byte
	// Body is read once, by another goroutine, until Length bytes or io.EOF have come.
	// What it has read is sent at once.
	Body io.Reader
	// Length of Body in bytes: -1 if only its end tells, 0 if there is no body.
	Length int64
	// Rewind gives the body from its start, each time it is called, so that the request
	// can be sent again. With it, Body doesn't count.
	Rewind func() io.Reader
	// Trailer gives the fields to send behind a body of unknown length, asked when Body
	// has ended. Those that may not stand there are left out. Nil sends none.
	Trailer func() http1.Fields
	// Stop makes a Read of Body that is under way return, and all later ones fail. It
	// is called at most once for a body, by the goroutine that closes the Inbound or
	// gives up, when the rest of the body is of no use any more. Nil means that Body
	// is waited for.
	Stop func()

	// AwaitAnswer is asked when Body could not be read to its end, by the goroutine that reads
	// it. If it says so, the origin is told that no more comes, by the end of this
	// direction of the connection, and its answer is waited for: what it says then, or
	// that it ends the connection too (Fault.Forgone), tells what has become of the
	// request. Nil, or false, ends the exchange at once, so that nobody knows.
	AwaitAnswer func() bool

	// HeadTimeout and StallTimeout are instead of the Transport's, for requests that take
	// longer than others, such as feeds. 0 means the Transport's.
	HeadTimeout, StallTimeout time.Duration
	// Repeatable says that the request may be executed twice. That of GET, HEAD,
	// OPTIONS and TRACE is taken for granted, unless Once says that it may not.
	Repeatable, Once bool
	// Expect asks the origin with "Expect: 100-continue" whether it wants the body,
	// which is not read before it said so, or before ExpectTimeout has passed. When the
	// origin gives its final answer instead, the body is never read.
	Expect bool
	// WantTrailer tells the origin that trailers are welcome.
	WantTrailer bool
	// Upgrade sends the Upgrade line of Header and accepts 101 as an answer.
	Upgrade bool
	// Interim is told the interim answers but 100 as they come, by the goroutine that
	// called Exchange; h is valid during the call. Nil drops them.
	Interim func(status int, h http1.Fields)
}

// streams says whether a body is to be read while the request is sent.
func (q *Outbound) streams() bool {
	return q.Content == nil && q.Length != 0 && (q.Body != nil || q.Rewind != nil)
}

// reader gives the body for an attempt.
func (q *Outbound) reader() io.Reader {
	if q.Rewind != nil {
		return q.Rewind()
	}
	return q.Body
}

// Idempotent says whether q may be executed twice.
func (q *Outbound) Idempotent() bool {
	if q.Once {
		return false
	}
	switch string(q.Method) {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return q.Repeatable
}

// Replayable says whether q could be sent a second time: it has no body, or one that
// can be had again.
func (q *Outbound) Replayable() bool { return !q.streams() || q.Rewind != nil }

// mayRepeat says whether q may be sent again after an attempt. If no byte has left,
// nobody has read from the body either.
func (q *Outbound) mayRepeat(left bool) bool {
	return !left || q.Replayable() && q.Idempotent()
}

var (
	nameCoding     = []byte("Transfer-Encoding")
	nameExpect     = []byte("Expect")
	nameConnection = []byte("Connection")
	nameTE         = []byte("TE")
	valueChunked   = []byte("chunked")
	valueContinue  = []byte("100-continue")
	valueUpgrade   = []byte("upgrade")
	valueTE        = []byte("TE")
	valueBoth      = []byte("upgrade, TE")
	valueTrailers  = []byte("trailers")
)

// composeHead makes the bytes to send before any streamed body.
func (x *exchange) composeHead(t *Transport, q *Outbound) error {
	r := &x.request
	x.text = x.target(t.prefix, q.Target)
	r.Method, r.Target = q.Method, x.text
	host := q.Host
	if len(host) == 0 {
		host = t.host
	}
	r.Fields = append(r.Fields[:0], http1.Field{Name: nameHost, Value: host})
	for _, f := range q.Header {
		if !ownField(f) || q.Upgrade && f.Is("upgrade") {
			r.Fields = append(r.Fields, f)
		}
	}
	x.connection(q)
	x.frame(q)
	if len(q.Content) <= maxJoinedWrite {
		return x.serialise(q.Content)
	}
	return x.serialise(nil)
}

// target is the target on the wire.
func (x *exchange) target(prefix string, target []byte) []byte {
	if string(target) == "*" {
		return append(x.text[:0], target...)
	}
	return append(append(x.text[:0], prefix...), target...)
}

// connection adds the fields that concern this connection.
func (x *exchange) connection(q *Outbound) {
	var names []byte
	switch {
	case q.Upgrade && q.WantTrailer:
		names = valueBoth
	case q.Upgrade:
		names = valueUpgrade
	case q.WantTrailer:
		names = valueTE
	}
	if names != nil {
		x.add(nameConnection, names)
	}
	if q.WantTrailer {
		x.add(nameTE, valueTrailers)
	}
	if q.Expect && q.streams() {
		x.add(nameExpect, valueContinue)
	}
}

// frame adds the field that says how the body ends.
func (x *exchange) frame(q *Outbound) {
	length := q.Length
	switch {
	case q.Content != nil:
		length = int64(len(q.Content))
	case !q.streams():
		length = 0
	}
	switch {
	case length < 0:
		x.add(nameCoding, valueChunked)
	case length > 0 || needsLength(string(q.Method)):
		target := len(x.text)
		x.text = strconv.AppendInt(x.text, length, 10)
		x.request.Target = x.text[:target] // x.text may have moved
		x.add(nameLength, x.text[target:])
	}
}

func (x *exchange) add(name, value []byte) {
	x.request.Fields = append(x.request.Fields, http1.Field{Name: name, Value: value})
}

// ownField says whether a field is the Transport's to send: whatever a caller
// passes on, no request has two framings.
func ownField(f http1.Field) bool {
	switch len(f.Name) {
	case 2:
		return f.Is("te")
	case 4:
		return f.Is("host")
	case 6:
		return f.Is("expect")
	case 7:
		return f.Is("upgrade")
	case 10:
		return f.Is("connection") || f.Is("keep-alive")
	case 14:
		return f.Is("content-length")
	case 16:
		return f.Is("proxy-connection")
	case 17:
		return f.Is("transfer-encoding")
	}
	return false
}
