package edge

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestH2Blocked checks that a handler that blocks, in any way, does not delay other requests
// of its connection for long.
func TestH2Blocked(t *testing.T) {
	f := func(name string, limit time.Duration, block func(x *Exchange, over <-chan struct{})) {
		t.Helper()
		over := make(chan struct{})
		overPipe(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status = 200
			if string(x.Request.Path) == "/block" {
				block(x, over)
			}
		})}, func(t *testing.T, w *wire) {
			over = make(chan struct{}) // of the bubble
			w.check(w.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}))
			answers := make(chan string)
			go func() {
				answers <- w.outcome(3)
				answers <- w.outcome(1)
			}()
			began := time.Now()
			w.check(w.headers(1, false, ":path: /block"))
			w.check(w.headers(3, true))
			if got := <-answers; got != "200" {
				t.Errorf("%s: the other request: %s", name, got)
			}
			if took := time.Since(began); took > limit {
				t.Errorf("%s: the other request took %v, want at most %v", name, took, limit)
			}
			close(over)
			w.check(w.fr.WriteData(1, true, []byte("x")))
			w.check(w.fr.WriteWindowUpdate(1, 1000))
			if got := <-answers; name != "the window" && got != "200" {
				t.Errorf("%s: the blocked request: %s", name, got)
			}
			synctest.Wait()
		})
	}
	f("a context", 0, func(x *Exchange, over <-chan struct{}) { _ = x.Context(); <-over })
	f("the body", 0, func(x *Exchange, _ <-chan struct{}) { _, _ = x.ReadBody(10) })
	f("the window", 0, func(x *Exchange, over <-chan struct{}) {
		if o, err := x.Stream(-1); err == nil {
			_, _ = o.Write(make([]byte, 100))
			_ = o.Close()
		}
	})
	f("something else", 2*(h2Tick+h2TickPerConn), func(_ *Exchange, over <-chan struct{}) { <-over })
}

// TestH2Incremental checks the order of answers that wait for the window of their connection.
func TestH2Incremental(t *testing.T) {
	f := func(want string, priorities ...string) {
		t.Helper()
		body := bytes.Repeat([]byte("x"), 80<<10)
		overPipe(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status, x.Reply.Body = 200, body
		})}, func(t *testing.T, w *wire) {
			w.check(w.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
			var order strings.Builder
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ended, last := 0, uint32(0); ended <= len(priorities); {
					fr, err := w.fr.ReadFrame()
					if err != nil {
						t.Error(err)
						return
					}
					d, ok := fr.(*http2.DataFrame)
					if !ok {
						continue
					}
					if d.StreamID != last && d.StreamID > 1 {
						order.WriteByte('0' + byte(d.StreamID))
					}
					last = d.StreamID
					if d.StreamEnded() {
						ended++
					}
				}
			}()
			w.check(w.headers(1, true)) // uses the window up
			time.Sleep(time.Second)     // all wait
			for i, p := range priorities {
				w.check(w.headers(uint32(2*i+3), true, "priority: "+p))
				time.Sleep(time.Second)
			}
			w.check(w.fr.WriteWindowUpdate(0, 1<<20))
			<-done
			if got := order.String() + "."; !strings.HasPrefix(got, want) {
				t.Errorf("%q: the order is %s, want %s first", priorities, got, want)
			}
		})
	}
	f("357.", "u=3", "u=3", "u=3")
	f("3535353", "i", "u=5, i")
	f("3575757", "u=1", "i", "i")
}

// TestH2Pace checks that a client has to read an answer at the minimum pace on average.
func TestH2Pace(t *testing.T) {
	f := func(bytes uint32, success bool) {
		t.Helper()
		errs := make(chan error, 1)
		overPipe(t, Config{Streaming: true, Handler: HandlerFunc(func(x *Exchange) {
			x.Reply.Status = 200
			o, err := x.Stream(256 << 10)
			if err == nil {
				_, err = o.Write(make([]byte, 256<<10))
			}
			errs <- err
			_ = o.Close()
		})}, func(t *testing.T, w *wire) {
			errs = make(chan error, 1) // of the bubble
			w.check(w.headers(1, true))
			go w.outcome(0)
			for {
				select {
				case err := <-errs:
					if (err == nil) != success {
						t.Errorf("%d bytes a second: %v", bytes, err)
					}
					return
				case <-time.After(time.Second):
					w.check(w.fr.WriteWindowUpdate(0, bytes))
					w.check(w.fr.WriteWindowUpdate(1, bytes))
				}
			}
		})
	}
	f(100, false)
	f(20<<10, true)
}
