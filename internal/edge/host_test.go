package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// goodHosts and badHosts are the values of Host and :authority in docs/http-reference.md.
var (
	goodHosts = []string{"a", "a.example", "A.Example.", "a-b_c.example:8080", "-a-", "a:", "a:0", "127.0.0.1:65535", "xn--bcher-kva.example",
		"[::]", "[::1]", "[2001:db8::1]:80", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "[fe80::1%25eth0]:80", strings.Repeat("a", 63) + ".b"}
	badHosts = []string{"", ":80", ".", ".a", "a..b", "a b", "a,b", "a/b", "a?b", "a#b", "u@a", "a\\b", `"a"`, "<a>", "a|b", "a^b", "a`b", "{a}", "a%41", "a~b", "a!b",
		"a$b", "a&b", "a'b", "(a)", "*", "a+b", "a;b", "a=b", "\u00e4", "a:b", "a:80:80", "a:65536", "a:99999999999999999999", "a:+80", "a:-1", "::1", "[::1", "::1]", "[]",
		"[::1]x", "[::1]:x", "[::1]:65536", "[a]", "[1.2.3.4]", "[a.example]", "[1:2]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7::8:9]", "[::1::]", "[1:]", "[:1]", "[:::]",
		"[12345::]", "[::g]", "[::1.2.3]", "[::1.2.3.256]", "[::1.2.3.04]", "[::1%]", "[::1% x]", "[v1.a]", strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 128) + "a"}
)

// once sends a request over a connection of its own and returns the status of the answer.
func once(t *testing.T, s *Server, request string) int {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestHosts(t *testing.T) {
	s := start(t, Config{Handler: HandlerFunc(func(x *Exchange) { x.Reply.Status = 200 })})
	f := func(want int, request string) {
		t.Helper()
		if got := once(t, s, request); got != want {
			t.Errorf("%q: got %d; want %d", request, got, want)
		}
	}
	for _, h := range goodHosts {
		f(200, "GET / HTTP/1.1\r\nHost: "+h+"\r\n\r\n")
		f(200, "GET http://"+h+"/ HTTP/1.1\r\nHost: other\r\n\r\n")
	}
	for _, h := range badHosts {
		f(400, "GET / HTTP/1.1\r\nHost: "+h+"\r\n\r\n")
		f(400, "GET / HTTP/1.0\r\nHost: "+h+"\r\n\r\n")
		f(400, "GET http://a/ HTTP/1.1\r\nHost: "+h+"\r\n\r\n")
		if !strings.ContainsAny(h, "/?#") { // these end an authority
			f(400, "GET http://"+h+"/ HTTP/1.1\r\nHost: a\r\n\r\n")
		}
	}
	f(400, "GET / HTTP/1.1\r\n\r\n")
	f(200, "GET / HTTP/1.0\r\n\r\n")
	f(400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n")
	f(400, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n")
	f(400, "GET http://a/ HTTP/1.1\r\n\r\n")
}

// TestH2Hosts is TestHosts for :authority, and for a Host field beside it.
func TestH2Hosts(t *testing.T) {
	s, _ := startTLS(t, Config{Handler: HandlerFunc(func(x *Exchange) { x.Reply.Status = 200 })})
	f := func(good bool, fields ...string) {
		t.Helper()
		w := dialWire(t, s)
		w.check(w.headers(1, true, fields...))
		if got := w.outcome(1); good != (got == "200") || !good && got != "400" && got != "reset PROTOCOL_ERROR" {
			t.Errorf("%q: got %s, want it accepted: %v", fields, got, good)
		}
		_ = w.nc.Close()
	}
	for _, h := range goodHosts {
		f(true, ":authority: "+h)
	}
	for _, h := range badHosts {
		f(false, ":authority: "+h)
	}
	f(true, ":authority: ", "host: a")
	f(true, "host: test")
	f(false, "host: other")
	f(false, "host: test", "host: test")
}
