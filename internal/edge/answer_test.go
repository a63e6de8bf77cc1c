package edge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

func TestAnswerShapes(t *testing.T) {
	large := strings.Repeat("y", 3*maxJoined)
	s := start(t, Config{Handler: HandlerFunc(func(x *Exchange) {
		switch string(x.Request.Path) {
		case "/none":
			return
		case "/empty":
			x.Reply.Status = http.StatusNoContent
		case "/same":
			x.Reply.Status = http.StatusNotModified
		case "/large":
			x.Reply.Status = http.StatusOK
		case "/bad":
			x.Reply.Status = http.StatusOK
			x.Reply.Field("X-Evil", "a\r\nX-Smuggled: b")
			x.Reply.FieldBytes("X-Bytes", []byte("a\nb"))
			x.Reply.FieldUint("X-Count", 18446744073709551615)
			x.Reply.Lines([]byte("X-Line: 1\r\nX-Other: 2\r\n"))
			x.Reply.Close = true
		}
		x.Reply.Body = []byte(large)
	})})
	c := dial(t, s)
	f := func(method, path string, status int, body string, length string) answer {
		t.Helper()
		c.send(method + " " + path + " HTTP/1.1\r\n" + host + "\r\n")
		a := c.read(method)
		if a.StatusCode != status || a.text != body || a.Header.Get("Content-Length") != length {
			t.Errorf("%s %s: got %d, %d bytes, Content-Length %q; want %d, %d bytes, %q", method, path, a.StatusCode, len(a.text), a.Header.Get("Content-Length"), status, len(body), length)
		}
		if _, err := http.ParseTime(a.Header.Get("Date")); err != nil {
			t.Errorf("%s %s: Date: %v", method, path, err)
		}
		return a
	}
	size := fmt.Sprint(len(large))
	f("GET", "/none", 500, "", "0")
	f("GET", "/empty", 204, "", "")
	f("GET", "/same", 304, "", "")
	f("HEAD", "/large", 200, "", size)
	f("GET", "/large", 200, large, size)
	a := f("GET", "/bad", 200, large, size)
	if got := a.Header.Get("X-Evil"); got != "a  X-Smuggled: b" || a.Header.Get("X-Smuggled") != "" {
		t.Errorf("a value with line ends is sent as several lines: %q", a.Header)
	}
	if a.Header.Get("X-Bytes") != "a b" || a.Header.Get("X-Count") != "18446744073709551615" || a.Header.Get("X-Other") != "2" {
		t.Errorf("fields: %q", a.Header)
	}
	if !a.Close {
		t.Error("Reply.Close was not honoured")
	}
	c.ended()
}

// TestOwnHead checks answers whose handler sets Date, and the length of a body that is not
// sent.
func TestOwnHead(t *testing.T) {
	const date = "Sun, 06 Nov 1994 08:49:37 GMT"
	for _, streaming := range []bool{false, true} {
		s := start(t, Config{Streaming: streaming, Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status = http.StatusOK
			x.Reply.OwnDate = true
			x.Reply.Field("Date", date)
			switch string(x.Request.Path) {
			case "/same":
				x.Reply.Status, x.Reply.Length = http.StatusNotModified, 7
			case "/gone":
				x.Reply.Status, x.Reply.Length = http.StatusNoContent, 7
			case "/length":
				x.Reply.Length = 7
			case "/unknown":
				x.Reply.Length = -1
			case "/body":
				x.Reply.Length, x.Reply.Body = 7, []byte("hello")
			}
		})})
		c := dial(t, s)
		f := func(method, path, length, text string) {
			t.Helper()
			c.send(method + " " + path + " HTTP/1.1\r\n" + host + "\r\n")
			a := c.read(method)
			if got := strings.Join(a.Header["Date"], ";"); got != date || a.Header.Get("Content-Length") != length || a.text != text {
				t.Errorf("%s %s: %q, Date %q, length %q; want length %q", method, path, a.text, got, a.Header.Get("Content-Length"), length)
			}
		}
		f("HEAD", "/", "0", "")
		f("HEAD", "/length", "7", "")
		f("HEAD", "/unknown", "", "")
		f("HEAD", "/body", "5", "")
		f("GET", "/length", "0", "")
		f("GET", "/unknown", "0", "")
		f("GET", "/body", "5", "hello")
		f("GET", "/same", "7", "")
		f("GET", "/gone", "", "")
	}
}

func TestOldVersionKeepAlive(t *testing.T) {
	c := dial(t, start(t, Config{Handler: &echo{}}))
	for range 2 {
		c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
		if a := c.read("GET"); a.Close || a.Header.Get("Connection") != "keep-alive" {
			t.Fatalf("a 1.0 connection with keep-alive: close %v, %q", a.Close, a.Header)
		}
	}
	c.send("GET / HTTP/1.0\r\n\r\n")
	if a := c.read("GET"); !a.Close {
		t.Errorf("a 1.0 connection without keep-alive is not closed: %q", a.Header)
	}
	c.ended()
}

func TestRequestID(t *testing.T) {
	log := newRecords()
	c := dial(t, start(t, Config{Handler: &echo{}, Log: log}))
	f := func(sent string, accepted bool) string {
		t.Helper()
		c.send(head("X-Request-Id: " + sent + "\r\n"))
		got := c.read("GET").Header.Get("X-Request-Id")
		if (got == sent) != accepted || got == "" {
			t.Errorf("sent the id %q, got %q; want it accepted: %v", sent, got, accepted)
		}
		if logged := string(log.next(t).RequestID); logged != got {
			t.Errorf("the answer has the id %q, the log %q", got, logged)
		}
		return got
	}
	f("req-1", true)
	f(strings.Repeat("i", 128), true)
	f(strings.Repeat("i", 129), false)
	f("with blank", false)
	f("\xff", false)
	if first, second := f("", false), f("", false); first == second {
		t.Errorf("two requests have the id %s", first)
	}
}

// The record has the trace of a valid traceparent.
func TestTraceID(t *testing.T) {
	log := newRecords()
	c := dial(t, start(t, Config{Handler: &echo{}, Log: log}))
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for field, want := range map[string]string{"00-" + id + "-00f067aa0ba902b7-01": id, "00-" + id: ""} {
		c.send(head("traceparent: " + field + "\r\n"))
		c.read("GET")
		if got := string(log.next(t).TraceID); got != want {
			t.Errorf("%s: got %q", field, got)
		}
	}
}

func TestRecord(t *testing.T) {
	log := newRecords()
	c := dial(t, start(t, Config{Log: log, Handler: HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusAccepted
		x.Record.Operation = "Op"
		x.Record.Decision = telemetry.Hit
		if x.Now() != x.Start() || x.Record.Time != x.Start() {
			t.Errorf("times differ: %v %v %v", x.Now(), x.Start(), x.Record.Time)
		}
	})}))
	request := "GET / HTTP/1.1\r\n" + host + "User-Agent: tester\r\nContent-Length: 2\r\n\r\nhi"
	c.send(request)
	c.read("GET")
	r := log.next(t)
	if r.Status != 202 || r.Operation != "Op" || r.Decision != telemetry.Hit || string(r.UserAgent) != "tester" {
		t.Errorf("record %+v", r)
	}
	if r.BytesIn != len(request) || r.BytesOut == 0 || r.Duration <= 0 || r.Client.String() != c.LocalAddr().String() {
		t.Errorf("record %+v", r)
	}
	c.send("bad\r\n\r\n")
	c.read("GET")
	if r := log.next(t); r.Status != 400 || r.Decision != telemetry.Local || r.Operation != "" {
		t.Errorf("record of a refusal %+v", r)
	}
}

func TestPanic(t *testing.T) {
	s := start(t, Config{Handler: HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		x.Reply.Field("X-Half", "done")
		x.Reply.Body = []byte("secret")
		panic("bug")
	})})
	c := dial(t, s)
	c.send(get + get)
	a := c.read("GET")
	if a.StatusCode != 500 || a.text != "" || a.Header.Get("X-Half") != "" || !a.Close {
		t.Errorf("after a panic: %d %q %q close %v", a.StatusCode, a.text, a.Header, a.Close)
	}
	c.ended()
	c = dial(t, startStream(t, Config{}, func(*Exchange) { panic("bug") }))
	c.send(chunked("5\r\nhel"))
	if a := c.read("POST"); a.StatusCode != 500 || !a.Close {
		t.Errorf("after a panic with an unread body: %d, close %v", a.StatusCode, a.Close)
	}
	c.send("lo\r\n0\r\n\r\n" + get)
	c.ended()
	if n := s.stats.panics.Value(); n != 1 {
		t.Errorf("%d panics are counted, want 1", n)
	}
}

func TestReplyRemove(t *testing.T) {
	f := func(a, b, want string) {
		t.Helper()
		var r Reply
		r.Lines([]byte("Server: x\r\nContent-Type: a\r\n"))
		r.Field("x-amz-crc32", "Server: 1")
		r.Field("Content-Type", "b")
		r.Field("Content-Type-Options", "")
		r.Remove(a, b)
		r.Field("Z", "1")
		if got := string(r.Head()); got != want+"Z: 1\r\n" {
			t.Errorf("without %s and %s: got %q, want %q", a, b, got, want+"Z: 1\r\n")
		}
	}
	const server, crc, options = "Server: x\r\n", "x-amz-crc32: Server: 1\r\n", "Content-Type-Options: \r\n"
	f("Content-Type", "x-amz-crc32", server+options)
	f("Content-Type", "Content-Type", server+crc+options)
	f("Server", "Content-Type", crc+options)
	f("", "Server: x", server+"Content-Type: a\r\n"+crc+"Content-Type: b\r\n"+options)
}
