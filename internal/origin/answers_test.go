package origin

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// rawOrigin is a server on a real socket. It sends the same bytes for every request. Then it
// closes the connection, resets it, or keeps it open.
type rawOrigin struct {
	listener net.Listener
	text     string
	end      ending
	conns    chan net.Conn // the open ones; closed after the listener
	wrote    chan struct{} // gets a value for each text that was written, up to 16
}

// ending is what a rawOrigin does with the connection after an answer.
type ending int

const (
	keepsOpen ending = iota
	fin
	rst
)

func newRawOrigin(t *testing.T, text string, end ending) *rawOrigin {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &rawOrigin{listener: l, text: text, end: end, conns: make(chan net.Conn, 16), wrote: make(chan struct{}, 16)}
	t.Cleanup(func() {
		l.Close()
		for len(o.conns) > 0 {
			(<-o.conns).Close()
		}
	})
	go func() {
		defer close(o.conns)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			o.conns <- conn
			go o.serve(conn)
		}
	}()
	return o
}

func (o *rawOrigin) url() string { return "http://" + o.listener.Addr().String() }

func (o *rawOrigin) serve(conn net.Conn) {
	for br := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(conn, o.text)
		select {
		case o.wrote <- struct{}{}:
		default:
		}
		switch o.end {
		case rst:
			conn.(*net.TCPConn).SetLinger(0)
			fallthrough
		case fin:
			conn.Close()
			return
		}
	}
}

// TestAnswers checks answers with every kind of fault. Complete answers are returned, truncated
// or ambiguous ones are faults.
func TestAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	big := strings.Repeat("0123456789", 40_000)
	ask := func(t *testing.T, text string, end ending) (*Client, *Response, error) {
		c := socketClient(t, Config{URL: newRawOrigin(t, text, end).url(), Retry: Retry{Attempts: 1}})
		resp, err := c.Do(t.Context(), post("b", false))
		return c, resp, err
	}
	// good checks an accepted answer, and whether its connection is kept.
	good := func(name, text string, end ending, status int, body string, kept bool) {
		t.Run(name, func(t *testing.T) {
			c, resp, err := ask(t, text, end)
			if err != nil || resp.Status != status || string(resp.Body) != body || cap(resp.Body) != len(body) {
				t.Fatalf("got %+v, %v", resp, err)
			}
			if got := len(c.pool.idle) == 1; got != kept {
				t.Errorf("connection kept: got %t; want %t", got, kept)
			}
		})
	}
	bad := func(name, text string, end ending, kind FaultKind) {
		t.Run(name, func(t *testing.T) {
			c, _, err := ask(t, text, end)
			wantFault(t, err, kind, true, 1)
			if len(c.pool.idle) != 0 {
				t.Error("the connection was kept")
			}
		})
	}
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n"
	good("length", ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("chunked", chunked+"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", keepsOpen, 200, "hello", true)
	good("chunked with trailer", chunked+"5\r\nhello\r\n0\r\nX: y\r\n\r\n", keepsOpen, 200, "hello", true)
	good("large, length", ok+"Content-Length: 400000\r\n\r\n"+big, keepsOpen, 200, big, true)
	good("large, chunked", chunked+"61a80\r\n"+big+"\r\n0\r\n\r\n", keepsOpen, 200, big, true)
	good("until close", ok+"\r\nhello", fin, 200, "hello", false)
	good("large, until close", ok+"\r\n"+big, fin, 200, big, false)
	good("until close, empty", ok+"\r\n", fin, 200, "", false)
	good("no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("wants to close", ok+"Connection: close\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", false)
	good("HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", false)
	good("status 600", "HTTP/1.1 600 X\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 600, "hello", true)
	good("length too small", ok+"Content-Length: 5\r\n\r\nhelloworld", keepsOpen, 200, "hello", false)
	good("second answer", ok+"Content-Length: 5\r\n\r\nhello"+ok+"Content-Length: 4\r\n\r\nevil", keepsOpen, 200, "hello", false)
	good("length twice", ok+"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("blank before colon", ok+"Content-Length : 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("header of 8 KiB", ok+"X: "+strings.Repeat("v", 8<<10)+"\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("header of 60 KiB", ok+"X: "+strings.Repeat("v", 60<<10)+"\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("100 headers", ok+strings.Repeat("X: y\r\n", 100)+"Content-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("100 first", "HTTP/1.1 100 Continue\r\n\r\n"+ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("103 first", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("32 interim", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 32)+ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, 200, "hello", true)
	good("204", "HTTP/1.1 204 No Content\r\n\r\n", keepsOpen, 204, "", true)
	good("204 with body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 204, "", false)
	good("204, body unannounced", "HTTP/1.1 204 No Content\r\n\r\nhello", keepsOpen, 204, "", false)
	good("304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", keepsOpen, 304, "", true)
	good("206", "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, 206, "hello", true)

	bad("until close, reset", ok+"\r\n"+big, rst, Reset)
	bad("cut", ok+"Content-Length: 10\r\n\r\nhello", fin, Reset)
	bad("cut before the body", ok+"Content-Length: 10\r\n\r\n", fin, Reset)
	bad("cut, large", ok+"Content-Length: 400000\r\n\r\n"+big[:200_000], fin, Reset)
	bad("cut in a chunk", chunked+"5\r\nhel", fin, Reset)
	bad("cut between chunks", chunked+"5\r\nhello\r\n", fin, Reset)
	bad("cut in the last chunk", chunked+"5\r\nhello\r\n0\r\n", fin, Reset)
	bad("cut in the head", ok+"Content-Length: 5\r\n", fin, Reset)
	bad("chunk size Z", chunked+"Z\r\nhello\r\n0\r\n\r\n", keepsOpen, Garbage)
	bad("length and chunked", ok+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, Garbage)
	bad("lengths differ", ok+"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", keepsOpen, Garbage)
	bad("length -5", ok+"Content-Length: -5\r\n\r\nhello", keepsOpen, Garbage)
	bad("length 5abc", ok+"Content-Length: 5abc\r\n\r\nhello", keepsOpen, Garbage)
	bad("gzip, chunked", ok+"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, Garbage)
	bad("unknown coding", ok+"Transfer-Encoding: foo\r\n\r\nhello", fin, Garbage)
	bad("chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, Garbage)
	bad("NUL", ok+"X: a\x00b\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("bare CR", ok+"X: a\rb\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("folded", ok+"X: a\r\n b\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("no colon", ok+"X\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("bad name", ok+"X(: y\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", keepsOpen, Garbage)
	bad("header of 64 KiB", ok+"X: "+strings.Repeat("v", 64<<10)+"\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("1000 headers", ok+strings.Repeat("X: y\r\n", 1000)+"Content-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("no status line", "hello", fin, Garbage)
	bad("nothing", "", fin, Reset)
	bad("reset at once", "", rst, Reset)
	bad("status 99", "HTTP/1.1 99 X\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("status 1000", "HTTP/1.1 1000 X\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("status abc", "HTTP/1.1 abc X\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", keepsOpen, Garbage)
	bad("33 interim", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 33)+ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("interim of 36 KiB", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 4<<10)+"\r\n\r\n", 9)+ok+"Content-Length: 5\r\n\r\nhello", keepsOpen, Garbage)
	bad("only interim", "HTTP/1.1 100 Continue\r\n\r\n", fin, Reset)
}

// TestBodyLimits checks the limit of bodies in every framing.
func TestBodyLimits(t *testing.T) {
	f := func(text string, fits bool) {
		t.Helper()
		o := newRawOrigin(t, text, fin)
		resp, err := socketClient(t, Config{URL: o.url(), MaxBody: 5, Retry: Retry{Attempts: 1}}).Do(t.Context(), post("b", false))
		if fits && (err != nil || string(resp.Body) != "hello") {
			t.Errorf("%q: got %+v, error %v", text, resp, err)
		}
		if !fits {
			wantFault(t, err, Garbage, true, 1)
			if !strings.Contains(err.Error(), "longer than the 5 bytes allowed") {
				t.Errorf("%q: the error is %v, want one with the limit", text, err)
			}
		}
	}
	for _, framing := range []string{"Content-Length: %d\r\n\r\n%s", "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", "X: %d\r\n\r\n%s"} {
		f("HTTP/1.1 200 OK\r\n"+fmt.Sprintf(framing, 5, "hello"), true)
		f("HTTP/1.1 200 OK\r\n"+fmt.Sprintf(framing, 6, "hello!"), false)
	}
}

// TestHead checks that an answer to HEAD has no body, whatever its length.
func TestHead(t *testing.T) {
	o := newRawOrigin(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", keepsOpen)
	c := socketClient(t, Config{URL: o.url(), Retry: Retry{Attempts: 1}})
	for range 2 {
		resp, err := c.Do(t.Context(), &Request{Method: "HEAD", Path: "/", Repeatable: true})
		if err != nil || resp.Body != nil || string(resp.Header.Get("content-length")) != "5" {
			t.Fatalf("got %+v, %v", resp, err)
		}
	}
	if len(o.conns) != 1 {
		t.Errorf("%d connections; want 1", len(o.conns))
	}
}
