package edge

import (
	"bytes"
	"errors"
	"net/http"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Errors of answering.
var (
	// ErrBegun is returned by methods that must be called before the answer begins.
	ErrBegun = errors.New("edge: the answer has begun")
	// ErrLength is returned if a body does not have its announced length.
	ErrLength = errors.New("edge: the answer's body has not the announced length")
	// ErrEnded is returned after the answer has ended.
	ErrEnded = errors.New("edge: the answer has ended")
)

// Outgoing is an answer whose body the handler sends piece by piece. It belongs to the
// goroutine that Serve runs in, and must be ended by Close or Cut before Serve returns;
// otherwise it is cut.
//
// After an error of Write the client has disconnected, or read nothing for
// Limits.WriteTimeout: Context has ended, and all further calls fail alike.
type Outgoing struct {
	x    *Exchange
	to   answerer
	left int64 // of the announced length; -1: none was

	begun, ended bool
	bodiless     bool // HEAD, 204 and 304: written bytes are dropped
	chunked      bool
	err          error
	fields       http1.Fields // behind the body
}

// answerer sends an answer in its protocol.
type answerer interface {
	// begin sends the head, and first if there is any, as piece would.
	begin(o *Outgoing, length int64, first []byte) error
	piece(o *Outgoing, p []byte) error
	// end sends the mark of the end of the body.
	end(o *Outgoing) error
	interim(x *Exchange, status int, h http1.Fields) error
}

// noLength is the length of an answer whose length is not sent.
const noLength = -1

// Stream sends x.Reply.Status and the lines of x.Reply at once. The body follows: length
// bytes, or with -1 as many as are written before Close. Of the other fields of x.Reply only
// Close and OwnDate count. In answer to HEAD, and with 204 and 304, writing is allowed and
// sends nothing. There a length of -1 omits Content-Length; a 304 has it only if length is
// positive, a 204 never.
//
// The request timeout of a streaming server ends here: an answer may take as long as the
// client needs to read it.
func (x *Exchange) Stream(length int64) (*Outgoing, error) { return x.StreamWith(length, nil) }

// StreamWith is Stream for a body whose first bytes are available: they are sent together
// with the head, usually in one write. More of them than length fail with ErrLength, and
// nothing is sent.
func (x *Exchange) StreamWith(length int64, first []byte) (*Outgoing, error) {
	o := &x.answer
	switch {
	case o.begun:
		return nil, ErrBegun
	case length >= 0 && int64(len(first)) > length:
		return nil, ErrLength
	}
	x.Reply.fixStatus()
	x.open(length)
	if x.watch != nil {
		x.watch.answerBegun()
	}
	if status := x.Reply.Status; status == http.StatusNoContent || status == http.StatusNotModified && length <= 0 {
		length = noLength
	}
	if o.bodiless {
		first = nil
	}
	if o.left > 0 {
		o.left -= int64(len(first))
	}
	if o.err = o.to.begin(o, length, first); o.err != nil {
		x.clientLeft()
	}
	return o, o.err
}

// open begins the answer. From then on no goroutine sends "100 Continue", and writing waits
// only for the client.
func (x *Exchange) open(length int64) {
	x.interimMu.Lock()
	defer x.interimMu.Unlock()
	x.answer = Outgoing{x: x, to: x.answerer(), left: length, begun: true,
		bodiless: x.isHead() || !http1.BodyAllowed(x.Reply.Status)}
}

// Interim sends an answer of status 102 to 199, except 101, before the final one. HTTP/1.0
// clients get none. 100 answers "Expect: 100-continue" if the first read of the body has not
// done so.
func (x *Exchange) Interim(status int, h http1.Fields) error {
	if status < 100 || status > 199 || status == http.StatusSwitchingProtocols {
		return errors.New("edge: no interim status")
	}
	if x.answer.begun {
		return ErrBegun
	}
	if x.Request.Minor == 0 {
		return nil
	}
	return x.answerer().interim(x, status, h)
}

// Write sends p now, without buffering. Writing more than the announced length fails with
// ErrLength, and nothing of p is sent.
func (o *Outgoing) Write(p []byte) (int, error) {
	switch {
	case o.err != nil:
		return 0, o.err
	case o.ended:
		return 0, ErrEnded
	case o.bodiless, len(p) == 0:
		return len(p), nil
	case o.left >= 0 && int64(len(p)) > o.left:
		return 0, ErrLength
	}
	if o.err = o.to.piece(o, p); o.err != nil {
		o.x.clientLeft()
		return 0, o.err
	}
	if o.left > 0 {
		o.left -= int64(len(p))
	}
	return len(p), nil
}

// Trailer adds fields to be sent behind the body at Close, if the body has no announced
// length, the client has sent "TE: trailers", and they are allowed in a trailer; otherwise
// they are dropped.
func (o *Outgoing) Trailer(h http1.Fields) {
	if o.left >= 0 || o.bodiless || !o.x.wantsTrailer() {
		return
	}
	for _, f := range h {
		if http1.InTrailer(f.Name) && ascii.IsToken(f.Name) {
			o.fields = append(o.fields, f)
		}
	}
}

// Close ends the answer. If less was written than announced, it is cut and ErrLength
// returned.
func (o *Outgoing) Close() error {
	switch {
	case o.err != nil:
		return o.err
	case o.ended:
		return nil
	case o.left > 0 && !o.bodiless:
		o.Cut()
		return ErrLength
	}
	o.ended = true
	if o.err = o.to.end(o); o.err != nil {
		o.x.clientLeft()
	}
	return o.err
}

// Cut ends the answer so that the client notices that its body is incomplete: its
// connection, or its HTTP/2 stream, is broken when Serve has returned.
func (o *Outgoing) Cut() {
	if !o.ended && o.err == nil {
		o.ended, o.err = true, ErrEnded
	}
}

// whole reports whether all of the answer was sent.
func (o *Outgoing) whole() bool { return o.ended && o.err == nil }

// wantsTrailer reports whether the client accepts trailer fields (RFC 9110, 10.1.4).
func (x *Exchange) wantsTrailer() bool {
	return lists(x.Request.Fields, "te", "trailers")
}

// lists reports whether a field with a comma-separated list has the element, in any case.
func lists(fields http1.Fields, name, element string) bool {
	for i := range fields {
		if !fields[i].Is(name) {
			continue
		}
		for e := range bytes.SplitSeq(fields[i].Value, []byte{','}) {
			if ascii.EqualFold(ascii.Trim(e), element) {
				return true
			}
		}
	}
	return false
}

// answerer returns the sender of this exchange's answer.
func (x *Exchange) answerer() answerer {
	switch {
	case x.conn != nil:
		return x.conn
	case x.h2 != nil:
		return x.h2
	}
	return replyCollector{}
}

// replyCollector appends the answer of a detached exchange to its Reply.
type replyCollector struct{}

func (replyCollector) end(*Outgoing) error { return nil }

func (c replyCollector) begin(o *Outgoing, _ int64, first []byte) error {
	o.x.Reply.Body = nil
	return c.piece(o, first)
}

func (replyCollector) piece(o *Outgoing, p []byte) error {
	o.x.Reply.Body = append(o.x.Reply.Body, p...)
	return nil
}

func (replyCollector) interim(*Exchange, int, http1.Fields) error { return nil }
