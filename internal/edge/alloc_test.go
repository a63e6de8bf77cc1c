package edge

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/pages"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

// preparedHandler answers with a prepared reply, as a hit does.
type preparedHandler struct {
	lines, body []byte
	run         *pages.Run
}

func (r *preparedHandler) Serve(x *Exchange) {
	x.Reply.Status = http.StatusOK
	x.Reply.Lines(r.lines)
	x.Reply.Field("Cache-Status", "kasoku; hit")
	x.Reply.FieldUint("Age", 12)
	x.Reply.Body = r.body
	if r.run != nil {
		x.Reply.Body, x.Reply.Pages = r.run.Bytes(), r.run
	}
}

func newPreparedHandler(size int) *preparedHandler {
	return &preparedHandler{lines: []byte("Content-Type: application/json\r\n"), body: []byte(strings.Repeat("b", size))}
}

// loop repeats a request without allocating.
type loop struct {
	nc      net.Conn
	request []byte
	answer  []byte
}

func newLoop(t testing.TB, s *Server, request string) *loop {
	c := dial(t, s)
	_ = c.SetDeadline(time.Time{})
	c.send(request)
	b := make([]byte, 1<<20)
	n := 0
	end := 0
	for end == 0 || n < end {
		k, err := c.Conn.Read(b[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
		if i := strings.Index(string(b[:n]), "\r\n\r\n"); i >= 0 && end == 0 {
			resp := string(b[:i+2])
			_, after, _ := strings.Cut(resp, "Content-Length: ")
			size := 0
			for _, d := range after[:strings.IndexByte(after, '\r')] {
				size = size*10 + int(d-'0')
			}
			end = i + 4 + size
		}
	}
	return &loop{c.Conn, []byte(request), b[:end]}
}

// once sends one request and reads the answer, which is as long as the first.
func (l *loop) once() error {
	if _, err := l.nc.Write(l.request); err != nil {
		return err
	}
	_, err := io.ReadFull(l.nc, l.answer)
	return err
}

func TestHotPathAllocs(t *testing.T) {
	cfg := Config{}
	ask := func(r *preparedHandler, name, request string) {
		t.Helper()
		cfg.Handler = r
		l := newLoop(t, start(t, cfg), request)
		got := testing.AllocsPerRun(2000, func() {
			if err := l.once(); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 && !race.Enabled {
			t.Errorf("%s: a request allocates %v times", name, got)
		}
	}
	f := func(name, request string, size int) {
		t.Helper()
		ask(newPreparedHandler(size), name, request)
	}
	f("GET", get, 300)
	f("POST", post(strings.Repeat("x", 500)), 300)
	f("chunked", chunked(goodEnd), 300)
	f("large body in", post(strings.Repeat("x", 20000)), 300)
	f("large body out", get, 100000)
	cfg.Streaming = true
	f("GET, streaming", get, 300)
	f("POST in one piece, streaming", post(strings.Repeat("x", 500)), 300)
	f("large body out, streaming", get, 100000)
	r := newPreparedHandler(100000)
	r.run = pages.Join(r.body)
	ask(r, "large body out from pages", get)
	cfg.Tracer = unsampled{}
	f("not exported as a span", get, 300)
}

// unsampled exports no request.
type unsampled struct{}

func (unsampled) Start([]byte) *telemetry.Trace { return nil }

func BenchmarkExchange(b *testing.B) {
	f := func(name, request string, size int) {
		b.Run(name, func(b *testing.B) {
			l := newLoop(b, start(b, Config{Handler: newPreparedHandler(size)}), request)
			b.ReportAllocs()
			for b.Loop() {
				if err := l.once(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("get", get, 300)
	f("post", post(strings.Repeat("x", 500)), 300)
	f("large", get, 100000)
}
