package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// startH2 runs a streaming server with TLS, and a client of HTTP/2.
func startH2(t *testing.T, cfg Config, f HandlerFunc) (cl *http.Client, url string, s *Server) {
	t.Helper()
	cfg.Streaming, cfg.Handler = true, f
	s, id := startTLS(t, cfg)
	cl = h2Client(id)
	t.Cleanup(cl.CloseIdleConnections)
	return cl, "https://" + s.Addr().String(), s
}

// unsized hides the length of a body.
func unsized(body string) io.Reader { return onlyReader{strings.NewReader(body)} }

func TestH2Stream(t *testing.T) {
	log := newRecords()
	cl, url, _ := startH2(t, Config{Log: log}, back)
	large := strings.Repeat("0123456789abcdef", 1<<17)
	f := func(body io.Reader, want string) {
		t.Helper()
		resp, err := cl.Post(url+"/x", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != "POST /x\n"+want || resp.ProtoMajor != 2 {
			t.Errorf("over %s: got %d bytes, %v; want %d", resp.Proto, len(b), err, len(want)+8)
		}
		if r := log.next(t); r.Status != 200 || r.BytesIn < len(want) || r.BytesOut < len(b) {
			t.Errorf("record %+v", r)
		}
	}
	f(strings.NewReader("hello"), "hello")
	f(unsized("hello"), "hello")
	f(http.NoBody, "")
	f(strings.NewReader(large), large)
	f(unsized(large), large)
}

func TestH2ReadBody(t *testing.T) {
	cl, url, _ := startH2(t, Config{Limits: Limits{BodyBytes: 100000}}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		body, err := x.ReadBody(10)
		if errors.Is(err, ErrBodyTooLarge) {
			x.Reply.Status = http.StatusAccepted
			body, err = io.ReadAll(x.BodyReader())
		}
		if err == nil && x.BodyLength() >= 0 && int(x.BodyLength()) != len(body) {
			t.Errorf("announced %d, got %d bytes", x.BodyLength(), len(body))
		}
		x.Reply.Build(append(x.Reply.Buf, body...))
	})
	f := func(body io.Reader, status int, want string) {
		t.Helper()
		resp, err := cl.Post(url, "", body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != status || string(b) != want {
			t.Errorf("got %d, %d bytes, %v; want %d, %d bytes", resp.StatusCode, len(b), err, status, len(want))
		}
	}
	long := strings.Repeat("z", 90000)
	f(strings.NewReader("hello"), 200, "hello")
	f(unsized("hello"), 200, "hello")
	f(strings.NewReader(long), 202, long)
	f(unsized(long), 202, long)
	f(strings.NewReader(long+long), 413, "")
	f(unsized(long+long), 413, "")
}

// TestH2Fields checks interim answers, and trailers in both directions.
func TestH2Fields(t *testing.T) {
	cl, url, _ := startH2(t, Config{}, func(x *Exchange) {
		if err := x.Interim(103, http1.FieldsOf("Link", "</a>")); err != nil {
			t.Error(err)
		}
		if err := x.Interim(100, nil); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, x.BodyReader())
		x.Reply.Status = http.StatusOK
		x.Reply.OwnDate = true
		x.Reply.Field("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
		o, err := x.Stream(-1)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = o.Write([]byte("hello"))
		o.Trailer(append(x.BodyTrailer(), http1.FieldsOf("X-Sum", "2", "Content-Length", "9")...))
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		if _, err := x.Upgrade(); err == nil {
			t.Error("Upgrade succeeded on HTTP/2")
		}
	})
	var hints textproto.MIMEHeader
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if code == 103 {
			hints = h
		}
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "POST", url, unsized("hi"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("TE", "trailers")
	req.Trailer = http.Header{"X-Sent": {"1"}, "Vary": {"x"}}
	resp, err := cl.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || string(b) != "hello" || resp.Header.Get("Link") != "" || resp.Header.Get("Date") != "Sun, 06 Nov 1994 08:49:37 GMT" {
		t.Errorf("got %q, error %v, header %q", b, err, resp.Header)
	}
	if hints.Get("Link") != "</a>" {
		t.Errorf("interim answer %q", hints)
	}
	if h := resp.Trailer; h.Get("X-Sent") != "1" || h.Get("X-Sum") != "2" || len(h) != 2 {
		t.Errorf("trailer %q", h)
	}
}

func TestH2LargeReply(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	cl, url, _ := startH2(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		x.Reply.Body, x.Reply.Length = nil, int64(len(large))
		if len(x.Request.Method) == len("GET") {
			x.Reply.Body = []byte(large)
		}
	})
	f := func(method, want string) {
		t.Helper()
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := cl.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != want || resp.ContentLength != int64(len(large)) {
			t.Errorf("%s: %d bytes of %d, %v", method, len(b), resp.ContentLength, err)
		}
	}
	f("GET", large)
	f("HEAD", "")
}

func TestH2Cut(t *testing.T) {
	cl, url, s := startH2(t, Config{}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		length := int64(-1)
		if string(x.Request.Path) != "/chunked" {
			length = 10
		}
		o, err := x.Stream(length)
		if err == nil {
			_, err = o.Write([]byte("hello"))
		}
		if err != nil {
			t.Error(err)
		}
		switch string(x.Request.Path) {
		case "/panic":
			panic("bug")
		case "/short":
			if err := o.Close(); err != ErrLength {
				t.Error(err)
			}
		}
	})
	for _, path := range []string{"/chunked", "/short", "/panic", "/left"} {
		resp, err := cl.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err == nil || !strings.HasPrefix("hello", string(b)) {
			t.Errorf("%s: got %q, %v; want an error", path, b, err)
		}
		_ = resp.Body.Close()
	}
	if n := s.stats.accepted.Value(); n != 1 {
		t.Errorf("%d connections, want 1: a cut ends only its stream", n)
	}
}

// TestH2ClientGone checks that the context ends when a client disconnects before or during
// its answer.
func TestH2ClientGone(t *testing.T) {
	h := newWaitingHandler()
	cl, url, _ := startH2(t, Config{}, h.Serve)
	for _, path := range []string{"/", "/wait"} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "GET", url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := cl.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		await(t, h.begun, "beginning")
		cancel()
		if err := await(t, h.causes, "end of the context"); err == nil {
			t.Error("no cause")
		}
		await(t, done, "end of the request")
	}
}

// TestH2Silent checks that a client that announces a body and sends nothing gets a 408.
func TestH2Silent(t *testing.T) {
	errs := make(chan error, 1)
	cl, url, _ := startH2(t, Config{Limits: Limits{BodyTimeout: 30 * time.Millisecond}}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		_, err := io.ReadAll(x.BodyReader())
		errs <- err
	})
	silent, end := io.Pipe()
	defer end.Close()
	resp, err := cl.Post(url, "", silent)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("got %v, %v; want 408", resp, err)
	}
	_ = resp.Body.Close()
	var refused *http1.Error
	if seen := await(t, errs, "end of the body"); !errors.As(seen, &refused) || refused.Status != 408 {
		t.Errorf("reading ended with %v", seen)
	}
}

// TestH2AnswerIsNotRead checks that an answer that is not read ends after the write timeout.
func TestH2AnswerIsNotRead(t *testing.T) {
	errs := make(chan error, 1)
	cl, url, _ := startH2(t, Config{Limits: Limits{WriteTimeout: 30 * time.Millisecond}}, func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		o, err := x.Stream(-1)
		for piece := make([]byte, 1<<20); err == nil; {
			_, err = o.Write(piece)
		}
		errs <- err
	})
	if resp, err := cl.Get(url); err == nil { // otherwise the head has timed out
		defer resp.Body.Close()
	}
	if err := await(t, errs, "end of the answer"); err == nil {
		t.Error("writing ended without an error")
	}
}

// TestH2ReaderOutlivesServe checks a reader of the body that continues after Serve has
// returned.
func TestH2ReaderOutlivesServe(t *testing.T) {
	ends, reading := make(chan error, 1), make(chan struct{})
	cl, url, _ := startH2(t, Config{}, func(x *Exchange) {
		body := x.BodyReader()
		go func() {
			_, err := io.ReadFull(body, make([]byte, 5))
			close(reading)
			if err == nil {
				_, err = io.Copy(io.Discard, body)
			}
			ends <- err
		}()
		<-reading
		x.Reply.Status = http.StatusOK
	})
	half, end := io.Pipe()
	defer end.Close()
	go func() { _, _ = io.Copy(end, bytes.NewReader([]byte("hello"))) }()
	resp, err := cl.Post(url, "", half)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := await(t, ends, "end of the reader"); err != ErrOver || resp.StatusCode != http.StatusOK {
		t.Errorf("reading ended with %v, answered with %d", err, resp.StatusCode)
	}
}

func TestVersion(t *testing.T) {
	serve := HandlerFunc(func(x *Exchange) {
		x.Reply.Status = http.StatusOK
		x.Reply.Build(append(x.Reply.Buf, x.Version()...))
	})
	c := dial(t, start(t, Config{Handler: serve}))
	for _, version := range []string{"1.1", "1.0"} {
		c.send("GET / HTTP/" + version + "\r\n" + host + "\r\n")
		if a := c.read("GET"); a.text != version {
			t.Errorf("HTTP/%s: %s", version, a.text)
		}
	}
	cl, url, _ := startH2(t, Config{}, serve)
	resp, err := cl.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "2" {
		t.Errorf("HTTP/2: %s, %v", b, err)
	}
}
