package edge

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/kasoku/kasoku/internal/inflight"
	waitUntil "github.com/kasoku/kasoku/internal/testutil/await"
)

const mib = 1 << 20

// exhausted returns a budget without free memory.
func exhausted() *inflight.Budget {
	b := inflight.New(64 * mib)
	b.Add(b.Upper())
	return b
}

// TestH2Crowd checks that while there is no memory an HTTP/2 connection may have freeStreams
// streams, and that further ones are refused after a wait.
func TestH2Crowd(t *testing.T) {
	budget := exhausted()
	overPipe(t, Config{Budget: budget, Handler: HandlerFunc(func(x *Exchange) {
		x.Reply.Status = 200
		time.Sleep(time.Minute)
	})}, func(t *testing.T, w *wire) {
		go func() {
			for i := range uint32(freeStreams + 1) {
				_ = w.headers(2*i+1, true)
				synctest.Wait()
			}
		}()
		start := time.Now()
		if got := w.outcome(2*freeStreams + 1); got != "503" {
			t.Errorf("the stream over the limit is answered with %s, want 503", got)
		}
		if took := time.Since(start); took == 0 || took >= time.Minute {
			t.Errorf("the stream over the limit waited for %v", took)
		}
		for range freeStreams {
			f, err := w.fr.ReadFrame()
			for ; err == nil; f, err = w.fr.ReadFrame() {
				if h, ok := f.(*http2.HeadersFrame); ok {
					if fields, _ := w.dec.DecodeFull(h.HeaderBlockFragment()); fields[0].Value != "200" {
						t.Errorf("a first stream is answered with %s", fields[0].Value)
					}
					break
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := budget.Stats().Held; n != budget.Upper() {
		t.Errorf("%d bytes are held after the last stream", n-budget.Upper())
	}
}

// TestH2Stalled checks that a stream whose client opens no window holds a small copy of its
// answer, and is reset when memory runs out.
func TestH2Stalled(t *testing.T) {
	budget := inflight.New(64 * mib)
	body := bytes.Repeat([]byte("x"), mib)
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %v", streamed), func(t *testing.T) {
			overPipe(t, Config{Budget: budget, Handler: HandlerFunc(func(x *Exchange) {
				x.Reply.Status = 200
				if !streamed {
					x.Reply.Body = body
					return
				}
				if o, err := x.Stream(mib); err == nil {
					_, _ = o.Write(body)
					_ = o.Close()
				}
			})}, func(t *testing.T, w *wire) {
				ended := make(chan string, 1)
				go func() {
					_ = w.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
					_ = w.headers(1, true)
				}()
				go func() {
					if got := w.outcome(1); got != "200" {
						t.Error(got)
					}
					ended <- w.outcome(1)
				}()
				synctest.Wait()
				held := budget.Stats().Held
				if limit := int64(inflight.Stream + mib); held < inflight.Stream || held > limit || streamed && held > inflight.Stream {
					t.Errorf("%d bytes are held, want %d to %d", held, inflight.Stream, limit)
				}
				budget.Add(budget.Upper())
				if got := <-ended; !strings.HasPrefix(got, "reset") {
					t.Errorf("the stream is not reset: %s", got)
				}
				budget.Add(-budget.Upper())
			})
			if n := budget.Stats().Held; n != 0 {
				t.Errorf("%d bytes are held after the answer, want 0", n)
			}
		})
	}
}

// TestSlowClientIsCut checks that the budget lists a client that reads nothing, and can cut its
// answer, on all kinds of connections and answers.
func TestSlowClientIsCut(t *testing.T) {
	// Several times what the system buffers: on a busy machine the client may empty the buffers
	// before the writer runs again, which can then write as much at once.
	body := bytes.Repeat([]byte("x"), 128*mib)
	f := func(secure, streamed bool) {
		t.Run(fmt.Sprintf("TLS %v, streamed %v", secure, streamed), func(t *testing.T) {
			cfg := Config{Handler: HandlerFunc(func(x *Exchange) {
				x.Reply.Status = 200
				if !streamed {
					x.Reply.Body = body
					return
				}
				if o, err := x.Stream(int64(len(body))); err == nil {
					_, _ = o.Write(body)
					_ = o.Close()
				}
			})}
			var s *Server
			var c *client
			if secure {
				s, _ = startTLS(t, cfg)
				c = dialTLS(t, s, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test
			} else {
				s = start(t, cfg)
				c = dial(t, s)
			}
			c.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
			waited := make(chan inflight.Client, 1)
			waitUntil.Until(t, func() bool {
				s.slowClients(func(slow inflight.Client) {
					if slow.Waited > 10*time.Millisecond && len(waited) == 0 {
						waited <- slow
					}
				})
				return len(waited) > 0
			})
			slow := <-waited
			slow.Cut()
			n, _ := io.Copy(io.Discard, c.r)
			if n == 0 || n >= int64(len(body)) {
				t.Errorf("the client received %d bytes, want a part", n)
			}
			waitUntil.Until(t, func() bool {
				left := 0
				s.slowClients(func(inflight.Client) { left++ })
				return left == 0
			})
		})
	}
	f(false, false)
	f(false, true)
	f(true, false)
	f(true, true)
}

// TestRequestBodiesAreCounted checks that large bodies of requests are held only as long as
// serverEnd is memory for them.
func TestRequestBodiesAreCounted(t *testing.T) {
	budget := inflight.New(64 * mib)
	s := start(t, Config{Budget: budget, Handler: HandlerFunc(func(x *Exchange) {
		x.Reply.Status = 200
		if held := budget.Stats().Held; len(x.Body) > maxUncounted && held < int64(len(x.Body)) {
			x.Reply.Status = 500
		}
	})})
	post := func(n int) string {
		c := dial(t, s)
		c.send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n", n))
		go func() { _, _ = io.CopyN(c.Conn, zeros{}, int64(n)) }()
		line, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		return strings.TrimSpace(line)
	}
	f := func(n int, want string) {
		t.Helper()
		if got := post(n); got != want {
			t.Errorf("a body of %d bytes: got %s, want %s", n, got, want)
		}
	}
	f(mib, "HTTP/1.1 200 OK")
	waitUntil.Until(t, func() bool { return budget.Stats().Held == 0 })
	budget.Add(budget.Upper())
	f(mib, "HTTP/1.1 503 Service Unavailable")
	f(1000, "HTTP/1.1 200 OK")
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
