package origin

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// transport returns a transport that is closed at the end of the test.
func transport(t *testing.T, cfg TransportConfig) *Transport {
	t.Helper()
	cfg.Name, cfg.Member = "test", "m"
	tr, err := NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	return tr
}

func get(target string) *Outbound { return &Outbound{Method: []byte("GET"), Target: []byte(target)} }

// readResult is the result of an exchange that was read to its end.
type readResult struct {
	status  int
	body    string
	whole   bool
	fault   FaultKind // of the head if status is 0, else of the body unless whole
	trailer http1.Fields
	interim []int
}

// take makes an exchange and reads it in pieces of several sizes.
func take(t *testing.T, tr *Transport, q *Outbound) (r readResult) {
	t.Helper()
	q.Interim = func(status int, _ http1.Fields) { r.interim = append(r.interim, status) }
	in, f := tr.Exchange(t.Context(), q)
	if f != nil {
		if f.Origin != "m" || f.Attempts == 0 || f.Err == nil {
			t.Errorf("the fault %+v lacks the origin, the attempts or the cause", f)
		}
		r.fault = f.Kind
		return r
	}
	defer in.Close()
	r.status = in.Status
	var body strings.Builder
	for size := 1; ; size = size*3%40_009 + 1 {
		p := make([]byte, size)
		n, err := in.Read(p)
		body.Write(p[:n])
		if err == nil {
			continue
		}
		r.body, r.trailer, r.whole = body.String(), in.Trailer(), err == io.EOF
		var f *Fault
		if errors.As(err, &f) {
			r.fault = f.Kind
		} else if err != io.EOF {
			t.Errorf("the body ended with %v", err)
		}
		return r
	}
}

// malformed is an answer that is malformed or unusual.
type malformed struct {
	name, text string
	end        ending
	want       readResult
	kept       bool // the connection can be used again
}

const ok200 = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"

func malformedAnswers() []malformed {
	big := strings.Repeat("0123456789", 40_000)
	const chunked = ok200 + "Transfer-Encoding: chunked\r\n\r\n"
	const length5 = "Content-Length: 5\r\n\r\nhello"
	hello := readResult{status: 200, body: "hello", whole: true}
	refused := readResult{fault: Garbage}
	cutAfter := func(body string) readResult { return readResult{status: 200, body: body, fault: Reset} }
	status := func(n int, body string) readResult { return readResult{status: n, body: body, whole: true} }
	return []malformed{
		{"length", ok200 + length5, keepsOpen, hello, true},
		{"chunked", chunked + "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n", keepsOpen, hello, true},
		{"until close, FIN", ok200 + "\r\nhello", fin, hello, false},
		{"10 announced, 5 sent", ok200 + "Content-Length: 10\r\n\r\nhello", fin, cutAfter("hello"), false},
		{"10 announced, none sent", ok200 + "Content-Length: 10\r\n\r\n", fin, cutAfter(""), false},
		{"400000 announced, 200000 sent", ok200 + "Content-Length: 400000\r\n\r\n" + big[:200_000], fin, cutAfter(big[:200_000]), false},
		{"cut in a chunk", chunked + "5\r\nhel", fin, cutAfter("hel"), false},
		{"cut between chunks", chunked + "5\r\nhello\r\n", fin, cutAfter("hello"), false},
		{"cut after the last chunk", chunked + "5\r\nhello\r\n0\r\n", fin, cutAfter("hello"), false},
		{"chunk size Z", chunked + "Z\r\nhello\r\n0\r\n\r\n", keepsOpen, readResult{status: 200, fault: Garbage}, false},
		{"chunked, 200000 then cut", chunked + "61a80\r\n" + big[:200_000], fin, cutAfter(big[:200_000]), false},
		{"chunked with trailer", chunked + "5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 9\r\n\r\n", keepsOpen,
			readResult{status: 200, body: "hello", whole: true, trailer: http1.FieldsOf("X", "y")}, true},
		{"length too small", ok200 + "Content-Length: 5\r\n\r\nhelloworld", keepsOpen, hello, false},
		{"length too small, another answer", ok200 + length5 + ok200 + "Content-Length: 4\r\n\r\nevil", keepsOpen, hello, false},
		{"more after the last chunk", chunked + "5\r\nhello\r\n0\r\n\r\nmore", keepsOpen, hello, false},
		{"length and chunked", ok200 + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, refused, false},
		{"length twice", ok200 + "Content-Length: 5\r\n" + length5, keepsOpen, hello, true},
		{"two lengths", ok200 + "Content-Length: 6\r\n" + length5, keepsOpen, refused, false},
		{"length -5", ok200 + "Content-Length: -5\r\n\r\nhello", keepsOpen, refused, false},
		{"length 5abc", ok200 + "Content-Length: 5abc\r\n\r\nhello", keepsOpen, refused, false},
		{"gzip, chunked", ok200 + "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, refused, false},
		{"unknown coding", ok200 + "Transfer-Encoding: foo\r\n\r\nhello", fin, hello, false},
		{"unknown coding and length", ok200 + "Transfer-Encoding: foo\r\n" + length5, fin, refused, false},
		{"chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", keepsOpen, refused, false},
		{"NUL", ok200 + "X: a\x00b\r\n" + length5, keepsOpen, refused, false},
		{"bare CR", ok200 + "X: a\rb\r\n" + length5, keepsOpen, refused, false},
		{"folded", ok200 + "X: a\r\n b\r\n" + length5, keepsOpen, refused, false},
		{"blank before colon", ok200 + "Content-Length : 5\r\n\r\nhello", keepsOpen, hello, true},
		{"no colon", ok200 + "X\r\n" + length5, keepsOpen, refused, false},
		{"bad name", ok200 + "X(: y\r\n" + length5, keepsOpen, refused, false},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", keepsOpen, refused, false},
		{"field of 8 KiB", ok200 + "X: " + strings.Repeat("v", 8<<10) + "\r\n" + length5, keepsOpen, hello, true},
		{"field of 64 KiB", ok200 + "X: " + strings.Repeat("v", 64<<10) + "\r\n" + length5, keepsOpen, refused, false},
		{"100 fields", ok200 + strings.Repeat("X: y\r\n", 100) + length5, keepsOpen, hello, true},
		{"1000 fields", ok200 + strings.Repeat("X: y\r\n", 1000) + length5, keepsOpen, refused, false},
		{"no status line", "hello", fin, refused, false},
		{"nothing, FIN", "", fin, readResult{fault: Reset}, false},
		{"nothing, RST", "", rst, readResult{fault: Reset}, false},
		{"no reason", "HTTP/1.1 200\r\n" + length5, keepsOpen, hello, true},
		{"status 99", "HTTP/1.1 99 X\r\n" + length5, keepsOpen, refused, false},
		{"status 1000", "HTTP/1.1 1000 X\r\n" + length5, keepsOpen, refused, false},
		{"status 600", "HTTP/1.1 600 X\r\n" + length5, keepsOpen, status(600, "hello"), true},
		{"status abc", "HTTP/1.1 abc X\r\n" + length5, keepsOpen, refused, false},
		{"HTTP/2.0", "HTTP/2.0 200 OK\r\n" + length5, keepsOpen, refused, false},
		{"101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", keepsOpen, refused, false},
		{"100 first", "HTTP/1.1 100 Continue\r\n\r\n" + ok200 + length5, keepsOpen, hello, true},
		{"103 first", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok200 + length5, keepsOpen,
			readResult{status: 200, body: "hello", whole: true, interim: []int{103}}, true},
		{"50 times 102", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 50) + ok200 + length5, keepsOpen, refused, false},
		{"204 with bytes", "HTTP/1.1 204 No Content\r\n\r\nhello", keepsOpen, status(204, ""), false},
		{"204 with length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", keepsOpen, status(204, ""), false},
		{"304 unasked", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", keepsOpen, status(304, ""), true},
		{"206 unasked", "HTTP/1.1 206 Partial Content\r\n" + length5, keepsOpen, status(206, "hello"), true},
		{"gzip announced, plain body", ok200 + "Content-Encoding: gzip\r\n" + length5, keepsOpen, hello, true},
		{"HTTP/1.0 with length", "HTTP/1.0 200 OK\r\n" + length5, keepsOpen, hello, false},
	}
}

// TestMalformedAnswers makes two requests for each answer: no data of the first one may appear
// in the second.
func TestMalformedAnswers(t *testing.T) {
	for _, row := range malformedAnswers() {
		t.Run(row.name, func(t *testing.T) {
			tr := transport(t, TransportConfig{URL: newRawOrigin(t, row.text, row.end).url()})
			for range 2 {
				got := take(t, tr, get("/"))
				want := row.want
				if got.status != want.status || got.body != want.body || got.whole != want.whole || got.fault != want.fault {
					t.Fatalf("got the status %d, %d bytes, whole %t, %s; want %d, %d, %t, %s",
						got.status, len(got.body), got.whole, got.fault, want.status, len(want.body), want.whole, want.fault)
				}
				if len(got.trailer) != len(want.trailer) || string(got.trailer.Get("X")) != string(want.trailer.Get("X")) {
					t.Errorf("got the trailer %q, want %q", got.trailer, want.trailer)
				}
				if len(want.interim) > 0 && (len(got.interim) != len(want.interim) || got.interim[0] != want.interim[0]) {
					t.Errorf("got the interim answers %d, want %d", got.interim, want.interim)
				}
				if kept := len(tr.pool.idle) == 1; kept != row.kept {
					t.Errorf("connection kept: got %t; want %t", kept, row.kept)
				}
			}
		})
	}
}

// TestUntilCloseReset checks that a body until the end of the connection is incomplete if the
// connection is reset.
func TestUntilCloseReset(t *testing.T) {
	big := strings.Repeat("0123456789", 40_000)
	tr := transport(t, TransportConfig{URL: newRawOrigin(t, ok200+"\r\n"+big, rst).url()})
	if got := take(t, tr, get("/")); got.whole || got.fault != Reset {
		t.Errorf("status %d, %d bytes, whole %t, %s", got.status, len(got.body), got.whole, got.fault)
	}
}

// TestAnswerOptions checks the options for accepting answers.
func TestAnswerOptions(t *testing.T) {
	f := func(cfg TransportConfig, text string, want readResult) {
		t.Helper()
		cfg.URL = newRawOrigin(t, text, fin).url()
		got := take(t, transport(t, cfg), get("/"))
		if got.status != want.status || got.body != want.body || got.whole != want.whole || got.fault != want.fault {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	hello, refused := readResult{status: 200, body: "hello", whole: true}, readResult{fault: Garbage}
	f(TransportConfig{BothFramings: true}, ok200+"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", hello)
	f(TransportConfig{MaxHead: 100}, ok200+"X: "+strings.Repeat("v", 100)+"\r\nContent-Length: 5\r\n\r\nhello", refused)
}

// TestAnswersToHead checks that an answer to HEAD has no body, but the announced length.
func TestAnswersToHead(t *testing.T) {
	f := func(fields string, length int64) {
		t.Helper()
		tr := transport(t, TransportConfig{URL: newRawOrigin(t, ok200+fields+"\r\n", keepsOpen).url()})
		for range 2 {
			in, f := tr.Exchange(t.Context(), &Outbound{Method: []byte("HEAD"), Target: []byte("/")})
			if f != nil {
				t.Fatal(f)
			}
			if n, err := in.Read(make([]byte, 1)); in.Length != length || n != 0 || err != io.EOF {
				t.Errorf("%q: got the length %d, read %d bytes, %v; want the length %d", fields, in.Length, n, err, length)
			}
			in.Close()
		}
		if len(tr.pool.idle) != 1 {
			t.Errorf("%q: the connection was not kept", fields)
		}
	}
	f("Content-Length: 5\r\n", 5)
	f("Content-Length: 0\r\n", 0)
	f("Transfer-Encoding: chunked\r\n", -1)
	f("", -1)
}

// TestTransportRefuses checks invalid addresses and requests.
func TestTransportRefuses(t *testing.T) {
	for _, cfg := range []TransportConfig{{URL: "ftp://h"}, {URL: "unix:relative"}, {URL: "unix://host/path"}, {URL: "http://h", HeadTimeout: -1}, {URL: "http://h", MaxHead: -1}} {
		if _, err := NewTransport(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	tr := transport(t, TransportConfig{URL: newRawOrigin(t, ok200+"Content-Length: 0\r\n\r\n", keepsOpen).url()})
	for _, q := range []*Outbound{
		{Method: []byte("G T"), Target: []byte("/")},
		{Method: []byte("GET"), Target: []byte("/a b")},
		{Method: []byte("GET"), Target: []byte("/"), Header: http1.FieldsOf("X", "a\r\nY: b")},
		{Method: []byte("GET"), Target: []byte("/"), Host: []byte("h\r\nX: y")},
	} {
		if _, f := tr.Exchange(t.Context(), q); f == nil || f.Kind != Unprepared || f.Reached {
			t.Errorf("%s %s: got %v, want it refused", q.Method, q.Target, f)
		}
	}
	if got := take(t, tr, get("/")); got.status != http.StatusOK {
		t.Errorf("status %d", got.status)
	}
}

// TestClosedUnread checks that the connection of an answer that was not read is kept if all of
// the answer had arrived with the head.
func TestClosedUnread(t *testing.T) {
	f := func(text string, kept bool) {
		t.Helper()
		tr := transport(t, TransportConfig{URL: newRawOrigin(t, text, keepsOpen).url()})
		for range 2 {
			in, f := tr.Exchange(t.Context(), get("/"))
			if f != nil {
				t.Fatal(f)
			}
			in.Close()
			if _, err := in.Read(make([]byte, 1)); err == nil {
				t.Error("Read succeeded after Close")
			}
			if (len(tr.pool.idle) == 1) != kept {
				t.Errorf("%.100q: connection kept: %t, want %t", text, !kept, kept)
			}
		}
	}
	const chunked = ok200 + "Transfer-Encoding: chunked\r\n\r\n"
	f(ok200+"Content-Length: 5\r\n\r\nhello", true)
	f(ok200+"Content-Length: 6\r\n\r\nhello", false)
	f(ok200+"Content-Length: 5\r\n\r\nhello!", false)
	f(ok200+"Content-Length: 5\r\nConnection: close\r\n\r\nhello", false)
	f(chunked+"5\r\nhello\r\n0\r\n\r\n", true)
	f(chunked+"5\r\nhello\r\n0\r\n", false)
	f(chunked+"5\r\nhello\r\nZ\r\n\r\n", false)
	f(ok200+"\r\nhello", false)
}

// TestUnsolicitedWhileIdle checks that after an unsolicited answer on an idle connection the
// next request uses another one.
func TestUnsolicitedWhileIdle(t *testing.T) {
	o := newRawOrigin(t, ok200+"Content-Length: 5\r\n\r\nhello", keepsOpen)
	tr := transport(t, TransportConfig{URL: o.url()})
	for range 3 {
		if got := take(t, tr, get("/")); got.body != "hello" || !got.whole {
			t.Fatalf("got %+v", got)
		}
		conn := <-o.conns // a new one each time
		defer conn.Close()
		io.WriteString(conn, ok200+"Content-Length: 4\r\n\r\nevil")
	}
}
