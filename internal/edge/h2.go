package edge

import (
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// startH2 makes the HTTP/2 server. Its timeouts are those of the limits at the
// start; everything else follows SetLimits.
func (s *Server) startH2() {
	l := s.cfg.Limits.withDefaults(s.cfg.Streaming)
	only2 := new(http.Protocols)
	only2.SetHTTP2(true)
	s.h2Conn, s.h2Done = make(chan net.Conn), make(chan struct{})
	s.h2 = &http.Server{
		Handler:           http.HandlerFunc(s.serveH2),
		Protocols:         only2,
		ReadHeaderTimeout: l.HeaderTimeout,
		IdleTimeout:       l.IdleTimeout,
		MaxHeaderBytes:    l.HeaderBytes,
		ErrorLog:          log.New(slogLines{s.cfg.Name}, "", 0),
	}
	go func() { _ = s.h2.Serve(handed{s}) }()
}

// slogLines turns the lines of net/http's own log into records.
type slogLines struct{ service string }

func (l slogLines) Write(line []byte) (int, error) {
	slog.Debug("edge: http2", "service", l.service, "message", string(line))
	return len(line), nil
}

// handed is the listener of the HTTP/2 server: it accepts connections whose
// handshake is done.
type handed struct{ s *Server }

func (h handed) Accept() (net.Conn, error) {
	select {
	case nc := <-h.s.h2Conn:
		return nc, nil
	case <-h.s.h2Done:
		return nil, net.ErrClosed
	}
}

func (h handed) Close() error {
	h.s.h2Once.Do(func() { close(h.s.h2Done) })
	return nil
}

func (h handed) Addr() net.Addr { return h.s.ln.Addr() }

// handOver gives a connection to the HTTP/2 server.
func (s *Server) handOver(nc net.Conn) {
	select {
	case s.h2Conn <- nc:
	case <-s.h2Done:
		_ = nc.Close()
	}
}

// counted tells when a connection is closed, by whomever, and who its client is.
type counted struct {
	net.Conn
	client netip.AddrPort
	once   sync.Once
	closed func()
}

// RemoteAddr is the client's address, also behind a proxy that has named it.
func (c *counted) RemoteAddr() net.Addr {
	if !c.client.IsValid() {
		return &net.UnixAddr{Net: "unix"}
	}
	return net.TCPAddrFromAddrPort(c.client)
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.closed)
	return err
}

// serveH2 is one HTTP/2 request as an exchange. The request is written down as
// an HTTP/1.1 head and parsed, so that a service sees the same types, and what
// is refused there is refused here.
func (s *Server) serveH2(w http.ResponseWriter, r *http.Request) {
	if !s.h2Running.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.h2Running.leave()
	x := obtain(s, nil)
	defer x.release()
	x.start = time.Now()
	x.set = s.set.Load()
	x.base = r.Context()
	client, _ := netip.ParseAddrPort(r.RemoteAddr)
	x.begin(netip.AddrPortFrom(client.Addr().Unmap(), client.Port()), true)
	var size int
	var err error
	x.h2 = newH2Stream(x, w, r)
	if s.cfg.Streaming {
		size, err = x.streamH2()
	} else {
		size, err = x.readH2(r)
	}
	ids := newIDSource()
	x.identify(&ids)
	switch {
	case err != nil:
		x.refuseH2(err)
	case x.overRate():
		x.limited()
	case !answerLocally(x):
		x.serve()
	}
	x.end()
	received, whole := x.concludeH2()
	x.account(size+received, x.sent, time.Since(x.start))
	if !whole {
		panic(http.ErrAbortHandler) // resets the stream
	}
}

// readH2 fills request and body and returns how many bytes they are.
func (x *Exchange) readH2(r *http.Request) (int, error) {
	limit := x.set.limits.BodyBytes
	if r.ContentLength > int64(limit) {
		return 0, http1.ErrTooLarge
	}
	// Data comes first: its length stands in the head.
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
		if errors.Is(err, io.EOF) {
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
	in := &x.in
	in.buf = appendHead(in.buf[:0], r, length)
	n, err := http1.ParseRequest(in.buf, &x.set.head, &x.Request)
	if err == nil && n == 0 {
		err = &http1.Error{Status: http.StatusBadRequest, Reason: "head not whole"}
	}
	return n, err
}

// appendHead writes the head of an HTTP/2 request down as HTTP/1.1.
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

// overRate is conn.allowed for a request that does not know its connection.
func (x *Exchange) overRate() bool {
	t := x.set.rate
	return t != nil && !t.of(x.Record.Client.Addr(), x.start).AllowN(x.start, 1)
}

func (x *Exchange) refuseH2(err error) {
	var e *http1.Error
	if !errors.As(err, &e) {
		e = &http1.Error{Status: http.StatusBadRequest}
	}
	x.refusal(e)
}

// replyH2 sends the answer in x.Reply and says whether all of it was sent. Each piece
// of a large body has the whole write timeout.
func (x *Exchange) replyH2() (whole bool) {
	defer x.repay()
	x.Reply.settle()
	x.h2.patience(x)
	x.headH2(x.h2.w, x.replyLength())
	x.sent += len(x.Reply.lines)
	if !http1.BodyAllowed(x.Reply.Status) || x.isHead() {
		return true
	}
	r := &x.Reply
	for _, part := range [...][]byte{r.Before, r.Body, r.After} {
		for ; len(part) > 0; x.h2.patience(x) {
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
