package edge

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
)

// hangingUp answers requests, except those for /hangup.
func hangingUp(x *Exchange) {
	x.Reply.Status, x.Reply.Body = http.StatusOK, []byte("answer")
	x.Reply.Hangup = string(x.Request.Path) == "/hangup"
}

// TestHangup checks that a client gets no byte of an answer and a reset of its connection, also
// after other answers and with a body that the handler has not read.
func TestHangup(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		s := start(t, Config{Handler: HandlerFunc(hangingUp), Streaming: streaming})
		for _, body := range []string{"", "Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"} {
			nc, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if body == "" {
				body = "\r\n"
			}
			if _, err := io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /hangup HTTP/1.1\r\nHost: x\r\n"+body); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(nc)
			if n := strings.Count(string(got), "HTTP/1.1"); n > 1 {
				t.Errorf("streaming %v: got %d answers: %q", streaming, n, got)
			}
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("streaming %v, %q: got error %v; want a reset", streaming, body, err)
			}
		}
	}
}

// TestHangupH2 checks that only the stream is reset.
func TestHangupH2(t *testing.T) {
	cl, url, _ := startH2(t, Config{}, hangingUp)
	for range 2 {
		_, err := cl.Get(url + "/hangup")
		if e, ok := errors.AsType[http2.StreamError](err); !ok || e.Code != http2.ErrCodeInternal {
			t.Errorf("got error %v", err)
		}
		resp, err := cl.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || string(body) != "answer" {
			t.Errorf("the next stream: got %q, %v", body, err)
		}
	}
}
