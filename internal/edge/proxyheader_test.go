package edge

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// block returns a header of version 2.
func block(command, family byte, rest string) string {
	b := append([]byte(proxySignature), command, family, 0, 0)
	binary.BigEndian.PutUint16(b[14:], uint16(len(rest)))
	return string(b) + rest
}

// summed adds a checksum, off by wrong, to a header of version 2.
func summed(command, family byte, rest string, wrong uint32) string {
	b := []byte(block(command, family, rest+"\x03\x00\x04\x00\x00\x00\x00"))
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) + wrong
	binary.BigEndian.PutUint32(b[len(b)-4:], sum)
	return string(b)
}

const (
	tcp4 = "\xc0\x00\x02\x01\x7f\x00\x00\x01\x30\x39\x00\x50"
	tcp6 = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01\x01\xbb"
)

// own represents a connection that the proxy has opened for itself.
const own = "own"

// goodHeaders are headers with the client address that they specify.
var goodHeaders = [][2]string{
	{"PROXY TCP4 192.0.2.1 127.0.0.1 12345 80\r\n", "192.0.2.1:12345"},
	{"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0:0"},
	{"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535"},
	{"PROXY TCP6 2001:db8::1 2001:db8::2 1 443\r\n", "[2001:db8::1]:1"},
	{"PROXY TCP6 :: :: 0 0\r\n", "[::]:0"},
	{"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
	{"PROXY TCP6 ::ffff:192.0.2.1 ::1 7 7\r\n", "192.0.2.1:7"},
	{"PROXY UNKNOWN\r\n", own},
	{"PROXY UNKNOWN ffff::1 what ever\r\n", own},
	{block(0x21, 0x11, tcp4), "192.0.2.1:12345"},
	{block(0x21, 0x21, tcp6), "[2001:db8::1]:1"},
	{block(0x21, 0x11, tcp4+"\x04\x00\x00\x01\x00\x02h2"), "192.0.2.1:12345"},
	{summed(0x21, 0x11, tcp4+"\x04\x00\x01x", 0), "192.0.2.1:12345"},
	{block(0x21, 0x31, strings.Repeat("\x00", 216)), "invalid AddrPort"},
	{block(0x21, 0x00, ""), own},
	{block(0x21, 0x00, "anything"), own},
	{block(0x20, 0x00, ""), own},
	{block(0x20, 0x11, tcp4), own},
	{block(0x21, 0x11, tcp4+"\xee\x0f\x00"+strings.Repeat("x", 0xf00)), "192.0.2.1:12345"},
}

var badHeaders = []string{
	"", "P", "PROXY TCP4", get, "\r\n\r\n\x00\r\nQUIT", "PROXY  TCP4 192.0.2.1 127.0.0.1 1 2\r\n",
	"proxy TCP4 192.0.2.1 127.0.0.1 12345 80\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 12345 80\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 12345 80\r\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 12345 80 \r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 12345 65536\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 012345 80\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 +12345 80\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 -1 80\r\n",
	"PROXY TCP4 192.0.2.01 127.0.0.1 12345 80\r\n",
	"PROXY TCP4 2001:db8::1 2001:db8::2 12345 80\r\n",
	"PROXY TCP6 192.0.2.1 127.0.0.1 12345 80\r\n",
	"PROXY TCP6 fe80::1%eth0 2001:db8::2 12345 80\r\n",
	"PROXY TCP4 192.0.2.1 12345 80 and so on\r\n",
	"PROXY TCP5 192.0.2.1 127.0.0.1 12345 80\r\n",
	"PROXY TCP44 192.0.2.1 127.0.0.1 12345 80\r\n",
	"PROXY UNKNOWNS or not\r\n",
	"PROXY UNKNOWN a\rb\r\n",
	"PROXY UNKNOWN " + strings.Repeat("x", 92) + "\r\n",
	"PROXY TCP4 192.0.2.1 127.0.0.1 12345 80" + strings.Repeat(" ", 1000) + "\r\n",
	block(0x22, 0x11, tcp4), block(0x11, 0x11, tcp4), block(0x01, 0x11, tcp4),
	block(0x21, 0x12, tcp4), block(0x21, 0x22, tcp6), block(0x21, 0x41, tcp6), block(0x21, 0x10, tcp4),
	block(0x21, 0x11, tcp4[:11]), block(0x21, 0x21, tcp6[:35]), block(0x21, 0x31, strings.Repeat("\x00", 215)),
	block(0x21, 0x11, tcp4+"\x04"), block(0x21, 0x11, tcp4+"\x04\x00\x02x"),
	block(0x21, 0x11, tcp4+"\x03\x00\x00"),
	block(0x21, 0x11, tcp4+"\xee\x10\x00"+strings.Repeat("x", 0x1000)),
	summed(0x21, 0x11, tcp4, 1),
	block(0x21, 0x11, tcp4)[:20],
}

// readHeader reads a header and returns its client address and the bytes after it.
func readHeader(r io.Reader) (client string, rest []byte, err error) {
	named, err := readProxyHeader(r)
	if err != nil {
		return "", nil, err
	}
	rest, _ = io.ReadAll(r)
	if named == nil {
		return own, rest, nil
	}
	return named.String(), rest, nil
}

func TestProxyHeader(t *testing.T) {
	for _, h := range goodHeaders {
		client, rest, err := readHeader(strings.NewReader(h[0] + get))
		if err != nil || client != h[1] || string(rest) != get {
			t.Errorf("%q: got the client %q, %v, and the rest %q; want %q", h[0], client, err, rest, h[1])
		}
	}
	for _, h := range badHeaders {
		if client, _, err := readHeader(strings.NewReader(h)); err == nil {
			t.Errorf("%q: got the client %q, want an error", h, client)
		}
	}
}

func FuzzProxyHeader(f *testing.F) {
	for _, h := range goodHeaders {
		f.Add([]byte(h[0]))
	}
	for _, h := range badHeaders {
		f.Add([]byte(h))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		client, rest, err := readHeader(bytes.NewReader(b))
		slow, slowRest, slowErr := readHeader(iotest.OneByteReader(bytes.NewReader(b)))
		if client != slow || (err == nil) != (slowErr == nil) || !bytes.Equal(rest, slowRest) {
			t.Fatalf("%q: %q, %q, %v at once; %q, %q, %v byte by byte", b, client, rest, err, slow, slowRest, slowErr)
		}
		if err != nil || client == own || !bytes.HasPrefix(b, []byte("PROXY ")) {
			return
		}
		ip, err := netip.ParseAddrPort(client)
		if err != nil || !bytes.Contains(b, fmt.Appendf(nil, " %d ", ip.Port())) {
			t.Fatalf("%q: got the client %q", b, client)
		}
	})
}

// whoami answers with the client's address as in the log.
var whoami = HandlerFunc(func(x *Exchange) {
	x.Reply.Status = http.StatusOK
	x.Reply.Build(append(x.Reply.Buf, x.Record.Client.String()...))
})

func TestProxyProtocol(t *testing.T) {
	s := start(t, Config{ProxyProtocol: true, Handler: whoami, Limits: Limits{RequestsPerSecond: 0.001}})
	f := func(header string, status int, client string) {
		t.Helper()
		c := dial(t, s)
		c.send(header + get)
		if a := c.read("GET"); a.StatusCode != status || status == 200 && a.text != client {
			t.Errorf("%q: %d %q; want %d %q", header, a.StatusCode, a.text, status, client)
		}
	}
	f("PROXY TCP4 192.0.2.1 127.0.0.1 12345 80\r\n", 200, "192.0.2.1:12345")
	f("PROXY TCP4 192.0.2.1 127.0.0.1 12346 80\r\n", 429, "")
	f(block(0x21, 0x21, tcp6), 200, "[2001:db8::1]:1")
	for _, header := range []string{"", "PROXY TCP4 192.0.2.1 127.0.0.1 1 99999\r\n"} {
		c := dial(t, s)
		c.send(header + get)
		if b, _ := io.ReadAll(c.r); len(b) > 0 {
			t.Errorf("%q is answered with %q", header, b)
		}
	}
	c := dial(t, s)
	c.send(block(0x20, 0, "") + get)
	if a := c.read("GET"); a.text != c.LocalAddr().String() {
		t.Errorf("the proxy's own connection is %q; want %s", a.text, c.LocalAddr())
	}
	if n := s.stats.proxies.Value(); n != 2 {
		t.Errorf("%d bad headers are counted, want 2", n)
	}
}

func TestProxyProtocolOverTLS(t *testing.T) {
	s, id := startTLS(t, Config{ProxyProtocol: true, Handler: whoami})
	f := func(header, client string, protocols ...string) {
		t.Helper()
		c := dial(t, s)
		c.send(header)
		tc := tls.Client(c.Conn, &tls.Config{RootCAs: id.pool, ServerName: "127.0.0.1", NextProtos: protocols})
		if len(protocols) > 0 {
			h := &http.Client{Timeout: testTimeout, Transport: &http.Transport{ForceAttemptHTTP2: true,
				DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return tc, tc.Handshake() }}}
			resp, err := h.Get("https://" + s.Addr().String() + "/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != client || resp.ProtoMajor != 2 {
				t.Errorf("%q over %s: got %q, %v; want %q", header, resp.Proto, b, err, client)
			}
			return
		}
		c = newClient(t, tc)
		c.send(get)
		if a := c.read("GET"); a.text != client {
			t.Errorf("%q: got %q; want %q", header, a.text, client)
		}
	}
	const line = "PROXY TCP4 192.0.2.1 127.0.0.1 12345 80\r\n"
	f(line, "192.0.2.1:12345")
	f(line, "192.0.2.1:12345", "h2")
	f(block(0x21, 0x31, strings.Repeat("\x00", 216)), "invalid AddrPort", "h2")
}

// TestProxyHeaderTimeout checks that header_timeout bounds the wait for a proxy's header, and
// that such a connection does not delay a stop.
func TestProxyHeaderTimeout(t *testing.T) {
	silent := func(s *Server) func() {
		c := dial(t, s)
		c.send("PROXY TCP4")
		return func() {
			t.Helper()
			if b, err := c.r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %q, %v; want the connection closed", b, err)
			}
		}
	}
	silent(start(t, Config{ProxyProtocol: true, Handler: whoami, Limits: Limits{HeaderTimeout: 30 * time.Millisecond}}))()
	s := start(t, Config{ProxyProtocol: true, Handler: whoami})
	ended := silent(s)
	c := dial(t, s) // accepted after the silent one
	c.send("PROXY UNKNOWN\r\n" + get)
	c.read("GET")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	ended()
}
