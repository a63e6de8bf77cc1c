package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// echo answers with the path of the request, and counts answers and paths.
type echo struct {
	answered atomic.Uint64
	mu       sync.Mutex
	paths    map[string]int
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	e.answered.Add(1)
	e.mu.Lock()
	e.paths[r.URL.Path]++
	e.mu.Unlock()
	fmt.Fprint(w, r.URL.Path)
}

// eachWay runs f over plain TCP, which uses event loops where the system has them, and over TLS,
// which uses streams. The timeout is long.
func eachWay(t *testing.T, handler http.Handler, f func(t *testing.T, cfg Config)) {
	t.Run("tcp", func(t *testing.T) {
		server := httptest.NewServer(handler)
		defer server.Close()
		f(t, Config{Addr: server.Listener.Addr().String(), Timeout: time.Hour})
	})
	t.Run("tls", func(t *testing.T) {
		server := httptest.NewTLSServer(handler)
		defer server.Close()
		f(t, Config{Addr: server.Listener.Addr().String(), TLS: &tls.Config{InsecureSkipVerify: true}, Timeout: time.Hour})
	})
}

func get(path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path)
}

func TestCountedRun(t *testing.T) {
	e := &echo{paths: map[string]int{}}
	eachWay(t, e, func(t *testing.T, cfg Config) {
		e.answered.Store(0)
		var last [7]string
		var serial atomic.Uint64
		cfg.Conns, cfg.Count = len(last), 1000
		cfg.Next = func(conn int, dst []byte) []byte {
			last[conn] = fmt.Sprintf("/%s/%d/%d", t.Name(), conn, serial.Add(1))
			return append(dst, get(last[conn])...)
		}
		cfg.Check = func(conn, status int, body []byte) error {
			if status != 200 || string(body) != last[conn] {
				return fmt.Errorf("got %d %q, want %q", status, body, last[conn])
			}
			return nil
		}
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		if r.Requests != 1000 || r.Errors != 0 || r.Unsent != 0 || e.answered.Load() != 1000 {
			t.Errorf("requests %d, errors %d, unsent %d, server answered %d; want 1000, 0, 0, 1000",
				r.Requests, r.Errors, r.Unsent, e.answered.Load())
		}
		if r.Latency.Count() != 1000 || r.Latency.Quantile(0.5) <= 0 || r.Latency.Quantile(0.5) > r.Latency.Max() {
			t.Errorf("histogram: count %d, p50 %v, max %v", r.Latency.Count(), r.Latency.Quantile(0.5), r.Latency.Max())
		}
		if r.Elapsed <= 0 || r.Throughput() <= 0 || r.BytesIn == 0 || r.BytesOut == 0 {
			t.Errorf("elapsed %v, throughput %g, in %d, out %d", r.Elapsed, r.Throughput(), r.BytesIn, r.BytesOut)
		}
	})
	for path, n := range e.paths {
		if n != 1 {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
}

func TestTimedRun(t *testing.T) {
	e := &echo{paths: map[string]int{}}
	eachWay(t, e, func(t *testing.T, cfg Config) {
		e.answered.Store(0)
		cfg.Conns, cfg.Duration = 3, 200*time.Millisecond
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		if r.Requests == 0 || r.Requests != e.answered.Load() {
			t.Errorf("counted %d, server answered %d", r.Requests, e.answered.Load())
		}
	})
}

// A server that stalls can't hide the requests that became due meanwhile: their latency counts from
// their due times.
func TestOpenLoopCountsStalls(t *testing.T) {
	const stall = 200 * time.Millisecond
	var first atomic.Bool
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			<-time.After(stall)
		}
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		first.Store(false)
		cfg.Conns, cfg.Count, cfg.Rate = 1, 100, 1000
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		if r.Requests+r.Unsent != 100 {
			t.Errorf("requests %d, unsent %d; want 100 in all", r.Requests, r.Unsent)
		}
		// All 100 became due within 100 ms, so each waited for most of the
		// stall, though only the first was stalled itself.
		if p10 := r.Latency.Quantile(0.1); p10 < stall/4 {
			t.Errorf("the tenth percentile is %v with a stall of %v", p10, stall)
		}
	})
}

// If the server keeps up with the schedule, every request is sent at its due time.
func TestOpenLoopKeepsItsRate(t *testing.T) {
	eachWay(t, http.NotFoundHandler(), func(t *testing.T, cfg Config) {
		cfg.Conns, cfg.Count, cfg.Rate = 4, 50, 500
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		cfg.Check = func(_, status int, _ []byte) error {
			if status != 404 {
				return fmt.Errorf("status %d", status)
			}
			return nil
		}
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		if r.Requests != 50 || r.Elapsed < 98*time.Millisecond {
			t.Errorf("%d requests in %v; want 50, the last due after 98ms", r.Requests, r.Elapsed)
		}
	})
}

func TestWrongAnswersDoNotCount(t *testing.T) {
	var n atomic.Uint64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		n.Store(0)
		cfg.Conns, cfg.Count = 2, 100
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r.Requests != 50 || r.Errors != 50 || r.Latency.Count() != 50 {
			t.Errorf("requests %d, errors %d, histogram %d; want 50 each", r.Requests, r.Errors, r.Latency.Count())
		}
		if r.Err == nil || !strings.Contains(r.Err.Error(), "503") {
			t.Errorf("got first error %v", r.Err)
		}
	})
}

// Requests and answers larger than any buffer are transferred completely.
func TestLargeMessages(t *testing.T) {
	body := strings.Repeat("x", 8<<20)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Length", fmt.Sprint(len(got)))
		w.Write(got)
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		cfg.Conns, cfg.Count = 2, 3
		cfg.Next = func(_ int, dst []byte) []byte {
			return fmt.Appendf(dst, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		cfg.Check = func(_, _ int, got []byte) error {
			if string(got) != body {
				return fmt.Errorf("got %d bytes, want %d", len(got), len(body))
			}
			return nil
		}
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil || r.Requests != 3 {
			t.Fatal(err, r.Err, r.Requests)
		}
	})
}

func TestConnectionClose(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		cfg.Conns, cfg.Count = 2, 20
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Err != nil || r.Requests != 20 {
			t.Fatal(err, r.Err, r.Requests)
		}
	})
}

func TestServerDisappears(t *testing.T) {
	eachWay(t, http.NotFoundHandler(), func(t *testing.T, cfg Config) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := listener.Accept()
			listener.Close()
			if err == nil {
				c.Close()
			}
		}()
		cfg.Addr = listener.Addr().String()
		cfg.TLS = nil
		cfg.Conns, cfg.Count = 1, 10
		request := get("/")
		cfg.Next = func(int, []byte) []byte { return request }
		r, err := Run(t.Context(), cfg)
		if err != nil || r.Requests != 0 || r.Errors == 0 || r.Err == nil {
			t.Fatalf("error %v, result %d right, %d wrong, first %v", err, r.Requests, r.Errors, r.Err)
		}
		if _, err = Run(t.Context(), cfg); err == nil {
			t.Fatal("Run without a server returned no error")
		}
	})
}

func TestSilentServerTimesOut(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	r, err := Run(t.Context(), Config{
		Addr: server.Listener.Addr().String(), Conns: 2, Count: 2, Timeout: 20 * time.Millisecond,
		Next: func(int, []byte) []byte { return get("/") },
	})
	if err != nil || r.Requests != 0 || r.Errors != 2 {
		t.Fatal(err, r.Requests, r.Errors, r.Err)
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 16)
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
			release <- struct{}{}
		}()
		cfg.Conns, cfg.Count = 1, 1
		cfg.Next = func(int, []byte) []byte { return get("/") }
		r, err := Run(ctx, cfg)
		if err != nil || r.Errors != 0 {
			t.Fatal(err, r.Errors, r.Err)
		}
	})
}

func TestBadConfig(t *testing.T) {
	next := func(int, []byte) []byte { return nil }
	for _, cfg := range []Config{
		{Conns: 0, Count: 1, Next: next},
		{Conns: 1, Next: next},
		{Conns: 1, Count: 1},
		{Conns: 1, Count: 1, Next: next, Rate: -1},
	} {
		if _, err := Run(t.Context(), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	f := func(text string, want answer, ok bool, fails bool) {
		t.Helper()
		a, gotOK, err := parseAnswer([]byte(text))
		if gotOK != ok || (err != nil) != fails || ok && a != want {
			t.Errorf("%.40q: %+v, %v, %v", text, a, gotOK, err)
		}
	}
	f("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", answer{status: 200, head: 38, length: 5}, true, false)
	f("HTTP/1.1 200 OK\r\ncontent-length:5\r\nConnection: close\r\n\r\n", answer{status: 200, head: 56, length: 5, close: true}, true, false)
	f("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", answer{status: 200, head: 38, close: true}, true, false)
	f("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", answer{status: 304, head: 48}, true, false)
	f("HTTP/1.1 204 \r\n\r\n", answer{status: 204, head: 17}, true, false)
	f("HTTP/1.1 200 OK\r\nContent-Le", answer{}, false, false)
	f(strings.Repeat("x", maxHead+1), answer{}, false, true)
	f("HTTP/1.1 200 OK\r\n\r\n", answer{}, false, true)
	const chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	f(chunks, answer{}, false, false)
	f(chunks+"5\r\nhello\r\n0\r\n", answer{}, false, false)
	f(chunks+"5\r\nhello\r\n0\r\n\r\n", answer{status: 200, head: 47, length: 15, chunks: true}, true, false)
	f(chunks+"A; x=y\r\n0123456789\r\n0\r\n\r\n", answer{status: 200, head: 47, length: 25, chunks: true}, true, false)
	f(chunks+"5\r\nhello!\r\n0\r\n\r\n", answer{}, false, true)
	f(chunks+"-5\r\n", answer{}, false, true)
	f("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", answer{}, false, true)
	f("HTTP/1.1 2x0 OK\r\nContent-Length: 5\r\n\r\n", answer{}, false, true)
	f("ICY 200 OK\r\n\r\n", answer{}, false, true)
}

// TestChunksAreJoined parses a body in chunks that arrives at once, and byte by byte.
func TestChunksAreJoined(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, b := range []byte("in chunks") {
			w.Write([]byte{b})
			w.(http.Flusher).Flush()
		}
	})
	eachWay(t, handler, func(t *testing.T, cfg Config) {
		cfg.Conns, cfg.Count = 2, 20
		cfg.Next = func(int, []byte) []byte { return get("/") }
		cfg.Check = func(_, status int, body []byte) error {
			if status != 200 || string(body) != "in chunks" {
				return fmt.Errorf("status %d: %q", status, body)
			}
			return nil
		}
		if r, err := Run(t.Context(), cfg); err != nil || r.Errors != 0 || r.Requests != 20 {
			t.Fatal(err, r.Requests, r.Errors, r.Err)
		}
	})
}

func TestHistogramQuantiles(t *testing.T) {
	var low, high Histogram
	for i := range 1000 {
		low.Observe(time.Duration(i+1) * time.Microsecond)
		high.Observe(time.Duration(i+1001) * time.Microsecond)
	}
	low.Observe(-time.Second)
	low.Merge(&high)
	f := func(q float64, want time.Duration) {
		t.Helper()
		got := low.Quantile(q)
		if off := float64(got-want) / float64(want); off < -0.02 || off > 0.02 {
			t.Errorf("quantile %g is %v, want %v within 2 %%", q, got, want)
		}
	}
	f(0.25, 500*time.Microsecond)
	f(0.5, 1000*time.Microsecond)
	f(0.99, 1980*time.Microsecond)
	f(1, 2000*time.Microsecond)
	if low.Count() != 2001 || low.Max() != 2*time.Millisecond || low.Quantile(0) != 0 {
		t.Errorf("count %d, max %v, min %v", low.Count(), low.Max(), low.Quantile(0))
	}
	var empty Histogram
	if empty.Quantile(0.5) != 0 {
		t.Error("an empty histogram has quantiles")
	}
}

func TestBucketsAreContinuous(t *testing.T) {
	for v := uint64(1); v < 1<<20; v++ {
		step := bucketOf(v) - bucketOf(v-1)
		if step != 0 && step != 1 {
			t.Fatalf("from value %d to %d the bucket changes by %d", v-1, v, step)
		}
	}
	for _, v := range []uint64{1 << 20, 1<<maxBits - 1, 1 << maxBits, 1<<64 - 1} {
		if b := bucketOf(v); b < 0 || b >= numBuckets {
			t.Errorf("bucket %d of %d", b, v)
		}
	}
	for _, v := range []uint64{5, 127, 128, 1000, 123456789, 1 << 40} {
		middle := middleOf(bucketOf(v))
		if off := float64(middle)/float64(v) - 1; off > 0.01 || off < -0.01 {
			t.Errorf("%d is read back as %d", v, middle)
		}
	}
}

func BenchmarkClosedLoop(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(listener)
	defer server.Close()
	request := get("/")
	b.ReportAllocs()
	r, err := Run(b.Context(), Config{
		Addr: listener.Addr().String(), Conns: 16, Count: uint64(b.N),
		Next: func(int, []byte) []byte { return request },
	})
	if err := errors.Join(err, r.Err); err != nil {
		b.Fatal(err)
	}
}
