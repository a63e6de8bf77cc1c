package edge

//lint:file-ignore SA1019 net/http's own server can't end a connection with an error code of the caller's choice; see docs/decisions/0004

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/listener"
)

// startH2 makes the HTTP/2 server. Its idle timeout and its bound on heads are those of the
// limits at the start; everything else follows SetLimits.
func (s *Server) startH2() error {
	l := s.cfg.Limits.withDefaults(s.cfg.Streaming)
	s.h2Base = &http.Server{
		Handler:        http.HandlerFunc(s.serveH2),
		MaxHeaderBytes: l.HeaderBytes,
		ErrorLog:       log.New(slogLines{s.cfg.Name}, "", 0),
	}
	s.h2 = &http2.Server{IdleTimeout: l.IdleTimeout}
	return http2.ConfigureServer(s.h2Base, s.h2) // Shutdown of one drains the connections of the other
}

// slogLines logs the lines of net/http's own log as records.
type slogLines struct{ service string }

func (l slogLines) Write(line []byte) (int, error) {
	slog.Debug("edge: http2", "service", l.service, "message", string(line))
	return len(line), nil
}

// speakH2 serves a connection that has negotiated HTTP/2 until it ends.
func (c *conn) speakH2(tc *tls.Conn) {
	c.Detach()
	h := newH2Conn(c, tc)
	defer h.authTimer.Stop()
	ctx := context.WithValue(context.Background(), h2Key{}, h)
	c.srv.h2.ServeConn(h, &http2.ServeConnOpts{Context: ctx, BaseConfig: c.srv.h2Base})
}

// h2Key is the key of a request's *h2Conn in its context.
type h2Key struct{}

// serveH2 serves one HTTP/2 request as an exchange. The request is written as an HTTP/1.1
// head and parsed, so that a service has the same types, and the same requests are refused.
func (s *Server) serveH2(w http.ResponseWriter, r *http.Request) {
	if !s.h2Requests.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.h2Requests.leave()
	start := time.Now()
	h, accepted := r.Context().Value(h2Key{}).(*h2Conn), false
	admitted := h.admitStream(r.Context())
	defer h.releaseStream(admitted)
	defer func() { h.answered(accepted) }()
	x := acquireExchange(s, nil)
	defer x.release()
	x.start = start
	x.set = s.set.Load()
	x.base = r.Context()
	x.begin(h.c.Client, true)
	var size int
	var err error
	x.h2 = newH2Stream(x, w, r)
	s.streams.add(x.h2)
	defer x.h2.detach()
	defer s.streams.remove(x.h2)
	if s.cfg.Streaming {
		size, err = x.streamH2()
	} else {
		size, err = x.readH2(r)
	}
	ids := listener.NewRequestIDs()
	x.identify(&ids)
	switch {
	case err != nil:
		x.refuseH2(err)
	case !admitted:
		x.refuseNoMemory()
	case !x.set.rates.Allow(h.c.Client.Addr(), x.start):
		x.limited()
	case !answerLocally(x):
		x.serve()
		accepted = !x.Unauthenticated
	}
	x.end()
	received, whole := x.concludeH2()
	x.account(size+received, x.sent, time.Since(x.start))
	if !whole {
		panic(http.ErrAbortHandler) // resets the stream
	}
}

// readH2 reads request and body and returns how many bytes they are.
func (x *Exchange) readH2(r *http.Request) (int, error) {
	limit := x.set.limits.BodyBytes
	if r.ContentLength > int64(limit) {
		return 0, http1.ErrTooLarge
	}
	// The body is read first, because the head contains its length.
	_ = x.h2.rc.SetReadDeadline(time.Now().Add(x.set.limits.BodyTimeout))
	in := &x.in
	in.data = in.data[:0]
	in.length = limit + 1
	for {
		if len(in.data) == cap(in.data) {
			in.growData()
		}
		n, err := r.Body.Read(in.data[len(in.data):cap(in.data)])
		in.data = in.data[:len(in.data)+n]
		if len(in.data) > limit {
			return 0, http1.ErrTooLarge
		}
		if !x.countBody() {
			return 0, errNoMemory
		}
		if errors.Is(err, io.EOF) {
			if err := checkH2Trailer(r); err != nil {
				return 0, err
			}
			break
		}
		if err != nil {
			return 0, &http1.Error{Status: http.StatusBadRequest, Reason: "body not whole"}
		}
	}
	n, err := x.parseH2(r, len(in.data))
	x.Body = in.data
	return n + len(in.data), err
}

// parseH2 parses the head of r and returns its length.
func (x *Exchange) parseH2(r *http.Request, length int) (int, error) {
	if err := checkH2(r); err != nil {
		return 0, err
	}
	in := &x.in
	in.buf = appendHead(in.buf[:0], r, length)
	n, err := http1.ParseRequest(in.buf, &x.set.head, &x.Request)
	if err == nil && n == 0 {
		err = &http1.Error{Status: http.StatusBadRequest, Reason: "head not whole"}
	}
	return n, err
}

// appendHead appends the head of an HTTP/2 request as HTTP/1.1.
func appendHead(dst []byte, r *http.Request, length int) []byte {
	dst = append(append(dst, r.Method...), ' ')
	dst = append(append(dst, r.RequestURI...), " HTTP/1.1\r\nHost: "...)
	dst = append(append(dst, r.Host...), "\r\n"...)
	for name, values := range r.Header {
		if name == "Content-Length" || name == "Expect" {
			continue
		}
		for _, v := range values {
			dst = append(append(dst, name...), ": "...)
			dst = append(append(dst, v...), "\r\n"...)
		}
	}
	if length > 0 {
		dst = http1.AppendFieldUint(dst, "Content-Length", uint64(length))
	}
	return append(dst, "\r\n"...)
}

func (x *Exchange) refuseH2(err error) {
	var e *http1.Error
	if !errors.As(err, &e) {
		e = &http1.Error{Status: http.StatusBadRequest}
	}
	x.refusal(e)
}

// replyH2 sends the answer in x.Reply and reports whether all of it was sent. Each piece of
// a large body has the whole write timeout.
func (x *Exchange) replyH2() (whole bool) {
	defer x.returnLoan()
	x.countReply()
	defer x.uncountReply()
	x.Reply.fixStatus()
	x.h2.extendWriteDeadline(x)
	x.headH2(x.h2.w, x.replyLength())
	x.sent += len(x.Reply.lines)
	if !http1.BodyAllowed(x.Reply.Status) || x.isHead() {
		return true
	}
	r := &x.Reply
	for _, part := range [...][]byte{r.Before, r.Body, r.After} {
		for ; len(part) > 0; x.h2.extendWriteDeadline(x) {
			n, err := x.h2.send(x, part)
			if err != nil {
				x.srv.stats.unsent.Inc()
				return false
			}
			part = part[n:]
		}
	}
	return true
}
