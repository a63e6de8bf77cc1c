package httpcache

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestMalformedAnswers checks what a client gets of invalid answers, and of valid ones for
// comparison, and with a second request which of them are stored.
func TestMalformedAnswers(t *testing.T) {
	f := func(name, response, want string, stored bool, after ...func(net.Conn)) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				a.raw(response)
				for _, f := range after {
					f(a.conn)
				}
			})
			first := s.ask("GET /a")
			got := fmt.Sprint(first.status)
			if first.cut {
				got += " cut"
			} else if first.status < 500 {
				got += " " + first.body
			}
			if got != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
			if first.status == 502 && !strings.HasPrefix(first.body, "Bad Gateway: ") {
				t.Errorf("the 502 has the body %q", first.body)
			}
			asked := len(s.origin.requests())
			s.ask("GET /a")
			if again := len(s.origin.requests()); (again == asked) != stored {
				t.Errorf("%d requests, then %d: stored should be %v", asked, again, stored)
			}
		})
	}
	fin := func(c net.Conn) { c.Close() }
	reset := func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() }
	h := func(lines string) string { return "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n" + lines + "\r\n" }
	big := strings.Repeat("b", 200_000)

	f("length", h("Content-Length: 5\r\n")+"hello", "200 hello", true)
	f("chunked", h("Transfer-Encoding: chunked\r\n")+"5\r\nhello\r\n0\r\n\r\n", "200 hello", true)
	f("until close", h("")+"hello", "200 hello", true, fin)
	f("length 10, 0 bytes", h("Content-Length: 10\r\n"), "502", false, fin)
	f("length 10, 5 bytes", h("Content-Length: 10\r\n")+"hello", "200 cut", false, fin)
	f("length 400000, 200000 bytes", h("Content-Length: 400000\r\n")+big, "200 cut", false, fin)
	f("cut in a chunk", h("Transfer-Encoding: chunked\r\n")+"5\r\nhel", "200 cut", false, fin)
	f("cut between chunks", h("Transfer-Encoding: chunked\r\n")+"5\r\nhello\r\n", "200 cut", false, fin)
	f("no last line end", h("Transfer-Encoding: chunked\r\n")+"5\r\nhello\r\n0\r\n", "200 cut", false, fin)
	f("chunk size Z", h("Transfer-Encoding: chunked\r\n")+"Z\r\nhello\r\n0\r\n\r\n", "200 cut", false)
	f("chunks cut after 200000", h("Transfer-Encoding: chunked\r\n")+fmt.Sprintf("%x\r\n%s\r\n", len(big), big), "200 cut", false, fin)
	f("trailer", h("Transfer-Encoding: chunked\r\n")+"5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "200 hello", true)
	f("length too small", h("Content-Length: 5\r\n")+"hello there", "200 hello", true)
	f("a second answer behind", h("Content-Length: 5\r\n")+"hello"+h("Content-Length: 4\r\n")+"evil", "200 hello", true)
	f("length and chunks", h("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")+"5\r\nhello\r\n0\r\n\r\n", "502", false)
	f("length twice, same", h("Content-Length: 5\r\nContent-Length: 5\r\n")+"hello", "200 hello", true)
	f("length twice, different", h("Content-Length: 5\r\nContent-Length: 6\r\n")+"hello", "502", false)
	f("length -5", h("Content-Length: -5\r\n")+"hello", "502", false)
	f("length 5abc", h("Content-Length: 5abc\r\n")+"hello", "502", false)
	f("gzip, chunked", h("Transfer-Encoding: gzip, chunked\r\n")+"5\r\nhello\r\n0\r\n\r\n", "502", false)
	f("unknown coding", h("Transfer-Encoding: foo\r\n")+"hello", "200 hello", true, fin)
	for _, coding := range []string{"xchunked", "chunkedx", "X-CHUNKED", "foo, chunked-2"} {
		f("coding "+coding, h("Transfer-Encoding: "+coding+"\r\n")+"5\r\nhello\r\n0\r\n\r\n", "502", false, fin)
	}
	f("chunked in HTTP/1.0", "HTTP/1.0"+h("Transfer-Encoding: chunked\r\n")[8:]+"5\r\nhello\r\n0\r\n\r\n", "502", false)
	f("NUL", h("X-A: a\x00b\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("bare CR", h("X-A: a\rb\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("folded", h("X-A: a\r\n b\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("blank before colon", h("X-A : a\r\nContent-Length: 5\r\n")+"hello", "200 hello", true)
	f("no colon", h("X-A\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("bad name", h("X(A: a\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("bare LF", strings.ReplaceAll(h("Content-Length: 5\r\n"), "\r", "")+"hello", "502", false)
	f("head of 8 KiB", h("X-A: "+strings.Repeat("a", 8<<10)+"\r\nContent-Length: 5\r\n")+"hello", "200 hello", true)
	f("head of 64 KiB", h("X-A: "+strings.Repeat("a", 64<<10)+"\r\nContent-Length: 5\r\n")+"hello", "502", false)
	f("100 fields", h(strings.Repeat("X-A: a\r\n", 98)+"Content-Length: 5\r\n")+"hello", "200 hello", true)
	f("1000 fields", h(strings.Repeat("X-A: a\r\n", 1000)+"Content-Length: 5\r\n")+"hello", "502", false)
	f("no status line", "hello\r\n", "502", false, fin)
	f("nothing", "", "502", false, fin)
	f("reset at once", "", "502", false, reset)
	f("no reason", "HTTP/1.1 200"+h("Content-Length: 5\r\n")[15:]+"hello", "200 hello", true)
	f("status 99", "HTTP/1.1 99"+h("Content-Length: 5\r\n")[12:]+"hello", "502", false)
	f("status 1000", "HTTP/1.1 1000"+h("Content-Length: 5\r\n")[12:]+"hello", "502", false)
	f("status 600", "HTTP/1.1 600"+h("Content-Length: 5\r\n")[12:]+"hello", "600", false)
	f("status abc", "HTTP/1.1 abc"+h("Content-Length: 5\r\n")[12:]+"hello", "502", false)
	f("HTTP/2.0", "HTTP/2.0"+h("Content-Length: 5\r\n")[8:]+"hello", "502", false)
	f("101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "502", false)
	f("100 then 200", "HTTP/1.1 100 Continue\r\n\r\n"+h("Content-Length: 5\r\n")+"hello", "200 hello", true)
	f("103 of 20 KiB", "HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 20<<10)+"\r\n\r\n"+h("Content-Length: 5\r\n")+"hello", "200 hello", true)
	hints := "HTTP/1.1 103 Early Hints\r\nLink: " + strings.Repeat("a", 4<<10) + "\r\n\r\n"
	f("103 of 28 KiB in all", strings.Repeat(hints, 7)+h("Content-Length: 5\r\n")+"hello", "200 hello", true)
	f("103 of 36 KiB in all", strings.Repeat(hints, 9)+h("Content-Length: 5\r\n")+"hello", "502", false)
	f("102 without an end", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 50), "502", false)
	f("102 many times", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 50)+h("Content-Length: 5\r\n")+"hello", "502", false)
	f("204 with a body", "HTTP/1.1 204 No Content\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello", "204 ", true)
	f("304 unasked", "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\n\r\n", "502", false)
	f("206 unasked", "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=600\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nhello", "502", false)
	f("invalid gzip", h("Content-Encoding: gzip\r\nContent-Length: 5\r\n")+"hello", "200 hello", true)
}

// A body until the end of the connection is not whole if the connection is reset.
func TestResetIsNotEndOfBody(t *testing.T) {
	taken := make(chan struct{})
	s := newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=600\n\nhello")
		if a.n == 1 {
			<-taken
			a.conn.(*net.TCPConn).SetLinger(0)
		}
		a.conn.Close()
	})
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site")
	g := c.head()
	for want := "5\r\nhello\r\n"; want != ""; want = want[1:] {
		if b, err := c.r.ReadByte(); err != nil || b != want[0] {
			t.Fatalf("got %q, %v; want %q", b, err, want)
		}
	}
	close(taken)
	if c.rest(g, "GET"); !g.cut {
		t.Fatalf("the answer is not cut: %s", g)
	}
	if g := s.ask("GET /a"); g.cut || g.body != "hello" || len(s.origin.requests()) != 2 {
		t.Fatalf("again: %s", g)
	}
}

// An interim answer is sent to the waiting client, and not with later hits.
func TestInterimAnswersAreNotStored(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 103 Early Hints\nLink: </a.css>\nConnection: X-Hop\nX-Hop: 1\n\n")
		a.ok("hello")
	})
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site")
	if g := c.head(); g.status != 103 || g.get("Link") != "</a.css>" || g.get("X-Hop") != "" {
		t.Fatalf("first: %s", g)
	}
	if g := c.rest(c.head(), "GET"); g.status != 200 || g.body != "hello" || g.get("Link") != "" {
		t.Fatalf("then: %s", g)
	}
	c.send("GET /a HTTP/1.1\nHost: site")
	if g := c.rest(c.head(), "GET"); g.status != 200 || g.get("Age") == "" {
		t.Fatalf("hit: %s", g)
	}
	old := s.dial()
	old.send("GET /b HTTP/1.0\nHost: site")
	if g := old.rest(old.head(), "GET"); g.status != 200 || g.body != "hello" {
		t.Fatalf("HTTP/1.0: %s", g)
	}
}
