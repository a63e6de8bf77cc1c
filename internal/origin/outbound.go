package origin

import (
	"io"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Outbound is a request to an origin. A Transport does not change it.
type Outbound struct {
	Method []byte
	// Host is the Host field; nil means the origin's own name.
	Host []byte
	// Target is in origin-form, escaped as sent, or "*".
	Target []byte
	// Header is sent unchanged and in its order, except the fields that concern one
	// connection or frame the message: the Transport sets these itself and ignores them here
	// (except with Upgrade).
	Header http1.Fields

	// Content is the complete body in memory. It must not change before the Inbound is
	// closed. If it is set, Body, Rewind and Length are ignored.
	Content []byte
	// Body is read once, by another goroutine, until Length bytes or io.EOF were read. Data
	// is sent as soon as it is read.
	Body io.Reader
	// Length of Body in bytes: -1 if unknown, 0 if there is no body.
	Length int64
	// Rewind returns the body from its start on each call, so that the request can be sent
	// again. If it is set, Body is ignored.
	Rewind func() io.Reader
	// Trailer returns the fields to send after a body of unknown length. It is called when
	// Body has ended. Fields that are not allowed in a trailer are omitted. Nil sends none.
	Trailer func() http1.Fields
	// Stop makes the current and all later Reads of Body fail. It is called at most once for
	// a body, when the rest of the body is no longer needed, by the goroutine that closes
	// the Inbound or gives up. If it is nil, the Transport waits for Body.
	Stop func()

	// AwaitAnswer is called when Body could not be read to its end, by the goroutine that
	// reads it. If it returns true, the Transport closes this direction of the connection,
	// which notifies the origin, and waits for its answer. The answer, or the origin's end
	// of the connection (Fault.Aborted), then determines the outcome of the request. If it
	// is nil or returns false, the exchange ends at once and the outcome is unknown.
	AwaitAnswer func() bool

	// Guard reports whether the request may be sent now, as that of a Request. For a
	// streamed body it is called before each piece too, by the goroutine that sends it.
	Guard func() bool

	// HeadTimeout and StallTimeout replace the Transport's, for requests that take longer
	// than others, such as feeds. 0 means the Transport's.
	HeadTimeout, StallTimeout time.Duration
	// Repeatable allows to execute the request twice. GET, HEAD, OPTIONS and TRACE are
	// always repeatable, except with Once.
	Repeatable, Once bool
	// Expect sends "Expect: 100-continue". The body is then not read before the origin
	// requests it or ExpectTimeout has passed. If the origin sends its final answer instead,
	// the body is never read.
	Expect bool
	// WantTrailer announces to the origin that trailers are accepted.
	WantTrailer bool
	// Upgrade sends the Upgrade line of Header and accepts 101 as an answer.
	Upgrade bool
	// Interim is called with each interim answer except 100, by the goroutine that called
	// Exchange; h is valid during the call. It may be nil.
	Interim func(status int, h http1.Fields)
}

// streams reports whether a body is read while the request is sent.
func (q *Outbound) streams() bool {
	return q.Content == nil && q.Length != 0 && (q.Body != nil || q.Rewind != nil)
}

// reader returns the body for an attempt.
func (q *Outbound) reader() io.Reader {
	if q.Rewind != nil {
		return q.Rewind()
	}
	return q.Body
}

// Idempotent reports whether q may be executed twice.
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

// Replayable reports whether q can be sent a second time: it has no body, or one that can be
// read again.
func (q *Outbound) Replayable() bool { return !q.streams() || q.Rewind != nil }

// mayRepeat reports whether q may be sent again after an attempt. If no byte was sent, the
// body was not read either.
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

// composeHead builds the bytes to send before a streamed body.
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
		if !ownFields.Has(f.Name) || q.Upgrade && f.Is("upgrade") {
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

// target returns the target as sent.
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

// frame adds the field that delimits the body.
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

// ownFields are the fields that only the Transport sets, so that no request has two framings.
var ownFields = ascii.NewNames("te", "host", "expect", "upgrade", "connection", "keep-alive", "content-length", "proxy-connection", "transfer-encoding")
