package edge

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// wire is an HTTP/2 client that sends any frames, also invalid ones.
type wire struct {
	t    *testing.T
	nc   net.Conn
	fr   *http2.Framer
	head bytes.Buffer
	enc  *hpack.Encoder
	dec  *hpack.Decoder
}

// newWire starts TLS and HTTP/2 on nc.
func newWire(t *testing.T, nc net.Conn) *wire {
	t.Helper()
	secure := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // its clock may not be ours
	t.Cleanup(func() { _ = nc.Close() })
	w := &wire{t: t, nc: secure, fr: http2.NewFramer(secure, secure), dec: hpack.NewDecoder(4096, nil)}
	w.enc = hpack.NewEncoder(&w.head)
	w.raw([]byte(http2.ClientPreface))
	w.check(w.fr.WriteSettings())
	return w
}

func dialWire(t *testing.T, s *Server) *wire {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return newWire(t, nc)
}

func (w *wire) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) raw(b []byte) {
	w.t.Helper()
	_, err := w.nc.Write(b)
	w.check(err)
}

// block encodes a header block: the pseudo-header fields of a request, and fields in the form
// "name: value".
func (w *wire) block(fields ...string) []byte {
	w.head.Reset()
	all := append([]string{":method: POST", ":scheme: https", ":path: /", ":authority: test"}, fields...)
	for i, f := range all {
		name, value, _ := strings.Cut(f[1:], ": ")
		name = f[:1] + name
		if i < 4 { // a pseudo-header field in fields replaces the default
			for _, replacement := range fields {
				if v, ok := strings.CutPrefix(replacement, name+": "); ok && name[0] == ':' {
					value = v
				}
			}
		} else if name[0] == ':' {
			continue
		}
		_ = w.enc.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	return w.head.Bytes()
}

func (w *wire) headers(id uint32, end bool, fields ...string) error {
	return w.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: w.block(fields...), EndStream: end, EndHeaders: true})
}

// outcome reads until stream id is answered or reset, or the connection ends, and returns for
// example "200", "reset PROTOCOL_ERROR", "goaway ENHANCE_YOUR_CALM" or "closed".
func (w *wire) outcome(id uint32) string {
	for {
		f, err := w.fr.ReadFrame()
		if err != nil {
			return "closed"
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			fields, err := w.dec.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				return err.Error()
			}
			if f.StreamID == id && fields[0].Name == ":status" && fields[0].Value != "100" {
				return fields[0].Value
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return "reset " + f.ErrCode.String()
			}
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "goaway " + f.ErrCode.String()
			}
		}
	}
}

// TestH2Malformed sends requests that are malformed only in the framing of HTTP/2, and
// well-formed ones that are similar.
func TestH2Malformed(t *testing.T) {
	const malformed, cut = "400 or reset", "without the body"
	f := func(streaming bool, want, body string, end bool, fields ...string) {
		t.Helper()
		answered := make(chan string, 1)
		s, _ := startTLS(t, Config{Streaming: streaming, Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status = 200
			if b, err := x.ReadBody(1000); err != nil {
				answered <- "error"
			} else {
				answered <- string(b)
			}
		})})
		w := dialWire(t, s)
		w.check(w.headers(1, end && body == "", fields...))
		if body != "" {
			w.check(w.fr.WriteData(1, end, []byte(body)))
		}
		if !end {
			w.check(w.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: w.trailer(), EndStream: true, EndHeaders: true}))
		}
		got := w.outcome(1)
		if got == "400" || got == "reset PROTOCOL_ERROR" {
			got = malformed
		}
		if got != want && want != cut {
			t.Errorf("streaming %v, %q, body %q: got %s; want %s", streaming, fields, body, got, want)
		}
		select {
		case b := <-answered:
			if want == malformed && b != "error" || want == "200" && b != body || want == cut && b != "" && b != "error" {
				t.Errorf("streaming %v, %q: the handler got the body %q", streaming, fields, b)
			}
		default:
		}
	}
	for _, streaming := range []bool{false, true} {
		f(streaming, "200", "", true)
		f(streaming, "200", "", true, "content-length: 0")
		f(streaming, "200", "hello", true, "content-length: 5")
		f(streaming, "200", "hello", true, "x-a: b c", "x-b: ")
		f(streaming, malformed, "hello", true, "content-length: 5", "content-length: 6")
		f(streaming, malformed, "hello", true, "content-length: 6", "content-length: 5")
		f(streaming, malformed, "hello", true, "content-length: 5", "content-length: 5")
		f(streaming, malformed, "hello", true, "content-length: 5, 5")
		f(streaming, malformed, "hello", true, "content-length: +5")
		f(streaming, malformed, "hello", true, "content-length: ")
		f(streaming, malformed, "hello", true, "content-length: 0000000000000000005")
		f(streaming, malformed, "", true, "content-length: 5")
		f(streaming, malformed, "", true, "content-length: five")
		f(streaming, malformed, "hel", true, "content-length: 5")
		f(streaming, malformed, "hello", true, "content-length: 3")
		f(streaming, cut, "hello", true, "content-length: 0") // the request is whole before its data arrives
		f(streaming, malformed, "", true, "x-a:  b")
		f(streaming, malformed, "", true, "x-a: b ")
		f(streaming, malformed, "", true, "x-a: \tb")
		f(streaming, malformed, "", true, "x-a: b\t")
		f(streaming, malformed, "", true, ":authority:  test")
		f(streaming, malformed, "", true, ":authority: test ")
		f(streaming, malformed, "", true, ":path: / ")
		f(streaming, malformed, "", true, ":path:  /")
		f(streaming, malformed, "", true, ":path: /a HTTP/1.1")
		f(streaming, malformed, "", true, ":method: GET /a")
		f(streaming, malformed, "", true, ":authority: a b")
		f(streaming, malformed, "", true, ":method: POST ")
		f(streaming, malformed, "", true, ":scheme: https ")
		f(streaming, malformed, "hello", false, "trailer: x-sum")
	}
}

// trailer returns a trailer section whose value begins with a blank.
func (w *wire) trailer() []byte {
	w.head.Reset()
	_ = w.enc.WriteField(hpack.HeaderField{Name: "x-sum", Value: " 1"})
	return w.head.Bytes()
}

// TestH2RapidReset checks that a client that resets its requests at once, or makes the server
// reset them, is disconnected.
func TestH2RapidReset(t *testing.T) {
	const burst, resetBurst, resetPerSecond = 3000, 200, 20
	f := func(name string, cancel func(w *wire, id uint32) error) {
		t.Helper()
		reached := make(chan struct{}, burst)
		s, _ := startTLS(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
			reached <- struct{}{}
			<-x.Context().Done()
			x.Reply.Status = 200
		})})
		w := dialWire(t, s)
		begin := time.Now()
		ended := make(chan string, 1)
		go func() { ended <- w.outcome(0) }()
		for i := range uint32(burst) {
			if w.headers(2*i+1, true) != nil || cancel(w, 2*i+1) != nil {
				break // the connection is closed
			}
		}
		if got := await(t, ended, "end of the connection"); got != "goaway ENHANCE_YOUR_CALM" {
			t.Errorf("%s: got %s", name, got)
		}
		limit := resetBurst + int(resetPerSecond*time.Since(begin).Seconds()) + 1
		if n := len(reached); n == 0 || n > limit {
			t.Errorf("%s: %d of %d requests reached the handler, want at most %d", name, n, burst, limit)
		}
	}
	f("the client resets", func(w *wire, id uint32) error { return w.fr.WriteRSTStream(id, http2.ErrCodeCancel) })
	f("the server is made to reset", func(w *wire, id uint32) error {
		return w.fr.WriteRawFrame(http2.FrameWindowUpdate, 0, id, []byte{0, 0, 0, 0})
	})
}

// TestH2Cancel checks that a client that cancels some requests is still served, for example a
// browser that leaves two pages with a hundred images each.
func TestH2Cancel(t *testing.T) {
	s, _ := startTLS(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
		if string(x.Request.Method) == "POST" {
			<-x.Context().Done()
		}
		x.Reply.Status = 200
	})})
	w := dialWire(t, s)
	for page := range uint32(2) {
		for i := range uint32(100) {
			w.check(w.headers(200*page+2*i+1, true))
		}
		for i := range uint32(100) {
			w.check(w.fr.WriteRSTStream(200*page+2*i+1, http2.ErrCodeCancel))
		}
	}
	w.check(w.headers(1001, true, ":method: GET"))
	if got := w.outcome(1001); got != "200" {
		t.Errorf("a request after 200 cancelled ones: %s", got)
	}
}
