package origin

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// socketClient returns a client for real sockets.
func socketClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Name = "test"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestClosedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := socketClient(t, Config{URL: "http://" + l.Addr().String(), Retry: Retry{Attempts: 2}})
	_, err = c.Do(t.Context(), post("b", false))
	wantFault(t, err, Dial, false, 2)
	if !strings.Contains(err.Error(), "origin test: dial after 2 attempts (not executed)") {
		t.Errorf("the error is %q, want the origin, the kind and the number of attempts", err)
	}
}

// TestTLS checks that an origin with an unknown certificate counts as not reached, and that
// HTTP/2 is not used.
func TestTLS(t *testing.T) {
	asked := 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.ProtoMajor != 1 {
			t.Errorf("the request is %s, want HTTP/1", r.Proto)
		}
		io.WriteString(w, "{}")
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = quiet()
	srv.StartTLS()
	defer srv.Close()
	_, err := socketClient(t, Config{URL: srv.URL, Retry: Retry{Attempts: 1}}).Do(t.Context(), post("b", false))
	wantFault(t, err, Dial, false, 1)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c := socketClient(t, Config{URL: srv.URL, TLS: &tls.Config{RootCAs: roots}})
	if resp, err := c.Do(t.Context(), post("b", false)); err != nil || string(resp.Body) != "{}" {
		t.Errorf("got %+v, %v", resp, err)
	}
	if asked != 1 {
		t.Errorf("the origin got %d requests, want 1", asked)
	}
}

// TestResetBySocket checks a connection that is reset after the request was read.
func TestResetBySocket(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}))
	defer srv.Close()
	_, err := socketClient(t, Config{URL: srv.URL}).Do(t.Context(), post("b", false))
	wantFault(t, err, Reset, true, 1)
}

// TestRequestOnTheWire checks the sent request: path and query as written, under the URL's
// own path, no proxy, no redirect followed.
func TestRequestOnTheWire(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("X-Target", r.RequestURI)
		w.WriteHeader(http.StatusFound)
	}))
	defer srv.Close()
	f := func(prefix, path, query, want string) {
		t.Helper()
		c := socketClient(t, Config{URL: srv.URL + prefix})
		resp, err := c.Do(t.Context(), &Request{Method: "GET", Path: path, RawQuery: query})
		if err != nil || resp.Status != http.StatusFound || string(resp.Header.Get("X-Target")) != want {
			t.Errorf("%s %s?%s: got %+v, %v; want target %s", prefix, path, query, resp, err, want)
		}
	}
	f("", "/", "", "/")
	f("/", "/", "a=b", "/?a=b")
	f("/base", "/", "", "/base/")
	f("/base/", "/db/_design%2Fx", "key=%22a%22&b", "/base/db/_design%2Fx?key=%22a%22&b")
	f("", "/a//b/../c", "", "/a//b/../c")
	c := socketClient(t, Config{URL: srv.URL})
	_, err := c.Do(t.Context(), &Request{Method: "GET", Path: "/%zz"})
	wantFault(t, err, Unprepared, false, 0)
}

// TestMetrics checks a scrape of the series.
func TestMetrics(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer srv.Close()
	reg := newRegistry()
	c := socketClient(t, Config{URL: srv.URL, Metrics: reg, Retry: Retry{Base: 1, Cap: 1}})
	if _, err := c.Do(t.Context(), post("b", false)); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	reg.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`kasoku_origin_requests_total{outcome="throttled",service="test"} 1`,
		`kasoku_origin_requests_total{outcome="dial",service="test"} 0`,
		`kasoku_origin_attempts_total{service="test"} 3`,
		`kasoku_origin_retries_total{service="test"} 2`,
		`kasoku_origin_breaker_state{service="test"} 0`,
		`kasoku_origin_inflight{service="test"} 0`,
		`kasoku_origin_concurrency_limit{service="test"} 128`,
		`kasoku_origin_request_duration_seconds_count{service="test"} 1`,
	} {
		if !strings.Contains(rec.Body.String(), want+"\n") {
			t.Errorf("the scrape has no line %s", want)
		}
	}
	if s := c.State(); s.Requests != 1 || s.Attempts != 3 || s.Retries != 2 || s.Breaker != "closed" || s.Budget < 20 {
		t.Errorf("the state is %+v", s)
	}
}
