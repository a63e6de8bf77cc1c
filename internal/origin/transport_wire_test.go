package origin

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// onWire makes an exchange with a server that answers and closes, and returns the bytes of the
// request.
func onWire(t *testing.T, cfg TransportConfig, q *Outbound) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer conn.Close()
		var text bytes.Buffer
		r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &text)))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil {
			text.WriteString(err.Error())
		}
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		got <- text.String()
	}()
	cfg.URL = "http://" + l.Addr().String() + cfg.URL
	in, f := transport(t, cfg).Exchange(t.Context(), q)
	if f != nil {
		t.Fatal(f)
	}
	in.Close()
	return strings.ReplaceAll(<-got, l.Addr().String(), "ADDR")
}

// TestOutboundOnTheWire checks the sent request byte by byte.
func TestOutboundOnTheWire(t *testing.T) {
	f := func(prefix string, q Outbound, want string) {
		t.Helper()
		if q.Method == nil {
			q.Method = []byte("POST")
		}
		if got := onWire(t, TransportConfig{URL: prefix}, &q); got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
	fields := http1.FieldsOf
	f("", Outbound{Method: []byte("GET"), Target: []byte("/a%2fb?c=d")}, "GET /a%2fb?c=d HTTP/1.1\r\nHost: ADDR\r\n\r\n")
	f("/base/", Outbound{Method: []byte("GET"), Target: []byte("/x"), Host: []byte("client.test")}, "GET /base/x HTTP/1.1\r\nHost: client.test\r\n\r\n")
	f("/base", Outbound{Method: []byte("OPTIONS"), Target: []byte("*")}, "OPTIONS * HTTP/1.1\r\nHost: ADDR\r\n\r\n")
	f("", Outbound{Target: []byte("/")}, "POST / HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 0\r\n\r\n")
	f("", Outbound{Method: []byte("DELETE"), Target: []byte("/")}, "DELETE / HTTP/1.1\r\nHost: ADDR\r\n\r\n")
	// Fields for the connection or framing are not the caller's.
	f("", Outbound{Method: []byte("GET"), Target: []byte("/"), Header: fields("A", "1", "host", "evil", "Content-Length", "5", "TRANSFER-ENCODING", "chunked",
		"Connection", "close, A", "Keep-Alive", "x", "Proxy-Connection", "x", "Upgrade", "h2c", "te", "gzip", "Expect", "100-continue", "a", "2", "B", "")},
		"GET / HTTP/1.1\r\nHost: ADDR\r\nA: 1\r\na: 2\r\nB: \r\n\r\n")
	f("", Outbound{Method: []byte("GET"), Target: []byte("/"), WantTrailer: true}, "GET / HTTP/1.1\r\nHost: ADDR\r\nConnection: TE\r\nTE: trailers\r\n\r\n")
	f("", Outbound{Method: []byte("GET"), Target: []byte("/"), Header: fields("upgrade", "websocket"), Upgrade: true},
		"GET / HTTP/1.1\r\nHost: ADDR\r\nupgrade: websocket\r\nConnection: upgrade\r\n\r\n")
	f("", Outbound{Method: []byte("GET"), Target: []byte("/"), Header: fields("Upgrade", "x"), Upgrade: true, WantTrailer: true},
		"GET / HTTP/1.1\r\nHost: ADDR\r\nUpgrade: x\r\nConnection: upgrade, TE\r\nTE: trailers\r\n\r\n")
	// Bodies.
	f("/base", Outbound{Target: []byte("/"), Content: []byte("hello")}, "POST /base/ HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 5\r\n\r\nhello")
	f("", Outbound{Target: []byte("/"), Content: []byte{}}, "POST / HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 0\r\n\r\n")
	f("", Outbound{Target: []byte("/"), Body: strings.NewReader("hello world"), Length: 5}, "POST / HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 5\r\n\r\nhello")
	f("", Outbound{Target: []byte("/"), Rewind: func() io.Reader { return strings.NewReader("hello") }, Length: 5}, "POST / HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 5\r\n\r\nhello")
	f("", Outbound{Target: []byte("/"), Body: io.MultiReader(strings.NewReader("hello"), strings.NewReader("0123456789abcdef!")), Length: -1},
		"POST / HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n11\r\n0123456789abcdef!\r\n0\r\n\r\n")
	f("", Outbound{Target: []byte("/"), Body: strings.NewReader(""), Length: -1}, "POST / HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	f("", Outbound{Target: []byte("/"), Body: strings.NewReader("a"), Length: -1,
		Trailer: func() http1.Fields {
			return fields("X-Sum", "1", "Content-Length", "9", "no name", "x", "Y", "a\r\nZ: b")
		}},
		"POST / HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nY: a  Z: b\r\n\r\n")
}

// echo answers with the request's body and trailer, and with a length if the request has one.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.ContentLength >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	} else {
		w.Header().Set("Trailer", "X-Sum")
	}
	w.Write(body)
	if sum := r.Trailer.Get("X-Sum"); sum != "" {
		w.Header().Set("X-Sum", sum)
	}
}

// TestEchoes sends bodies of all sizes over one connection of every kind to an echo server.
func TestEchoes(t *testing.T) {
	plain, secure := httptest.NewServer(http.HandlerFunc(echo)), httptest.NewTLSServer(http.HandlerFunc(echo))
	defer plain.Close()
	defer secure.Close()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Server{Handler: http.HandlerFunc(echo)}
	go local.Serve(l)
	defer local.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for _, url := range []string{plain.URL, secure.URL, "unix://" + socket} {
		tr := transport(t, TransportConfig{URL: url, TLS: &tls.Config{RootCAs: roots}})
		for _, size := range []int{0, 1, 1000, 32 << 10, 32<<10 + 1, maxJoinedWrite - 100, maxJoinedWrite + 1, 3 << 20} {
			body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			for name, q := range map[string]*Outbound{
				"content": {Content: []byte(body)},
				"length":  {Body: strings.NewReader(body), Length: int64(size)},
				"chunked": {Body: strings.NewReader(body), Length: -1, Trailer: func() http1.Fields { return http1.FieldsOf("X-Sum", "1") }},
			} {
				q.Method, q.Target = []byte("PUT"), []byte("/")
				got := take(t, tr, q)
				if !got.whole || got.body != body || (got.trailer != nil) != (name == "chunked") {
					t.Errorf("%s, %s of %d bytes: status %d, %d bytes, whole %t, trailer %q", url, name, size, got.status, len(got.body), got.whole, got.trailer)
				}
			}
		}
		if n := tr.opened.Value(); n != 1 {
			t.Errorf("%s: %d connections; want 1", url, n)
		}
	}
}

// TestSurplusInTheKernel checks that data after a large body, which is not read with it, is not
// treated as the next answer.
func TestSurplusInTheKernel(t *testing.T) {
	big := strings.Repeat("0123456789", 10_000)
	o := newRawOrigin(t, ok200+"Content-Length: 100000\r\n\r\n"+big+ok200+"Content-Length: 4\r\n\r\nevil", keepsOpen)
	tr := transport(t, TransportConfig{URL: o.url()})
	for range 3 {
		if got := take(t, tr, get("/")); got.status != 200 || got.body != big {
			t.Fatalf("status %d, %d bytes", got.status, len(got.body))
		}
		<-o.wrote // everything has arrived
	}
}

// TestUpgrade checks a connection after a switch of protocols, whose first bytes arrived with
// the head.
func TestUpgrade(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		br := bufio.NewReader(conn)
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nfirst,")
		io.Copy(conn, br)
		io.WriteString(conn, ",last")
	}()
	tr := transport(t, TransportConfig{URL: "http://" + l.Addr().String()})
	q := get("/")
	q.Upgrade, q.Header = true, http1.FieldsOf("Upgrade", "x")
	in, f := tr.Exchange(t.Context(), q)
	if f != nil {
		t.Fatal(f)
	}
	conn := in.Conn()
	if in.Status != 101 || string(in.Header.Get("Upgrade")) != "x" || conn == nil {
		t.Fatalf("got %+v", in)
	}
	if n, err := in.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("a 101 has a body of %d bytes, %v", n, err)
	}
	var ended ends
	in.Observe(&ended)
	io.WriteString(conn, "hello")
	conn.(interface{ CloseWrite() error }).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "first,hello,last" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	conn.Close()
	conn.Close()
	if len(ended) != 1 || len(tr.pool.idle) != 0 || in.Conn() != nil {
		t.Errorf("Ended was called %d times, %d connections are kept; want 1, 0", len(ended), len(tr.pool.idle))
	}
}

// TestUpgradeRefused checks an ordinary answer to a request for another protocol.
func TestUpgradeRefused(t *testing.T) {
	tr := transport(t, TransportConfig{URL: newRawOrigin(t, ok200+"Content-Length: 5\r\n\r\nhello", keepsOpen).url()})
	q := get("/")
	q.Upgrade, q.Header = true, http1.FieldsOf("Upgrade", "x")
	in, f := tr.Exchange(t.Context(), q)
	if f != nil {
		t.Fatal(f)
	}
	body, err := io.ReadAll(in)
	if in.Conn() != nil || string(body) != "hello" || err != nil || len(tr.pool.idle) != 1 {
		t.Errorf("got %q, %v, %d connections kept", body, err, len(tr.pool.idle))
	}
}
