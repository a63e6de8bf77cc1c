package edge

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestH2Attacks checks that clients which only cause work are disconnected, after few requests
// and few bytes of answers. The frames that are counted are in package http2's test.
func TestH2Attacks(t *testing.T) {
	const rounds, maxRequests, maxAnswers = 20000, 1100, 256 << 10
	f := func(name, want string, begin, attack func(w *wire, i uint32) error) {
		t.Helper()
		var reached atomic.Int64
		s, _ := startTLS(t, Config{Streaming: true, Limits: Limits{WriteTimeout: 100 * time.Millisecond}, Handler: HandlerFunc(func(x *Exchange) {
			reached.Add(1)
			if string(x.Request.Method) == "POST" {
				<-x.Context().Done()
			}
			x.Reply.Status = 200
		})})
		w := dialWire(t, s)
		ended := make(chan string, 1)
		go func() { ended <- w.outcome(0) }()
		if begin != nil {
			w.check(begin(w, 0))
		}
		for i := range uint32(rounds) {
			if attack(w, i) != nil {
				break // the connection is closed
			}
		}
		if got := await(t, ended, "end of the connection"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if n := reached.Load(); n > maxRequests {
			t.Errorf("%s: %d requests reached the handler, want at most %d", name, n, maxRequests)
		}
		if n := s.stats.out.Value(); n > maxAnswers {
			t.Errorf("%s: %d bytes of answers, want at most %d", name, n, maxAnswers)
		}
	}
	const calm, protocol = "goaway ENHANCE_YOUR_CALM", "goaway PROTOCOL_ERROR"
	raw := func(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(*wire, uint32) error {
		return func(w *wire, _ uint32) error { return w.fr.WriteRawFrame(kind, flags, id, []byte(payload)) }
	}
	waiting := func(w *wire, _ uint32) error { return w.headers(1, false) }
	id := func(i uint32) uint32 { return 2*i + 1 }
	f("PING", calm, nil, raw(http2.FramePing, 0, 0, "12345678"))
	f("SETTINGS", calm, nil, raw(http2.FrameSettings, 0, 0, ""))
	f("WINDOW_UPDATE", calm, nil, raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x01"))
	f("WINDOW_UPDATE of a stream", calm, waiting, raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x01"))
	f("PRIORITY", calm, nil, raw(http2.FramePriority, 0, 1, "\x00\x00\x00\x03\x10"))
	f("unknown frames", calm, nil, raw(0x55, 0, 0, "x"))
	f("empty DATA", calm, waiting, raw(http2.FrameData, 0, 1, ""))
	f("CONTINUATION", calm, func(w *wire, _ uint32) error {
		return w.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: w.block()})
	}, raw(http2.FrameContinuation, 0, 1, ""))
	f("rapid reset", calm, nil, func(w *wire, i uint32) error {
		_ = w.headers(id(i), true, ":method: POST")
		return w.fr.WriteRSTStream(id(i), http2.ErrCodeCancel)
	})
	f("the server is made to reset", calm, nil, func(w *wire, i uint32) error {
		_ = w.headers(id(i), true, ":method: POST")
		return w.fr.WriteRawFrame(http2.FrameWindowUpdate, 0, id(i), []byte{0, 0, 0, 0})
	})
	f("malformed requests", calm, nil, func(w *wire, i uint32) error { return w.headers(id(i), true, "x-a:  1") })
	f("too many streams", calm, nil, func(w *wire, i uint32) error { return w.headers(id(i), true, ":method: POST") })
	f("DATA of a stream that was never opened", protocol, nil, raw(http2.FrameData, 0, 7, "x"))
	f("PUSH_PROMISE", protocol, nil, raw(http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02"))
}

// TestH2UnreadAnswers checks that a client that sends requests and reads nothing is
// disconnected, and that few of its requests are served.
func TestH2UnreadAnswers(t *testing.T) {
	var reached atomic.Int64
	s, _ := startTLS(t, Config{Streaming: true, Limits: Limits{WriteTimeout: 200 * time.Millisecond}, Handler: HandlerFunc(func(x *Exchange) {
		reached.Add(1)
		x.Reply.Status = 204
		x.Reply.Lines(longLine)
	})})
	w := dialWire(t, s)
	sent := uint32(0)
	for w.headers(2*sent+1, true) == nil {
		sent++
	}
	if n := reached.Load() * int64(len(longLine)); sent == 0 || n > 64<<20 {
		t.Errorf("%d requests sent, answers of %d bytes", sent, n)
	}
}

// longLine is larger than what a system buffers, for a few thousand answers.
var longLine = append(append([]byte("X-Long: "), make16k()...), "\r\n"...)

func make16k() []byte {
	b := make([]byte, 16<<10)
	for i := range b {
		b[i] = 'a'
	}
	return b
}
