package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSlowClients(t *testing.T) {
	const brief = 50 * time.Millisecond
	f := func(l Limits, sent string, want int) {
		t.Helper()
		c := dial(t, start(t, Config{Handler: &echo{}, Limits: l}))
		c.send(sent)
		if want != 0 {
			if a := c.read("GET"); a.StatusCode != want || !a.Close {
				t.Errorf("sent %q: status %d, close %v; want %d", sent, a.StatusCode, a.Close, want)
			}
		}
		c.ended()
	}
	f(Limits{IdleTimeout: brief}, "", 0)
	f(Limits{HeaderTimeout: brief}, "GET / HT", 408)
	f(Limits{HeaderTimeout: brief}, "GET / HTTP/1.1\r\nHost: a\r\n", 408)
	f(Limits{BodyTimeout: brief}, sized("Content-Length: 9\r\n", "half"), 408)
	f(Limits{BodyTimeout: brief}, sized("Content-Length: 99999\r\n", "half"), 408)
	f(Limits{BodyTimeout: brief}, chunked("5\r\nhel"), 408)
}

// TestDribble checks that single bytes do not extend the deadlines of head and body.
func TestDribble(t *testing.T) {
	brief := Limits{HeaderTimeout: 100 * time.Millisecond, BodyTimeout: 100 * time.Millisecond}
	f := func(cfg Config, begin string) {
		t.Helper()
		cfg.Limits = brief
		dribble(t, dial(t, start(t, cfg)), begin)
	}
	whole, streams := Config{Handler: &echo{}}, Config{Handler: &bodyCounter{}, Streaming: true}
	f(whole, "GET / HTTP/1.1\r\nX-Slow: ")
	f(whole, sized("Content-Length: 100000\r\n", ""))
	f(streams, sized("Content-Length: 100000\r\n", ""))
	f(streams, chunked("fffff\r\n"))
	f(streams, chunked("5;"))
	f(streams, chunked("0\r\nX-Slow: "))
}

// dribble sends begin and then one byte after the other, until the server answers that the
// client is too slow.
func dribble(t *testing.T, c *client, begin string) {
	t.Helper()
	c.send(begin)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if _, err := io.WriteString(c.Conn, "s"); err != nil {
					return
				}
			}
		}
	}()
	if a := c.read("GET"); a.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%q, then byte by byte: got %d, want 408", begin, a.StatusCode)
	}
}

func TestClientDoesNotRead(t *testing.T) {
	log := newRecords()
	s := start(t, Config{Log: log, Limits: Limits{WriteTimeout: 50 * time.Millisecond},
		Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status = http.StatusOK
			x.Reply.Body = make([]byte, 64<<20)
		})})
	c := dial(t, s)
	c.send(get)
	if r := log.next(t); r.BytesOut != 0 {
		t.Errorf("%d bytes are logged as sent, want 0", r.BytesOut)
	}
	if n := s.stats.unsent.Value(); n != 1 {
		t.Errorf("%d unsent answers are counted, want 1", n)
	}
}

func TestConnectionLimit(t *testing.T) {
	s := start(t, Config{Handler: &echo{}, Limits: Limits{Connections: 1}})
	first := dial(t, s)
	first.send(get)
	first.read("GET")
	second := dial(t, s)
	a := second.read("GET")
	if a.StatusCode != http.StatusServiceUnavailable || !a.Close {
		t.Errorf("over the limit: got %d, close %v; want 503 and close", a.StatusCode, a.Close)
	}
	second.ended()
	if n := s.stats.refused.Value(); n != 1 {
		t.Errorf("%d refusals are counted", n)
	}
	s.SetLimits(Limits{Connections: 2})
	third := dial(t, s)
	third.send(get)
	if a := third.read("GET"); a.StatusCode != 200 {
		t.Errorf("after the limit was raised: %d", a.StatusCode)
	}
	if s.Open() != 2 {
		t.Errorf("%d connections open", s.Open())
	}
}

func TestRateLimit(t *testing.T) {
	e := &echo{}
	slow := Limits{RequestsPerSecond: 0.001}
	s := start(t, Config{Handler: e, Limits: slow, RateLimited: func(x *Exchange) {
		x.Reply.Body = []byte("slow down " + string(x.Request.Path))
	}})
	c := dial(t, s)
	f := func(request string, status int, text string) answer {
		t.Helper()
		c.send(request)
		a := c.read("POST")
		if a.StatusCode != status || a.text != text {
			t.Errorf("status %d, %q; want %d, %q", a.StatusCode, a.text, status, text)
		}
		return a
	}
	f(get, 200, "GET / a\n")
	f(get, 429, "slow down /")
	f(get, 429, "slow down /")
	s.SetLimits(Limits{})
	f(get, 200, "GET / a\n")
	s.SetLimits(slow)
	f(get, 200, "GET / a\n") // a new table has no clients
	c = dial(t, s)           // the address counts, not the connection
	if a := f(post("x"), 429, "slow down /"); !a.Close {
		t.Error("the connection of a request with an unread body was kept")
	}
	c.ended()
	if n := s.stats.limited.Value(); n != 3 {
		t.Errorf("%d refusals are counted", n)
	}
	if n := e.calls.Load(); n != 3 {
		t.Errorf("%d requests were executed, want 3", n)
	}
}

func TestBodyTooLarge(t *testing.T) {
	cfg := Config{Handler: &echo{}, Limits: Limits{BodyBytes: 10}, BodyTooLarge: func(x *Exchange) {
		x.Reply.Field("Content-Type", "application/json")
		x.Reply.Body = []byte(`{"message":"too large"}`)
	}}
	bodyTooLarge(t, start(t, cfg))
	cfg.Handler, cfg.Streaming = &bodyCounter{}, true
	bodyTooLarge(t, start(t, cfg))
}

// bodyTooLarge sends bodies over the limit of 10 bytes, and one at the limit.
func bodyTooLarge(t *testing.T, s *Server) {
	t.Helper()
	for _, request := range []string{post(strings.Repeat("x", 11)), chunked("b\r\nhello world\r\n0\r\n\r\n")} {
		c := dial(t, s)
		c.send(request)
		if a := c.read("POST"); a.StatusCode != 413 || a.text != `{"message":"too large"}` || !a.Close {
			t.Errorf("%d %q close %v", a.StatusCode, a.text, a.Close)
		}
		c.ended()
	}
	c := dial(t, s)
	c.send(post(strings.Repeat("x", 10)))
	if a := c.read("POST"); a.StatusCode != 200 {
		t.Errorf("a body at the limit: got %d, want 200", a.StatusCode)
	}
}

// TestAnnouncedBody checks that memory is used for received bytes, not for announced ones.
func TestAnnouncedBody(t *testing.T) {
	var in input
	in.release()
	in.buf = make([]byte, inSize)
	in.head, in.have = 100, inSize
	in.length, in.phase = 1<<30, inData
	in.growData()
	if cap(in.data) > 2*inSize {
		t.Errorf("%d bytes are held before any were received", cap(in.data))
	}
}
