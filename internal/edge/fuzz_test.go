package edge

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// replayConn is a connection whose client has sent in. Each Read returns at most maxRead of its
// bytes, and the client has then closed its side.
type replayConn struct {
	net.Conn
	in       []byte
	maxRead  int
	out      bytes.Buffer
	lingered bool
}

func (p *replayConn) Read(b []byte) (int, error) {
	if len(p.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.maxRead)], p.in)
	p.in = p.in[n:]
	return n, nil
}

func (p *replayConn) Write(b []byte) (int, error)      { return p.out.Write(b) }
func (p *replayConn) CloseWrite() error                { p.lingered = true; return nil }
func (p *replayConn) Close() error                     { return nil }
func (p *replayConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (p *replayConn) SetDeadline(time.Time) error      { return nil }
func (p *replayConn) SetReadDeadline(time.Time) error  { return nil }
func (p *replayConn) SetWriteDeadline(time.Time) error { return nil }

// calls records the calls of a handler that reads bodies in pieces of a given size.
type calls struct {
	read       int
	all, whole []string
}

func (l *calls) Serve(x *Exchange) {
	var body bytes.Buffer
	_, err := io.CopyBuffer(onlyWriter{&body}, onlyReader{x.BodyReader()}, make([]byte, l.read))
	call := fmt.Sprintf("%s %s %q", x.Request.Method, x.Request.Target, body.Bytes())
	if err == nil {
		l.whole = append(l.whole, call)
	}
	l.all = append(l.all, fmt.Sprintf("%s %v %q", call, err, x.BodyTrailer()))
	x.Reply.Status = http.StatusOK
	x.Reply.Body = []byte("ok")
}

// changing matches the parts of answers that differ from one run to the next; 100 Continue
// depends on the bytes that arrive with the head.
var changing = regexp.MustCompile(`(Date|X-Request-Id): [^\r]*\r\n|HTTP/1.1 100 Continue\r\n\r\n`)

// newPlayServer is a server to play on, with or without streaming.
func newPlayServer(f testing.TB, streaming bool) *Server {
	s, err := Listen(Config{Listen: "127.0.0.1:0", Handler: &calls{}, Streaming: streaming, Limits: Limits{BodyBytes: 1000}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.conns.Stop)
	return s
}

// play returns the handler's calls and the server's answers for a client's bytes.
func (s *Server) play(input []byte, maxRead, read int) (l *calls, answers string) {
	l = &calls{read: read}
	nc := s.playConn(l, input, maxRead)
	return l, changing.ReplaceAllString(nc.out.String(), "")
}

// playConn serves a connection on which the client sends input.
func (s *Server) playConn(h Handler, input []byte, maxRead int) *replayConn {
	s.SetHandler(h)
	nc := &replayConn{in: input, maxRead: maxRead}
	c := newConn(s, nc)
	s.conns.Track(&c.Conn)
	c.Serve()
	return nc
}

// FuzzRequests checks that the same bytes result in the same requests, bodies, errors and
// answers, in whatever pieces they arrive and the handler reads them, and that the same
// bodies are whole with and without streaming.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		get + get, post("hello") + get, chunked(goodEnd) + get, sized("Content-Length: 9\r\n", "half"),
		chunked("5;a=b\r\nhello\r\n00\r\nX: y\r\nContent-Length: 9\r\n\r\n") + post("next"),
		chunked("5\r\nhelloXX0\r\n\r\n") + get, chunked("3e9\r\n"), chunked(chunks(strings.Repeat("x", 900), 100)) + get,
		sized("Content-Length: 5\r\nExpect: 100-continue\r\n", "hello") + get, sized("Content-Length: 1001\r\n", "x"),
		sized("Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n", "hi") + get,
		post("hello") + " ",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi" + get,
	} {
		f.Add([]byte(seed), uint8(1), uint8(1))
		f.Add([]byte(seed), uint8(7), uint8(200))
	}
	streaming, plain := newPlayServer(f, true), newPlayServer(f, false)
	f.Fuzz(func(t *testing.T, input []byte, maxRead, read uint8) {
		once, answers := streaming.play(input, len(input)+1, 4096)
		cut, cutAnswers := streaming.play(input, int(maxRead)+1, int(read)+1)
		if a, b := fmt.Sprint(once.all), fmt.Sprint(cut.all); a != b {
			t.Fatalf("%q: calls at once %s, in pieces %s", input, a, b)
		}
		if answers != cutAnswers {
			t.Fatalf("%q: answers at once %q, in pieces %q", input, answers, cutAnswers)
		}
		whole, _ := plain.play(input, int(maxRead)+1, 4096)
		if a, b := fmt.Sprint(once.whole), fmt.Sprint(whole.whole); a != b {
			t.Fatalf("%q: whole bodies with streaming %s, without %s", input, a, b)
		}
	})
}
