package edge

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/pages"
)

// pagedHandler answers with a text that is stored in pages, if the system supports them.
type pagedHandler struct {
	text string
	run  *pages.Run
}

func newPagedHandler(size int) *pagedHandler {
	p := &pagedHandler{text: strings.Repeat("0123456789abcdef", size/16)}
	p.run = pages.Join([]byte(p.text))
	return p
}

func (p *pagedHandler) Serve(x *Exchange) {
	x.Reply.Status = http.StatusOK
	if x.Reply.Body = []byte(p.text); p.run != nil {
		x.Reply.Body, x.Reply.Pages = p.run.Bytes(), p.run
	}
	if string(x.Request.Path) == "/end" {
		x.Reply.Body = x.Reply.Body[len(p.text)-100_001:]
	}
	if string(x.Request.Path) == "/other" {
		x.Reply.Body = []byte(strings.Repeat("o", 100_000))
	}
	if string(x.Request.Path) == "/short" {
		x.Reply.Body = x.Reply.Body[:10]
	}
	if string(x.Request.Path) == "/none" {
		x.Reply.Body = nil
	}
	if string(x.Request.RawQuery) == "around" {
		b := append(x.Reply.Buf, "beforeafter"...)
		x.Reply.Before, x.Reply.After, x.Reply.Buf = b[:6], b[6:], b[:0]
	}
}

// checkAnswers sends requests over one connection, and compares their answers with the expected
// ones.
func (p *pagedHandler) checkAnswers(t *testing.T, c *client) {
	t.Helper()
	f := func(request, method, want string) {
		t.Helper()
		c.send(request)
		if a := c.read(method); a.text != want || a.StatusCode != 200 {
			t.Errorf("%q: %d with %d bytes; want %d", request, a.StatusCode, len(a.text), len(want))
		}
	}
	f(get, "GET", p.text)
	f("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD", "")
	f("GET /end HTTP/1.1\r\nHost: a\r\n\r\n", "GET", p.text[len(p.text)-100_001:])
	f("GET /?around HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "before"+p.text+"after")
	f("GET /end?around HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "before"+p.text[len(p.text)-100_001:]+"after")
	f("GET /other?around HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "before"+strings.Repeat("o", 100_000)+"after")
	f("GET /short?around HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "before"+p.text[:10]+"after")
	f("GET /none?around HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "beforeafter")
	f("HEAD /?around HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD", "")
	f("GET /other HTTP/1.1\r\nHost: a\r\n\r\n", "GET", strings.Repeat("o", 100_000))
	f(post(strings.Repeat("x", 70_000)), "POST", p.text)
	f(get, "GET", p.text)
}

func TestAnswerFromPages(t *testing.T) {
	p := newPagedHandler(3 << 20)
	for _, streaming := range []bool{false, true} {
		cfg := Config{Handler: p, Streaming: streaming}
		p.checkAnswers(t, dial(t, start(t, cfg)))
		s, id := startTLS(t, cfg)
		p.checkAnswers(t, dialTLS(t, s, &tls.Config{RootCAs: id.pool}))
		cl := h2Client(id)
		for path, want := range map[string]string{"/": p.text, "/?around": "before" + p.text + "after", "/none?around": "beforeafter"} {
			resp, err := cl.Get("https://" + s.Addr().String() + path)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != want || resp.ProtoMajor != 2 || resp.ContentLength != int64(len(want)) {
				t.Errorf("%s: %d bytes, announced %d, %v", resp.Proto, len(b), resp.ContentLength, err)
			}
		}
		cl.CloseIdleConnections()
	}
}

// TestPagesWithoutSystem checks the answers if the system has no zero-copy send.
func TestPagesWithoutSystem(t *testing.T) {
	sendPages = func(int, []byte, []byte) (int, error) { return 0, pages.ErrUnsupported }
	t.Cleanup(func() { sendPages = pages.Send })
	p := newPagedHandler(3 << 20)
	p.checkAnswers(t, dial(t, start(t, Config{Handler: p})))
}

// TestPagesToSlowClient checks that a slow client gets whole answers.
func TestPagesToSlowClient(t *testing.T) {
	p := newPagedHandler(9 << 20)
	log := newRecords()
	c := dial(t, start(t, Config{Handler: p, Log: log}))
	c.send(get + get)
	var got strings.Builder
	for b := make([]byte, 5000); got.Len() < 2*len(p.text) || strings.Count(got.String(), p.text) < 2; {
		n, err := c.Conn.Read(b)
		if err != nil {
			t.Fatalf("%v after %d bytes, with %d whole answers of 2", err, got.Len(), strings.Count(got.String(), p.text))
		}
		got.Write(b[:n])
	}
	for range 2 {
		if r := log.next(t); r.BytesOut < len(p.text) {
			t.Errorf("%d bytes logged", r.BytesOut)
		}
	}
}

func TestPagesAreNotRead(t *testing.T) {
	log := newRecords()
	s := start(t, Config{Log: log, Limits: Limits{WriteTimeout: 50 * time.Millisecond}, Handler: newPagedHandler(64 << 20)})
	c := dial(t, s)
	c.send(get)
	if r := log.next(t); r.BytesOut != 0 {
		t.Errorf("%d bytes are logged as sent, want 0", r.BytesOut)
	}
	if n := s.stats.unsent.Value(); n != 1 {
		t.Errorf("%d unsent answers are counted, want 1", n)
	}
}
