package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kasoku/kasoku/internal/http1"
)

// onlyReader hides every other method.
type onlyReader struct{ io.Reader }

// startStream runs a streaming server with f as its handler.
func startStream(t testing.TB, cfg Config, f HandlerFunc) *Server {
	t.Helper()
	cfg.Streaming, cfg.Handler = true, f
	return start(t, cfg)
}

// back answers with the method, the target, and the body as it arrives.
func back(x *Exchange) {
	x.Reply.Status = http.StatusOK
	x.Reply.Field("Content-Type", "text/plain")
	o, err := x.Stream(-1)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(o, "%s %s\n", x.Request.Method, x.Request.Target)
	if _, err := io.Copy(onlyWriter{o}, x.BodyReader()); err != nil {
		return
	}
	_ = o.Close()
}

// onlyWriter hides ReadFrom.
type onlyWriter struct{ io.Writer }

func TestStreamBothWays(t *testing.T) {
	s := startStream(t, Config{}, back)
	c := dial(t, s)
	f := func(request, body string) {
		t.Helper()
		go func() { _, _ = io.WriteString(c.Conn, request) }()
		a := c.read("POST")
		if want := "POST /\n" + body; a.StatusCode != 200 || a.text != want || a.Close {
			t.Errorf("%d, %d bytes, close %v; want %d bytes", a.StatusCode, len(a.text), a.Close, len(want))
		}
		if a.Header.Get("Content-Length") != "" || len(a.TransferEncoding) != 1 {
			t.Errorf("framing %q %q", a.TransferEncoding, a.Header.Get("Content-Length"))
		}
	}
	large := strings.Repeat("0123456789abcdef", 1<<18)
	f(post("hello"), "hello")
	f(post(""), "")
	f(post(large), large)
	f(chunked(goodEnd), "hello")
	f(chunked(chunks(large, 70000)), large)
	f(chunked(chunks(large[:5000], 7)), large[:5000])
	c.send(get)
	if a := c.read("GET"); a.text != "GET /\n" {
		t.Errorf("without a body: %q", a.text)
	}
	if n := s.stats.accepted.Value(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// chunks encodes a body in chunks of at most size bytes.
func chunks(body string, size int) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

func TestStreamPipelining(t *testing.T) {
	c := dial(t, startStream(t, Config{}, back))
	var all strings.Builder
	const n = 200
	for i := range n {
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", i)
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%s", i, chunks("abc", 2))
	}
	go func() { _, _ = io.Copy(c.Conn, iotest.OneByteReader(strings.NewReader(all.String()))) }()
	for i := range n {
		for _, want := range []string{"POST /%d\nabc", "GET /%d\n", "POST /%d\nabc"} {
			if a, want := c.read("POST"), fmt.Sprintf(want, i); a.text != want {
				t.Fatalf("answer %d is %q; want %q", i, a.text, want)
			}
		}
	}
}

func TestReadBody(t *testing.T) {
	const limit = 1000
	s := startStream(t, Config{}, func(x *Exchange) {
		body, err := x.ReadBody(limit)
		rest, restErr := io.ReadAll(x.BodyReader())
		x.Reply.Status = http.StatusOK
		if errors.Is(err, ErrBodyTooLarge) {
			x.Reply.Status = http.StatusAccepted
		} else if err != nil || string(body) != string(rest) {
			x.Reply.Status = http.StatusInternalServerError
		}
		if restErr != nil {
			x.Reply.Status = http.StatusInternalServerError
		}
		x.Reply.Build(append(x.Reply.Buf, rest...))
	})
	c := dial(t, s)
	f := func(size, status int) {
		t.Helper()
		body := strings.Repeat("z", size)
		for _, request := range []string{post(body), chunked(chunks(body, 300))} {
			c.send(request)
			if a := c.read("POST"); a.StatusCode != status || a.text != body {
				t.Errorf("a body of %d bytes: got %d with %d bytes, want %d", size, a.StatusCode, len(a.text), status)
			}
		}
	}
	f(0, 200)
	f(1, 200)
	f(limit, 200)
	f(limit+1, 202)
	f(100*limit, 202)
}

func TestStreamLengths(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		length := int64(5)
		switch string(x.Request.Path) {
		case "/204":
			x.Reply.Status = http.StatusNoContent
		case "/304":
			x.Reply.Status = http.StatusNotModified
		case "/304none":
			x.Reply.Status, length = http.StatusNotModified, 0
		case "/unknown":
			length = -1
		}
		o, err := x.Stream(length)
		if err != nil {
			t.Error(err)
		}
		if _, err := x.Stream(length); err != ErrBegun {
			t.Errorf("a second Stream: %v", err)
		}
		if _, err := o.Write([]byte("hello!")); length > 0 && len(x.Request.Method) == 3 && string(x.Request.Path) == "/" && err != ErrLength {
			t.Errorf("more than announced: %v", err)
		}
		_, _ = o.Write([]byte("hel"))
		_, _ = o.Write([]byte("lo"))
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	c := dial(t, s)
	f := func(method, path string, text, length string, coded bool) {
		t.Helper()
		c.send(method + " " + path + " HTTP/1.1\r\n" + host + "\r\n")
		a := c.read(method)
		if a.text != text || a.Header.Get("Content-Length") != length || (len(a.TransferEncoding) > 0) != coded || a.Close {
			t.Errorf("%s %s: %q, length %q, coding %q, close %v", method, path, a.text, a.Header.Get("Content-Length"), a.TransferEncoding, a.Close)
		}
	}
	f("GET", "/", "hello", "5", false)
	f("GET", "/unknown", "hello!hello", "", true)
	f("HEAD", "/", "", "5", false)
	f("HEAD", "/unknown", "", "", false)
	f("GET", "/204", "", "", false)
	f("GET", "/304", "", "5", false)
	f("GET", "/304none", "", "", false)
}

func TestStreamToOldClients(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		if err := x.Interim(http.StatusEarlyHints, http1.FieldsOf("Link", "</a>")); err != nil {
			t.Error(err)
		}
		back(x)
	})
	c := dial(t, s)
	c.send("POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello")
	if b, err := io.ReadAll(c.r); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 OK\r\n") ||
		!strings.Contains(string(b), "\r\nConnection: close\r\n") || !strings.HasSuffix(string(b), "\r\n\r\nPOST /\nhello") {
		t.Errorf("got %q, error %v", b, err)
	}
}

func TestInterim(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		if err := x.Interim(101, nil); err == nil {
			t.Error("101 was accepted as an interim answer")
		}
		if err := x.Interim(103, http1.FieldsOf("Link", "</a>", "bad name", "x", "Bad", "a\r\nb")); err != nil {
			t.Error(err)
		}
		if err := x.Interim(100, nil); err != nil {
			t.Error(err)
		}
		back(x)
		if err := x.Interim(103, nil); err != ErrBegun {
			t.Errorf("after the answer has begun: %v", err)
		}
	})
	c := dial(t, s)
	f := func(request, want string) {
		t.Helper()
		c.send(request)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
			t.Errorf("before the answer: got %q, %v; want %q", got, err, want)
		}
	}
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	f(get, hints)
	c.read("GET")
	f(sized("Content-Length: 5\r\nExpect: 100-continue\r\n", ""), hints+"HTTP/1.1 100 Continue\r\n\r\n")
	c.send("hello")
	if a := c.read("POST"); a.text != "POST /\nhello" {
		t.Errorf("after 100: %q", a.text)
	}
}

func TestUpgrade(t *testing.T) {
	log := newRecords()
	s := startStream(t, Config{Log: log}, func(x *Exchange) {
		x.Reply.Field("Upgrade", "echo")
		nc, err := x.Upgrade()
		if err != nil {
			x.Reply.Status = http.StatusNotImplemented
			return
		}
		_, _ = io.Copy(nc, onlyReader{nc})
	})
	c := dial(t, s)
	c.send(get)
	if a := c.read("GET"); a.StatusCode != 501 {
		t.Errorf("without an Upgrade field: got %d, want 501", a.StatusCode)
	}
	log.next(t)
	request := head("Connection: keep-alive, Upgrade\r\nUpgrade: echo\r\n")
	c.send(request + "early ")
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "echo" || resp.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("got %v, error %v", resp, err)
	}
	c.send("and late")
	got := make([]byte, len("early and late"))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "early and late" {
		t.Errorf("got %q, error %v", got, err)
	}
	_ = c.Conn.Close()
	if r := log.next(t); r.Status != 101 || r.BytesIn != len(request)+len(got) || r.BytesOut <= len(got) {
		t.Errorf("record %+v", r)
	}
}

// TestUpgradeAndStop checks that an upgraded connection, here over TLS, is notified when a
// stop begins, continues, and ends with the stop.
func TestUpgradeAndStop(t *testing.T) {
	notified := make(chan struct{}, 1)
	s, id := startTLS(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
		x.Reply.Field("Upgrade", "echo")
		nc, err := x.Upgrade()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { _, _ = io.Copy(nc, onlyReader{nc}) }()
		<-x.Stopping()
		notified <- struct{}{}
		<-x.Context().Done()
	})})
	c := dialTLS(t, s, &tls.Config{RootCAs: id.pool})
	c.send(head("Connection: Upgrade\r\nUpgrade: echo\r\n"))
	if resp, err := http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, error %v", resp, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	await(t, notified, "notification of the stop")
	c.send("still here")
	got := make([]byte, len("still here"))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "still here" {
		t.Errorf("got %q, error %v", got, err)
	}
	if s.Open() != 1 {
		t.Errorf("%d connections open", s.Open())
	}
	cancel()
	if err := await(t, stopped, "end of Shutdown"); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if b, err := io.ReadAll(c.r); errors.Is(err, os.ErrDeadlineExceeded) || len(b) > 0 {
		t.Errorf("not closed: %q, %v", b, err)
	}
}

// TestUpgradeHalfClosed closes one side of an upgraded connection after the other.
func TestUpgradeHalfClosed(t *testing.T) {
	s := startStream(t, Config{}, func(x *Exchange) {
		x.Reply.Field("Upgrade", "x")
		nc, err := x.Upgrade()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(nc, "bye")
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(nc); err != nil || string(b) != "hello" {
			t.Errorf("got %q, error %v", b, err)
		}
	})
	c := dial(t, s)
	c.send("POST / HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: x\r\n\r\nhel")
	if resp, err := http.ReadResponse(c.r, nil); err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, error %v", resp, err)
	}
	if b, err := io.ReadAll(c.r); err != nil || string(b) != "bye" {
		t.Errorf("got %q, error %v", b, err)
	}
	c.send("lo")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	if _, err := c.r.ReadByte(); err != io.EOF {
		t.Errorf("got %v; want the end", err)
	}
}

// TestUpgradeRefused checks requests whose connection can't be upgraded.
func TestUpgradeRefused(t *testing.T) {
	handler := HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		if string(x.Request.Path) == "/begun" {
			_, _ = x.Stream(-1)
		}
		if _, err := x.Upgrade(); err == nil {
			t.Errorf("%s %s was upgraded", x.Request.Method, x.Request.Target)
		}
	})
	for _, streaming := range []bool{false, true} {
		s := start(t, Config{Streaming: streaming, Handler: handler})
		f := func(request string) {
			t.Helper()
			c := dial(t, s)
			c.send(request)
			resp, err := http.ReadResponse(c.r, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%q: got %v, error %v", request, resp, err)
			}
		}
		f(get)
		f(head("Connection: Upgrade\r\n"))
		f(head("Upgrade: x\r\n"))
		f(head("Connection: Up, grade\r\nUpgrade: x\r\n"))
		f("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		f(sized("Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 5\r\n", "hello"))
		f("GET /begun HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: x\r\n\r\n")
	}
}
