package edge

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// probe is a malformed or unusual request.
type probe struct {
	name      string
	bytes     string
	want      []int // statuses, in order
	calls     int64 // requests that reach the handler
	keepsOpen bool  // the connection can be used for another request
}

const host = "Host: a\r\n"

// head makes a GET with more header lines.
func head(lines string) string { return "GET / HTTP/1.1\r\n" + host + lines + "\r\n" }

// sized makes a POST whose framing is up to the caller.
func sized(lines, body string) string {
	return "POST / HTTP/1.1\r\n" + host + lines + "\r\n" + body
}

// chunked makes a chunked POST.
func chunked(body string) string { return sized("Transfer-Encoding: chunked\r\n", body) }

// line makes a GET from a request line.
func line(first string) string { return first + "\r\n" + host + "\r\n" }

// target makes a GET for a target.
func target(t string) string { return line("GET " + t + " HTTP/1.1") }

func ok(name, bytes string) probe {
	return probe{name: name, bytes: bytes, want: []int{200}, calls: 1, keepsOpen: true}
}

func bad(name, bytes string) probe { return refused(name, 400, bytes) }

func refused(name string, status int, bytes string) probe {
	return probe{name: name, bytes: bytes, want: []int{status}}
}

func fields(n int) string { return strings.Repeat("X-Field: v\r\n", n) }

const (
	hidden   = "GET /hidden HTTP/1.1\r\n" + host + "\r\n"
	goodEnd  = "5\r\nhello\r\n0\r\n\r\n"
	tooLarge = "18446744073709551621" // 2^64 + 5
)

var framingProbes = []probe{
	ok("baseline GET", get),
	ok("baseline POST CL", post("hello")),
	ok("baseline POST chunked", chunked(goodEnd)),
	bad("CL + TE: chunked (consistent end)", sized("Content-Length: 15\r\nTransfer-Encoding: chunked\r\n", goodEnd)),
	bad("CL.TE smuggle (CL covers hidden request)", sized("Content-Length: "+strconv.Itoa(5+len(hidden))+"\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+hidden)),
	bad("TE.CL smuggle", sized("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "2a\r\n"+hidden+"\r\n0\r\n\r\n")),
	bad("duplicate CL, same value", sized("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")),
	bad("duplicate CL, different", sized("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!")),
	bad(`CL list "5, 5"`, sized("Content-Length: 5, 5\r\n", "hello")),
	bad(`CL list "5, 6"`, sized("Content-Length: 5, 6\r\n", "hello!")),
	bad(`CL "+5"`, sized("Content-Length: +5\r\n", "hello")),
	bad(`CL "-1"`, sized("Content-Length: -1\r\n", "hello")),
	bad(`CL "0x5"`, sized("Content-Length: 0x5\r\n", "hello")),
	bad(`CL "5abc"`, sized("Content-Length: 5abc\r\n", "hello")),
	bad(`CL "5 5"`, sized("Content-Length: 5 5\r\n", "hello")),
	bad("CL empty", sized("Content-Length:\r\n", "hello")),
	bad("CL 2^64+5 overflow", sized("Content-Length: "+tooLarge+"\r\n", "hello")),
	ok(`CL "05" (leading zero)`, sized("Content-Length: 05\r\n", "hello")),
	ok("TE: Chunked (case)", sized("Transfer-Encoding: Chunked\r\n", goodEnd)),
	bad(`TE: "chunked, chunked"`, sized("Transfer-Encoding: chunked, chunked\r\n", goodEnd)),
	bad("TE twice: chunked + chunked", sized("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", goodEnd)),
	refused("TE: gzip, chunked", 501, sized("Transfer-Encoding: gzip, chunked\r\n", goodEnd)),
	bad("TE: chunked, gzip (chunked not last)", sized("Transfer-Encoding: chunked, gzip\r\n", goodEnd)),
	refused("TE: identity", 501, sized("Transfer-Encoding: identity\r\n", "hello")),
	refused("TE: xchunked", 501, sized("Transfer-Encoding: xchunked\r\n", goodEnd)),
	bad("TE: <VT>chunked", sized("Transfer-Encoding: \vchunked\r\n", goodEnd)),
	ok("TE: <TAB>chunked", sized("Transfer-Encoding:\tchunked\r\n", goodEnd)),
	bad(`TE: "chunked" quoted`, sized("Transfer-Encoding: \"chunked\"\r\n", goodEnd)),
	bad("TE: chunked on HTTP/1.0", "POST / HTTP/1.0\r\n"+host+"Transfer-Encoding: chunked\r\n\r\n"+goodEnd),
	bad("TE empty + CL", sized("Transfer-Encoding:\r\nContent-Length: 5\r\n", "hello")),
	bad(`"Transfer-Encoding : chunked" (space before colon)`, sized("Transfer-Encoding : chunked\r\n", goodEnd)),
	bad(`"Content-Length : 5" (space before colon)`, sized("Content-Length : 5\r\n", "hello")),
}

var fieldProbes = []probe{
	bad(`"X-Foo : bar" (space before colon)`, head("X-Foo : bar\r\n")),
	bad("leading space on first header line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
	bad("obs-fold (space)", head("X-Foo: a\r\n b\r\n")),
	bad("obs-fold hiding TE", sized("X-Foo: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "hello")),
	bad("obs-fold in TE value", sized("Transfer-Encoding:\r\n chunked\r\n", goodEnd)),
	bad("bare LF everywhere", "GET / HTTP/1.1\nHost: a\n\n"),
	bad("bare LF in one header line", head("X-Foo: a\n")),
	bad("bare CR in header value", head("X-Foo: a\rb\r\n")),
	bad("bare CR before LF twice (CR CR LF)", head("X-Foo: a\r\r\n")),
	bad("NUL in header value", head("X-Foo: a\x00b\r\n")),
	bad("NUL in header name", head("X-F\x00oo: a\r\n")),
	bad("0x01 control in header value", head("X-Foo: a\x01b\r\n")),
	bad("0x7f in header value", head("X-Foo: a\x7fb\r\n")),
	ok("obs-text (0xff) in header value", head("X-Foo: a\xffb\r\n")),
	bad(`header name with "("`, head("X-F(oo: a\r\n")),
	bad("header name with space inside", head("X-F oo: a\r\n")),
	bad("header name UTF-8", head("X-Fö: a\r\n")),
	ok("header name with underscore", head("X_Foo: a\r\n")),
	bad("empty header name", head(": a\r\n")),
	bad("header line without colon", head("NoColonHere\r\n")),
	ok("header value of 4096 bytes", head("X-Foo: "+strings.Repeat("v", 4096)+"\r\n")),
	ok("header value of 7000 bytes", head("X-Foo: "+strings.Repeat("v", 7000)+"\r\n")),
	ok("header value of 8192 bytes", head("X-Foo: "+strings.Repeat("v", 8192)+"\r\n")),
	ok("header value of 16384 bytes", head("X-Foo: "+strings.Repeat("v", 16384)+"\r\n")),
	refused("header value of 32768 bytes", 431, head("X-Foo: "+strings.Repeat("v", 32768)+"\r\n")),
	refused("header value of 65536 bytes", 431, head("X-Foo: "+strings.Repeat("v", 65536)+"\r\n")),
	refused("header value of 1048576 bytes", 431, head("X-Foo: "+strings.Repeat("v", 1048576)+"\r\n")),
	ok("50 header fields", head(fields(50))),
	ok("100 header fields", head(fields(100))),
	refused("200 header fields", 431, head(fields(200))),
	refused("1000 header fields", 431, head(fields(1000))),
	refused("5000 header fields", 431, head(fields(5000))),
}

var chunkProbes = []probe{
	bad(`chunk size "0x5"`, chunked("0x5\r\nhello\r\n0\r\n\r\n")),
	bad(`chunk size "+5"`, chunked("+5\r\nhello\r\n0\r\n\r\n")),
	bad(`chunk size "-5"`, chunked("-5\r\nhello\r\n0\r\n\r\n")),
	bad(`chunk size "G"`, chunked("G\r\nhello\r\n0\r\n\r\n")),
	bad("chunk size empty", chunked("\r\nhello\r\n0\r\n\r\n")),
	bad("chunk size 2^64+5", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n")),
	bad("chunk size leading zeros (64 digits)", chunked(strings.Repeat("0", 63)+"5\r\nhello\r\n0\r\n\r\n")),
	bad("chunk size trailing space", chunked("5 \r\nhello\r\n0\r\n\r\n")),
	bad("chunk size leading space", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
	ok(`chunk-ext ";a=b"`, chunked("5;a=b\r\nhello\r\n0\r\n\r\n")),
	bad("chunk-ext with bare LF inside", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n")),
	bad("chunk-ext 64 KiB", chunked("5;"+strings.Repeat("a", 65536)+"\r\nhello\r\n0\r\n\r\n")),
	bad("chunk line ended by bare LF", chunked("5\nhello\r\n0\r\n\r\n")),
	bad("chunk data not followed by CRLF", chunked("5\r\nhelloXX0\r\n\r\n")),
	bad("chunk data followed by bare LF", chunked("5\r\nhello\n0\r\n\r\n")),
	ok(`last chunk "00"`, chunked("5\r\nhello\r\n00\r\n\r\n")),
	ok("trailer field", chunked("5\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n")),
	ok("trailer Content-Length (forbidden)", chunked("5\r\nhello\r\n0\r\nContent-Length: 99\r\n\r\n")),
	bad("trailer with bad syntax", chunked("5\r\nhello\r\n0\r\nX Trailer: a\r\n\r\n")),
}

var lineProbes = []probe{
	ok("URI of 4000 bytes", target("/"+strings.Repeat("u", 3999))),
	ok("URI of 8100 bytes", target("/"+strings.Repeat("u", 8099))),
	refused("URI of 16384 bytes", 414, target("/"+strings.Repeat("u", 16383))),
	refused("URI of 65536 bytes", 414, target("/"+strings.Repeat("u", 65535))),
	refused("method of 1000 bytes", 501, line(strings.Repeat("M", 1000)+" / HTTP/1.1")),
	bad("no Host, HTTP/1.1", "GET / HTTP/1.1\r\n\r\n"),
	{name: "no Host, HTTP/1.0", bytes: "GET / HTTP/1.0\r\n\r\n", want: []int{200}, calls: 1},
	bad("two Host, same", head("Host: a\r\n")),
	bad("two Host, different", head("Host: b\r\n")),
	bad("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
	bad("Host with space/slash", "GET / HTTP/1.1\r\nHost: a /b\r\n\r\n"),
	bad(`Host "a, b"`, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
	bad(`Host with userinfo "u@h"`, "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n"),
	ok("absolute-form, other authority", target("http://other/x")),
	bad("absolute-form https", target("https://a/x")),
	bad("authority-form GET", target("a:80")),
	refused("CONNECT", 405, line("CONNECT a:443 HTTP/1.1")),
	{name: "OPTIONS *", bytes: line("OPTIONS * HTTP/1.1"), want: []int{200}, keepsOpen: true},
	refused("TRACE", 405, line("TRACE / HTTP/1.1")),
	ok("unknown method FOO", line("FOO / HTTP/1.1")),
	refused(`lower-case "get"`, 501, line("get / HTTP/1.1")),
	bad(`method with bad char "G(T"`, line("G(T / HTTP/1.1")),
	ok("HTTP/1.2", line("GET / HTTP/1.2")),
	refused("HTTP/2.0", 505, line("GET / HTTP/2.0")),
	bad("HTTP/0.9 simple request", "GET /\r\n"),
	bad(`version "HTTP/1.10"`, line("GET / HTTP/1.10")),
	bad("version lower-case http/1.1", line("GET / http/1.1")),
	bad("two spaces in request line", line("GET  / HTTP/1.1")),
	bad("tab instead of space", line("GET\t/\tHTTP/1.1")),
	bad("trailing space after version", line("GET / HTTP/1.1 ")),
	bad("space inside URI", target("/a b")),
	bad(`"#frag" in target`, target("/a#frag")),
	bad("NUL in URI", target("/a\x00b")),
	ok("%00 in URI", target("/a%00b")),
	bad(`"%zz" in URI`, target("/a%zz")),
	bad("0xff in URI", target("/a\xff")),
	bad(`"/../../x" in URI`, target("/../../x")),
	ok("leading CRLF before request", "\r\n"+get),
	bad("5 leading CRLFs", strings.Repeat("\r\n", 5)+get),
	bad("leading garbage line", "garbage\r\n"+get),
	bad("TLS ClientHello on plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+strings.Repeat("\xaa", 100)),
	bad("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
}

var messageProbes = []probe{
	ok("GET with CL body", "GET / HTTP/1.1\r\n"+host+"Content-Length: 5\r\n\r\nhello"),
	ok("GET with chunked body", "GET / HTTP/1.1\r\n"+host+"Transfer-Encoding: chunked\r\n\r\n"+goodEnd),
	ok("GET with CL hiding a request (must not be 2 requests)",
		"GET / HTTP/1.1\r\n"+host+"Content-Length: "+strconv.Itoa(len(hidden))+"\r\n\r\n"+hidden),
	{name: "pipelined 2 GETs", bytes: get + get, want: []int{200, 200}, calls: 2, keepsOpen: true},
	{name: "Expect: 100-continue POST", bytes: sized("Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
		want: []int{100}, keepsOpen: false},
	refused("Expect: garbage", 417, sized("Content-Length: 5\r\nExpect: garbage\r\n", "hello")),
	{name: "Connection: close, X-Hop", bytes: head("Connection: close, X-Hop\r\nX-Hop: 1\r\n"), want: []int{200}, calls: 1},
	bad("Connection: Host", head("Connection: Host\r\n")),
	bad("Connection: Content-Length", sized("Connection: Content-Length\r\nContent-Length: 5\r\n", "hello")),
	bad("Connection: Authorization", head("Connection: Authorization\r\nAuthorization: x\r\n")),
	ok("Upgrade: h2c", head("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n")),
	ok("Upgrade: websocket", head("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")),
	{name: "Max-Forwards: 0 OPTIONS", bytes: "OPTIONS / HTTP/1.1\r\n" + host + "Max-Forwards: 0\r\n\r\n", want: []int{200}, keepsOpen: true},
}

// bodyCounter is echo for a streaming server. It counts the requests whose body was whole.
type bodyCounter struct{ echo }

func (r *bodyCounter) Serve(x *Exchange) {
	body, err := io.ReadAll(x.BodyReader())
	if err != nil {
		x.Reply.Status = http.StatusTeapot // never seen: the server refuses the body
		return
	}
	x.Body = body
	r.echo.Serve(x)
}

// TestProbes sends requests as of attackers, old clients and broken proxies. No ambiguous
// request may reach a handler, and after a refusal the connection is closed.
func TestProbes(t *testing.T) {
	for _, p := range slices.Concat(framingProbes, fieldProbes, chunkProbes, lineProbes, messageProbes) {
		t.Run(p.name, func(t *testing.T) {
			e, r := &echo{}, &bodyCounter{}
			p.run(t, start(t, Config{Handler: e}), e)
			p.run(t, start(t, Config{Handler: r, Streaming: true}), &r.echo)
		})
	}
}

// run sends the probe at once and byte by byte.
func (p probe) run(t *testing.T, s *Server, e *echo) {
	t.Helper()
	whole := dial(t, s)
	go func() { _, _ = io.WriteString(whole.Conn, p.bytes) }()
	p.check(t, whole, e)
	if len(p.bytes) > 20000 {
		return
	}
	e.calls.Store(0)
	dribbled := dial(t, s)
	go func() {
		for i := range len(p.bytes) {
			if _, err := io.WriteString(dribbled.Conn, p.bytes[i:i+1]); err != nil {
				return
			}
		}
	}()
	p.check(t, dribbled, e)
}

// TestProbesUnread checks that a handler that does not read bodies is not called for a request
// hidden in a malformed body, or after one.
func TestProbesUnread(t *testing.T) {
	for _, p := range slices.Concat(framingProbes, chunkProbes, messageProbes) {
		t.Run(p.name, func(t *testing.T) {
			e := &echo{}
			s := start(t, Config{Handler: e, Streaming: true})
			got := halfClosed(t, s, p.bytes+"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			if strings.Contains(got, "GET /hidden a") {
				t.Errorf("a hidden request was executed: %q", got)
			}
			if after := strings.Contains(got, "GET /after a"); after != p.keepsOpen && p.want[0] != 100 {
				t.Errorf("the next request was executed: got %v, want %v", after, p.keepsOpen)
			}
			if n := strings.Count(got, "HTTP/1.1 "); n > len(p.want)+1 {
				t.Errorf("%d answers: %q", n, got)
			}
		})
	}
}

// check reads the answers and checks whether the connection was closed.
func (p probe) check(t *testing.T, c *client, e *echo) {
	t.Helper()
	for i, want := range p.want {
		a := c.read("GET")
		if a.StatusCode != want {
			t.Fatalf("answer %d has status %d; want %d", i, a.StatusCode, want)
		}
		if got := a.Header.Get("Cache-Status"); want >= 400 && got != "kasoku; detail=local" {
			t.Errorf("answer %d, a refusal, has Cache-Status %q", i, got)
		}
		if want >= 400 && (a.text != "" || !a.Close) {
			t.Errorf("refusal has body %q, close %v", a.text, a.Close)
		}
	}
	switch {
	case p.want[0] == 100:
		c.send("hello")
		if a := c.read("POST"); a.StatusCode != 200 || a.text != "POST / a\nhello" {
			t.Errorf("after 100: %d %q", a.StatusCode, a.text)
		}
		p.calls = 1
	case p.keepsOpen:
		c.send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n")
		if a := c.read("GET"); a.StatusCode != 200 || a.text != "GET /after a\n" {
			t.Errorf("next request on the connection: %d %q", a.StatusCode, a.text)
		}
		e.calls.Add(-1)
	default:
		if b, err := io.ReadAll(c.r); len(b) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("connection not closed: %q, %v", b, err)
		}
	}
	if n := e.calls.Load(); n != p.calls {
		t.Errorf("%d requests were executed, want %d", n, p.calls)
	}
}

func TestAbsoluteFormHost(t *testing.T) {
	c := dial(t, start(t, Config{Handler: &echo{}}))
	c.send(target("http://other:81/x?y"))
	if a := c.read("GET"); a.text != "GET http://other:81/x?y other:81\n" {
		t.Errorf("answer %q; want the target's host", a.text)
	}
}

// TestRefusalReachesSender checks that a client that sends its whole large request before it
// reads gets the 413. Closing at once would reset the connection.
func TestRefusalReachesSender(t *testing.T) {
	s := start(t, Config{Handler: &echo{}, Limits: Limits{BodyBytes: 1000}})
	f := func(request string) {
		t.Helper()
		c := dial(t, s)
		c.send(request)
		if a := c.read("POST"); a.StatusCode != http.StatusRequestEntityTooLarge || !a.Close {
			t.Errorf("status %d, close %v; want 413 and close", a.StatusCode, a.Close)
		}
		c.ended()
	}
	f(post(strings.Repeat("x", 4<<20)))
	f(chunked("400\r\n" + strings.Repeat("x", 1024) + "\r\n0\r\n\r\n"))
	f(sized("Content-Length: 999999999999\r\nExpect: 100-continue\r\n", ""))
}

// halfClosed sends text, closes its side, and returns all that it receives.
func halfClosed(t *testing.T, s *Server, text string) string {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	_, _ = io.WriteString(nc, text)
	_ = nc.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(bufio.NewReader(nc))
	if err != nil {
		t.Fatalf("the server did not close after the client's end: %v", err)
	}
	return string(b)
}

func TestHalfClosedClient(t *testing.T) {
	s := start(t, Config{Handler: &echo{}})
	if got := halfClosed(t, s, get); strings.Count(got, "HTTP/1.1 200 OK\r\n") != 1 {
		t.Errorf("one request: %q", got)
	}
	if got := halfClosed(t, s, get+get+get); strings.Count(got, "HTTP/1.1 200 OK\r\n") != 3 {
		t.Errorf("three requests: %q", got)
	}
	if got := halfClosed(t, s, get[:20]); got != "" {
		t.Errorf("half a request: %q", got)
	}
}
