package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/scope"
	"github.com/kasoku/kasoku/internal/socket"
)

const (
	// maxInterim is the maximum number of interim answers before the final one, and
	// maxInterimBytes the maximum total length of their heads.
	maxInterim      = 32
	maxInterimBytes = 32 << 10
	// maxJoinedWrite is the size up to which a body is copied behind the head into one
	// write.
	maxJoinedWrite = 64 << 10
	// readSize is the size of a read, except for reads directly into a body.
	readSize = 16 << 10
)

var (
	errUpgrade = &http1.Error{Status: 502, Reason: "switch of protocols that was not requested"}
	errInterim = &http1.Error{Status: 502, Reason: "too many interim answers, or too large ones"}
)

// exchange holds the buffers of one attempt. It is pooled; nothing in it outlives the
// attempt.
type exchange struct {
	request http1.Request
	text    []byte // computed parts of the request
	out     []byte // the head, and the body if it is small
	rest    []byte // the body if it is large
	watch   scope.Watch

	in         []byte
	begin, end int   // unread part of in
	readErr    error // the error after the data in in
	response   http1.Response
	chunks     http1.Chunked
	body       []byte // a body of unknown length while it is read
}

var exchanges = sync.Pool{New: func() any { return &exchange{in: make([]byte, readSize)} }}

// free returns x to its pool, without references to memory of others.
func (x *exchange) free() {
	clear(x.request.Fields)
	x.request.Reset()
	x.rest = nil
	if cap(x.body) > maxPooledBody {
		x.body = nil
	}
	exchanges.Put(x)
}

// maxPooledBody is the capacity up to which a body buffer is kept.
const maxPooledBody = 1 << 20

// compose builds the request of one attempt from r, as the input of Prepare.
func (x *exchange) compose(c *Client, r *Request) {
	t := append(x.text[:0], r.Method...)
	method := len(t)
	t = append(append(t, c.prefix...), r.Path...)
	path := len(t)
	if r.RawQuery != "" {
		t = append(append(t, '?'), r.RawQuery...)
	}
	target := len(t)
	t = strconv.AppendInt(t, int64(len(r.Body)), 10)
	x.text = t
	q := &x.request
	q.Method, q.Target, q.Path, q.RawQuery = t[:method], t[method:target], t[method:path], nil
	if path < target {
		q.RawQuery = t[path+1 : target]
	}
	q.Host, q.Minor, q.ContentLength = c.host, 1, int64(len(r.Body))
	q.Fields = append(q.Fields[:0], http1.Field{Name: nameHost, Value: c.host})
	if r.Header.Get("User-Agent") == nil {
		q.Fields = append(q.Fields, userAgent)
	}
	q.Fields = append(q.Fields, r.Header...)
	if len(r.Body) > 0 || needsLength(r.Method) {
		q.Fields = append(q.Fields, http1.Field{Name: nameLength, Value: t[target:]})
	}
}

var (
	nameHost   = []byte("Host")
	nameLength = []byte("Content-Length")
	userAgent  = http1.Field{Name: []byte("User-Agent"), Value: []byte("kasoku")}
)

// needsLength reports whether requests with this method announce an empty body.
func needsLength(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

// serialise builds the bytes to send.
func (x *exchange) serialise(body []byte) (err error) {
	if x.out, err = http1.AppendRequest(x.out[:0], &x.request); err != nil {
		return err
	}
	if len(x.out)+len(body) <= maxJoinedWrite {
		x.out, x.rest = append(x.out, body...), nil
	} else {
		x.rest = body
	}
	return nil
}

// roundTrip makes the exchange over a connection, whose deadline is not after that of ctx, and then
// returns it to the pool or closes it. left reports whether the origin may have received any of the
// request.
func (x *exchange) roundTrip(ctx context.Context, p *pool, c *conn, guard func() bool, maxBody int64) (resp *Response, left bool, err error) {
	x.watch.Start(scope.WithoutDeadline(ctx), c.interrupt)
	left, sendErr := x.send(c, guard, true)
	if sendErr == nil || left && !isTimeout(sendErr) && sendErr != errWithheld {
		// A request that was not sent completely may nevertheless be answered.
		resp, err = x.receive(c, maxBody)
	}
	if sendErr != nil && resp == nil {
		err = fmt.Errorf("send the request: %w", sendErr)
	}
	// If Stop returns false, interrupt is running or has run, and the connection is unusable.
	if x.watch.Stop() && resp != nil && sendErr == nil && x.reusable() {
		p.put(c)
	} else {
		c.Close()
	}
	return resp, left, err
}

// send sends the request if guard, which may be nil, allows it. last reports whether nothing
// follows: guard must then still allow it afterwards, or the error is errWithheld. The beginning of
// the answer may have been read when send returns.
func (x *exchange) send(c *conn, guard func() bool, last bool) (left bool, err error) {
	x.expectAnswer()
	if c.stream == nil || len(x.rest) > 0 || !last {
		return c.sendGuarded(x.out, x.rest, guard, last)
	}
	if guard != nil && !guard() {
		return false, errWithheld
	}
	var written int
	written, x.end, err = c.stream.Ask(x.out, x.in, c.takeUnchecked(), guard)
	switch {
	case err == socket.ErrUnwanted:
		return true, errWithheld
	case written < len(x.out):
		return written > 0, err
	}
	x.readErr = err
	return true, nil
}

// expectAnswer removes what was read of an earlier answer.
func (x *exchange) expectAnswer() {
	x.begin, x.end, x.readErr = 0, 0, nil
	x.response.Reset()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// reusable reports whether the connection can be used again after a complete answer: no data
// follows, it has not ended, and the origin keeps it open.
func (x *exchange) reusable() bool { return !x.response.Close && x.begin == x.end && x.readErr == nil }

func (x *exchange) isHead() bool { return string(x.request.Method) == "HEAD" }

// receive reads the complete answer.
func (x *exchange) receive(c *conn, maxBody int64) (*Response, error) {
	if err := x.readHead(c); err != nil {
		return nil, fmt.Errorf("read the answer's head: %w", err)
	}
	// The fields alias in, which is reused for the body.
	resp := &Response{Status: x.response.Status, Header: x.response.Fields.Clone()}
	var err error
	switch x.response.Body(x.isHead()) {
	case http1.Length:
		resp.Body, err = x.readLength(c, maxBody)
	case http1.Chunks:
		resp.Body, err = x.readChunks(c, maxBody)
	case http1.UntilClose:
		resp.Body, err = x.readToEnd(c, maxBody)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer's body: %w", err)
	}
	return resp, nil
}

// readHead reads up to the end of the final answer's head.
func (x *exchange) readHead(c *conn) error {
	var seen interims
	for {
		n, err := x.nextHead(c, &http1.AnswerLimits{})
		if err != nil {
			return err
		}
		switch {
		case x.response.Status >= 200:
			return nil
		case x.response.Status == 101:
			return errUpgrade
		}
		if !seen.admit(n) {
			return errInterim
		}
	}
}

// interims counts the interim answers of one exchange.
type interims struct{ count, bytes int }

// admit counts another interim answer with a head of n bytes and reports whether it is
// allowed.
func (i *interims) admit(n int) bool {
	i.count++
	i.bytes += n
	return i.count <= maxInterim && i.bytes <= maxInterimBytes
}

// nextHead reads one head, interim or final, into x.response and returns its length. The
// error is io.EOF if the connection ended before the head began.
func (x *exchange) nextHead(c *conn, lim *http1.AnswerLimits) (int, error) {
	for {
		n, err := http1.ParseAnswer(x.in[x.begin:x.end], lim, &x.response)
		if err != nil {
			return 0, err
		}
		if n > 0 {
			x.begin += n
			return n, nil
		}
		if err := x.fill(c); err != nil {
			return 0, unexpectedEOF(err, x.begin < x.end)
		}
	}
}

// unexpectedEOF returns io.ErrUnexpectedEOF for an io.EOF within a message.
func unexpectedEOF(err error, within bool) error {
	if err == io.EOF && within {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fill reads more data into x.in, which is moved or grown as needed. Heads are bounded by
// their parser, and bodies are consumed as they are read.
func (x *exchange) fill(c *conn) error {
	switch {
	case x.begin == x.end:
		x.begin, x.end = 0, 0
	case x.end == len(x.in) && x.begin > 0:
		x.begin, x.end = 0, copy(x.in, x.in[x.begin:x.end])
	case x.end == len(x.in):
		x.in = append(x.in, make([]byte, len(x.in))...)
	}
	n, err := x.read(c, x.in[x.end:])
	x.end += n
	return err
}

// read reads into b. An error returned together with data is kept for the next call.
func (x *exchange) read(c *conn, b []byte) (int, error) {
	if x.readErr != nil {
		return 0, x.readErr
	}
	for {
		n, err := c.Read(b)
		x.readErr = err
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
