package edge

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// TestBodyLeftUnread checks that if a handler does not read the body, the next request is read
// after its end, or the connection is closed.
func TestBodyLeftUnread(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusAccepted
		if string(x.Request.Path) == "/some" {
			_, _ = io.ReadFull(x.BodyReader(), make([]byte, 3))
		}
		if string(x.Request.Path) == "/stream" {
			o, err := x.Stream(2)
			if err == nil {
				_, _ = o.Write([]byte("ok"))
				err = o.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
		x.Reply.Body = []byte("ok")
	})
	f := func(request, rest string, announced, keepOpen bool) {
		t.Helper()
		for _, path := range []string{"/", "/some", "/stream"} {
			c := dial(t, s)
			c.send(strings.Replace(request, " / ", " "+path+" ", 1))
			a := c.read("POST")
			if a.StatusCode != 202 || a.text != "ok" || a.Close != (announced && path != "/stream") {
				t.Errorf("%.40q %s: %d %q, close %v", request, path, a.StatusCode, a.text, a.Close)
			}
			go func() { _, _ = io.WriteString(c.Conn, rest+get) }()
			if !keepOpen {
				c.ended()
			} else if a := c.read("GET"); a.StatusCode != 202 {
				t.Errorf("%.40q %s: the next request: %d", request, path, a.StatusCode)
			}
		}
	}
	body := strings.Repeat("x", maxDiscarded)
	large := strings.Repeat("x", 4*maxDiscarded)
	f(post("hello")+get, "", false, true)
	f(chunked(goodEnd), "", false, true)
	f(sized("Content-Length: 9\r\n", "hell"), "o you", false, true)
	f(sized("Content-Length: 262144\r\n", "hell"), body[4:], false, true)
	f(sized("Content-Length: 1048576\r\n", "hell"), large[4:], true, false)
	f(chunked("5\r\nhel"), "lo\r\n"+chunks(body[:1000], 100), false, true)
	f(chunked("5\r\nhel"), "lo\r\n"+chunks(large, 1000), false, false)
	f(chunked("5\r\nhel"), "lo\r\nx\r\n", false, false)
}

// TestLingers checks that a closing connection waits for its client only if the client may
// still be sending.
func TestLingers(t *testing.T) {
	s := newPlayServer(t, true)
	reader := HandlerFunc(back)
	ignorer := HandlerFunc(func(x *Exchange) { x.Reply.Status = http.StatusOK })
	f := func(h Handler, input string, want bool) {
		t.Helper()
		if got := s.playConn(h, []byte(input), 1<<20).lingered; got != want {
			t.Errorf("%.60q: lingered %v, want %v", input, got, want)
		}
	}
	const old = "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n"
	f(reader, "GET / HTTP/1.0\r\n\r\n", false)
	f(reader, old+"hi", false)
	f(reader, old+"hi"+get, true)
	f(ignorer, old+"hi", false)
	f(ignorer, old+"h", true)
	f(reader, sized("Connection: close\r\nTransfer-Encoding: chunked\r\n", goodEnd), false)
	f(ignorer, sized("Connection: close\r\nTransfer-Encoding: chunked\r\n", goodEnd), true)
	f(&calls{read: 10}, chunked("x"), true)
	f(reader, head("Connection: close\r\n"), false)
}

// TestExpectUnread checks that the connection is closed if a client that waits for "100
// Continue" gets its answer without it: the next bytes may be the body or not.
func TestExpectUnread(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		c := dial(t, startStream(t, Config{}, func(x *Exchange) {
			x.Reply.Status = http.StatusForbidden
			if streamed {
				if o, err := x.Stream(0); err == nil {
					_ = o.Close()
				}
			}
		}))
		c.send(sized("Content-Length: 5\r\nExpect: 100-continue\r\n", ""))
		if a := c.read("POST"); a.StatusCode != 403 || !a.Close {
			t.Errorf("%d, close %v", a.StatusCode, a.Close)
		}
		c.send("hello" + get)
		c.ended()
	}
}

// TestReaderOutlivesServe checks a reader of the body that continues after Serve has returned,
// for example a goroutine that sends the body to an origin.
func TestReaderOutlivesServe(t *testing.T) {
	ends := make(chan error, 1)
	waiting := make(chan struct{})
	s := startStream(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		if x.BodyLength() == 0 {
			return
		}
		body := x.BodyReader()
		go func() {
			_, err := io.ReadFull(body, make([]byte, 4))
			close(waiting)
			if err == nil {
				_, err = body.Read(make([]byte, 10))
			}
			if _, again := body.Read(make([]byte, 10)); again != ErrOver {
				t.Errorf("a later Read: %v", again)
			}
			ends <- err
		}()
		<-waiting
	})
	c := dial(t, s)
	c.send(sized("Content-Length: 9\r\n", "hell"))
	if a := c.read("POST"); a.StatusCode != 200 || a.Close {
		t.Errorf("%d, close %v", a.StatusCode, a.Close)
	}
	if err := await(t, ends, "end of the reader"); err != ErrOver {
		t.Errorf("reading ended with %v", err)
	}
	c.send("o you" + get)
	if a := c.read("GET"); a.StatusCode != 200 {
		t.Errorf("the next request: %d", a.StatusCode)
	}
	c.send(get)
	c.read("GET")
}

// TestBodyErrors checks the errors of bodies that can't be read to their end.
func TestBodyErrors(t *testing.T) {
	errs := make(chan error, 1)
	read := HandlerFunc(func(x *Exchange) {
		_, err := io.ReadAll(x.BodyReader())
		if _, again := x.BodyReader().Read(make([]byte, 1)); again != err && err != nil {
			t.Errorf("Read returned %v, and then %v", err, again)
		}
		errs <- err
		x.Reply.Status = http.StatusTeapot
		x.Reply.Field("X-Mine", "1")
	})
	f := func(l Limits, sent string, status int, cut bool) {
		t.Helper()
		c := dial(t, startStream(t, Config{Limits: l}, read))
		c.send(sent)
		if cut {
			_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		}
		a := c.read("POST")
		if a.StatusCode != status || !a.Close || a.Header.Get("X-Mine") != "" {
			t.Errorf("%.60q: got %d, close %v, %q; want %d", sent, a.StatusCode, a.Close, a.Header, status)
		}
		c.ended()
		err := await(t, errs, "error")
		var refused *http1.Error
		if cut && err != io.ErrUnexpectedEOF || !cut && (!errors.As(err, &refused) || refused.Status != status) {
			t.Errorf("%.60q: the handler got the error %v", sent, err)
		}
	}
	brief := Limits{BodyTimeout: 30 * time.Millisecond}
	f(brief, sized("Content-Length: 9\r\n", "half"), 408, false)
	f(brief, chunked("5\r\nhel"), 408, false)
	f(brief, chunked("5\r\nhello\r\n0\r\nX-Trai"), 408, false)
	f(Limits{}, sized("Content-Length: 9\r\n", "half"), 400, true)
	f(Limits{}, chunked("5\r\nhello\r\n"), 400, true)
	f(Limits{}, chunked("5\r\nhello\r\n0\r\n"), 400, true)
	f(Limits{BodyBytes: 10}, chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), 413, false)
	f(Limits{}, chunked("5\r\nhello\r\n0\r\nX: "+strings.Repeat("t", 9000)+"\r\n\r\n"), 431, false)
	f(Limits{}, chunked("5\r\nhello\r\n"+strings.Repeat("1;"+strings.Repeat("e", 1000)+"\r\nx\r\n", 5)), 400, false)
}

func TestBodyTrailer(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		_, _ = io.Copy(io.Discard, x.BodyReader())
		x.Reply.Status = http.StatusOK
		for _, f := range x.BodyTrailer() {
			x.Reply.FieldBytes("T-"+string(f.Name), f.Value)
		}
	})
	c := dial(t, s)
	c.send(chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\nContent-Length: 99\r\nHost: b\r\nX-Sum: 2\r\nAuthorization: x\r\n\r\n"))
	a := c.read("POST")
	if got := strings.Join(a.Header["T-X-Sum"], ","); got != "1,2" || len(a.Header["T-Content-Length"])+len(a.Header["T-Host"])+len(a.Header["T-Authorization"]) > 0 {
		t.Errorf("trailer %q", a.Header)
	}
	c.send(post("hello"))
	c.read("POST")
	c.send(get)
	c.read("GET")
}

func TestSentTrailer(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		x.Reply.Field("Trailer", "X-Sum")
		o, err := x.Stream(-1)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = o.Write([]byte("hello"))
		o.Trailer(http1.FieldsOf("X-Sum", "1", "Content-Length", "99", "Set-Cookie", "a=b", "bad name", "x", "X-Bad", "a\r\nb"))
		_ = o.Close()
	})
	c := dial(t, s)
	f := func(lines, want string) {
		t.Helper()
		c.send(head(lines))
		b := make([]byte, 0, 1000)
		for !strings.HasSuffix(string(b), "\r\n0\r\n"+want+"\r\n") {
			d, err := c.r.ReadByte()
			if err != nil {
				t.Fatalf("%q: got %q, error %v", lines, b, err)
			}
			b = append(b, d)
		}
	}
	f("", "")
	f("TE: gzip\r\n", "")
	f("TE: gzip, Trailers\r\n", "X-Sum: 1\r\n")
}

// TestPace checks that received bytes earn time, up to the credit at the start.
func TestPace(t *testing.T) {
	p := newPace(30 * time.Second)
	f := func(n int, waited, want time.Duration) {
		t.Helper()
		if p.account(n, waited, minPace); p.credit.Round(time.Millisecond) != want {
			t.Errorf("after %d bytes in %v the credit is %v, want %v", n, waited, p.credit, want)
		}
	}
	f(1<<20, time.Second, 30*time.Second)
	f(10<<10, 20*time.Second, 20*time.Second)
	f(1<<10, time.Second, 20*time.Second)
	f(1, 10*time.Second, 10*time.Second+time.Millisecond)
	f(5<<10, 0, 15*time.Second+time.Millisecond)
	f(0, 16*time.Second, -time.Second+time.Millisecond)
}
