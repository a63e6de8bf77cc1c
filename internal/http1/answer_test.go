package http1

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// dump returns a head as text, for comparison.
func (r *Response) dump() string {
	var b strings.Builder
	framing := [...]string{"no body", "length", "chunks", "until close"}[r.Body(false)]
	fmt.Fprintf(&b, "%d %q minor %d, %s", r.Status, r.Reason, r.Minor, framing)
	if r.Body(false) == Length {
		fmt.Fprintf(&b, " %d", r.ContentLength)
	}
	if r.Close {
		b.WriteString(", close")
	}
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "|%s=%s", f.Name, f.Value)
	}
	return b.String()
}

// feedAnswer parses a head that arrives byte by byte.
func feedAnswer(head []byte, r *Response) (n int, err error) {
	return feedWithin(head, &AnswerLimits{}, r)
}

// feedWithin is feedAnswer with limits.
func feedWithin(head []byte, lim *AnswerLimits, r *Response) (n int, err error) {
	buf := append([]byte(nil), head...)
	for i := range buf {
		if n, err = ParseAnswer(buf[:i+1], lim, r); n != 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

func TestParseResponse(t *testing.T) {
	f := func(head, want string) {
		t.Helper()
		var r, slow Response
		n, err := ParseAnswer([]byte(head+"rest"), &AnswerLimits{}, &r)
		if err != nil || n != len(head) || r.dump() != want {
			t.Errorf("%q:\n got %d, %v, %s\nwant %s", head, n, err, r.dump(), want)
		}
		if n, err := feedAnswer([]byte(head), &slow); err != nil || n != len(head) || slow.dump() != want {
			t.Errorf("%q byte by byte: %d, %v, %s", head, n, err, slow.dump())
		}
	}
	f("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n", `200 "OK" minor 1, length 5|A=b|Content-Length=5`)
	f("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", `200 "OK" minor 1, no body|Content-Length=0`)
	f("HTTP/1.1 200 OK\r\n\r\n", `200 "OK" minor 1, until close`)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", `200 "OK" minor 1, chunks|Transfer-Encoding=Chunked`)
	f("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", `200 "" minor 1, no body|Content-Length=0`)
	f("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", `200 "" minor 1, no body|Content-Length=0`)
	f("HTTP/1.1 404 Nicht da\xdf\r\nContent-Length: 0\r\n\r\n", "404 \"Nicht da\\xdf\" minor 1, no body|Content-Length=0")
	f("HTTP/1.9 600 X\r\nContent-Length: 1\r\n\r\n", `600 "X" minor 1, length 1|Content-Length=1`)
	f("HTTP/1.1 999 X\r\nContent-Length: 1\r\n\r\n", `999 "X" minor 1, length 1|Content-Length=1`)
	// Connections.
	f("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", `200 "OK" minor 0, length 1, close|Content-Length=1`)
	f("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n", `200 "OK" minor 0, length 1|Connection=Keep-Alive|Content-Length=1`)
	f("HTTP/1.1 200 OK\r\nConnection: a b, ,Close\r\nContent-Length: 1\r\n\r\n", `200 "OK" minor 1, length 1, close|Connection=a b, ,Close|Content-Length=1`)
	// Repeated lengths.
	f("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 05\r\n\r\n", `200 "OK" minor 1, length 5|Content-Length=5`)
	// Without a body by their status.
	f("HTTP/1.1 100 Continue\r\n\r\n", `100 "Continue" minor 1, no body`)
	f("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", `103 "Early Hints" minor 1, no body|Link=x`)
	f("HTTP/1.1 204 No Content\r\n\r\n", `204 "No Content" minor 1, no body`)
	f("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", `204 "No Content" minor 1, no body|Content-Length=0`)
	f("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", `204 "No Content" minor 1, no body, close|Content-Length=5`)
	f("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", `204 "No Content" minor 1, no body, close|Transfer-Encoding=chunked`)
	f("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", `304 "Not Modified" minor 1, no body|Content-Length=5`)
	// White space, and names of every kind.
	f("HTTP/1.1 200 OK\r\nContent-Length \t: 5\r\nX-Y : \tz \r\n!#$%&'*+-.^_`|~:\r\n\r\n", "200 \"OK\" minor 1, length 5|Content-Length=5|X-Y=z|!#$%&'*+-.^_`|~=")
	f("HTTP/1.1 200 OK\r\nX: \xe9\tb\r\n\r\n", "200 \"OK\" minor 1, until close|X=\xe9\tb")
	// Sizes.
	long := strings.Repeat("v", 8<<10)
	f("HTTP/1.1 200 OK\r\nX: "+long+"\r\nContent-Length: 0\r\n\r\n", `200 "OK" minor 1, no body|X=`+long+`|Content-Length=0`)
	f("HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 100)+"\r\n", `200 "OK" minor 1, until close`+strings.Repeat("|X=y", 100))
}

func TestParseResponseRefuses(t *testing.T) {
	f := func(head string, want *Error) {
		t.Helper()
		var r, slow Response
		n, err := ParseAnswer([]byte(head), &AnswerLimits{}, &r)
		if e, ok := err.(*Error); !ok || n != 0 || e.Reason != want.Reason || e.Status != 502 {
			t.Errorf("%.80q: got %d, %v; want %v as 502", head, n, err, want)
		}
		if _, err := feedAnswer([]byte(head), &slow); err == nil || err.Error() != want.Error() {
			t.Errorf("%.80q byte by byte: got %v; want %v", head, err, want)
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	f(ok+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", errBothFramings)
	f(ok+"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", errLengths)
	f(ok+"Content-Length: 5, 5\r\n\r\n", errLength)
	f(ok+"Content-Length: -5\r\n\r\n", errLength)
	f(ok+"Content-Length: 5abc\r\n\r\n", errLength)
	f(ok+"Content-Length:\r\n\r\n", errLength)
	f(ok+"Content-Length: 9999999999999999999\r\n\r\n", errLength)
	f(ok+"Transfer-Encoding: gzip, chunked\r\n\r\n", errCodingOther)
	f(ok+"Transfer-Encoding: foo\r\n\r\n", errCodingOther)
	f(ok+"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", errCodingLast)
	f(ok+"Transfer-Encoding: \r\n\r\n", errCoding)
	f("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", errCodingOld)
	f(ok+"X: a\x00b\r\n\r\n", errFieldValue)
	f(ok+"X: a\rb\r\n\r\n", errFieldValue)
	f(ok+"X: a\r\n b\r\n\r\n", errFold)
	f(ok+" X: a\r\n\r\n", errFold)
	f(ok+"no colon\r\n\r\n", errFieldName)
	f(ok+"X(y): a\r\n\r\n", errFieldName)
	f(ok+": a\r\n\r\n", errFieldName)
	f(ok+"X : a\n\r\n", errLineEnd)
	f(ok+"X : a\x01\r\n\r\n", errFieldValue)
	f("HTTP/1.1 200 OK\nContent-Length: 0\n\n", errLineEnd)
	f(ok+"X: a\n\r\n", errLineEnd)
	f(ok+"\n", errFieldName)
	f("hello, world", errStatusLine)
	f("SSH-2.0-OpenSSH_9.9\r\n", errStatusLine)
	f("\r\nHTTP/1.1 200 OK\r\n\r\n", errStatusLine)
	f("\n", errStatusLine)
	f("HTTP/1.1\r\n", errStatusLine)
	f("HTTP/1.1 20\r\n", errStatusLine)
	f("HTTP/1.1  200 OK\r\n", errStatus)
	f("HTTP/1.1 99\r\n\r\n", errStatusLine)
	f("HTTP/1.1 099 X\r\n\r\n", errStatus)
	f("HTTP/1.1 99 X\r\n\r\n", errStatus)
	f("HTTP/1.1 1000 X\r\n\r\n", errStatus)
	f("HTTP/1.1 abc X\r\n\r\n", errStatus)
	f("HTTP/1.1 200 O\x00K\r\n\r\n", errStatusLine)
	f("HTTP/2.0 200 OK\r\n\r\n", errMajor)
	f("HTTP/1.x 200 OK\r\n\r\n", errVersion)
	f("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n", errInterim)
	f("HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n", errInterim)
	f(ok+"X: "+strings.Repeat("v", 64<<10)+"\r\n\r\n", errHeadSize)
	f(ok+strings.Repeat("X: y\r\n", 1000)+"\r\n", errFieldCount)
}

// TestAnswerLimits checks answers that are refused by the default limits and accepted by
// others, or the reverse.
func TestAnswerLimits(t *testing.T) {
	f := func(lim AnswerLimits, head, want string) {
		t.Helper()
		var r Response
		n, err := ParseAnswer([]byte(head), &lim, &r)
		got := r.dump()
		if err != nil {
			got = err.Error()
		} else if n != len(head) {
			t.Errorf("%.80q: %d bytes were parsed, want %d", head, n, len(head))
		}
		if got != want {
			t.Errorf("%.80q:\n got %s\nwant %s", head, got, want)
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	foreign, both := AnswerLimits{ForeignCoding: true}, AnswerLimits{BothFramings: true}
	f(foreign, ok+"Transfer-Encoding: foo\r\n\r\n", `200 "OK" minor 1, until close|Transfer-Encoding=foo`)
	f(foreign, ok+"Transfer-Encoding: gzip, chunked\r\n\r\n", errCodingOther.Error())
	for _, c := range []string{"gzip", "foo, GZIP", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"} {
		f(foreign, ok+"Transfer-Encoding: "+c+"\r\n\r\n", errCodingOther.Error())
	}
	f(foreign, ok+"Transfer-Encoding: foo\r\nContent-Length: 5\r\n\r\n", errCodingOther.Error())
	f(foreign, "HTTP/1.0 200 OK\r\nTransfer-Encoding: foo\r\n\r\n", errCodingOld.Error())
	f(foreign, "HTTP/1.1 103 X\r\nTransfer-Encoding: foo\r\n\r\n", errInterim.Error())
	f(both, ok+"Content-Length: 5\r\nA: b\r\nTransfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n", `200 "OK" minor 1, chunks, close|A=b|Transfer-Encoding=chunked`)
	f(both, ok+"Content-Length: 5\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n", errLengths.Error())
	f(both, ok+"Content-Length: 5\r\nTransfer-Encoding: foo\r\n\r\n", errCodingOther.Error())
	f(AnswerLimits{Head: 30}, ok+"\r\n", `200 "OK" minor 1, until close`)
	f(AnswerLimits{Head: 30}, ok+"A: 0123456789\r\n\r\n", errHeadSize.Error())
	f(AnswerLimits{Fields: 1}, ok+"A: b\r\n\r\n", `200 "OK" minor 1, until close|A=b`)
	f(AnswerLimits{Fields: 1}, ok+"A: b\r\nC: d\r\n\r\n", errFieldCount.Error())
}

// TestHeadAnswers checks that an answer to HEAD has no body, whatever it announces.
func TestHeadAnswers(t *testing.T) {
	for _, field := range []string{"", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"} {
		var r Response
		if _, err := ParseAnswer([]byte("HTTP/1.1 200 OK\r\n"+field+"\r\n"), &AnswerLimits{}, &r); err != nil || r.Body(true) != NoBody || r.Close {
			t.Errorf("%q: %v, body %d, close %t", field, err, r.Body(true), r.Close)
		}
	}
}

var originHead = []byte("HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nContent-Type: application/x-amz-json-1.0\r\n" +
	"Content-Length: 470\r\nConnection: keep-alive\r\nx-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUV0123456789ABCDEFGHIJ\r\nx-amz-crc32: 2745614147\r\n\r\n")

func TestParseResponseAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	var r Response
	if n := testing.AllocsPerRun(1000, func() {
		if n, err := ParseAnswer(originHead, &AnswerLimits{}, &r); n != len(originHead) || err != nil {
			t.Fatal(n, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations; want 0", n)
	}
}

func BenchmarkParseResponse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(originHead)))
	var r Response
	for b.Loop() {
		if _, err := ParseAnswer(originHead, &AnswerLimits{}, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFields(t *testing.T) {
	f := FieldsOf("A", "1", "b", "2", "a", "3")
	c := f.Clone()
	for i := range f {
		f[i].Name[0], f[i].Value[0] = '?', '?'
	}
	if string(c.Get("B")) != "2" || string(c.Get("a")) != "1" || c.Get("c") != nil || c.Get("") != nil || len(c) != 3 {
		t.Errorf("got %q", c)
	}
	_ = append(c[0].Value, "over"...)
	if string(c[1].Name) != "b" {
		t.Error("appending to one field overwrote the next")
	}
}

func TestAppendRequest(t *testing.T) {
	f := func(method, target string, fields Fields, want string, wantErr error) {
		t.Helper()
		got, err := AppendRequest([]byte("x"), &Request{Method: []byte(method), Target: []byte(target), Fields: fields})
		if err != wantErr || err == nil && string(got) != "x"+want {
			t.Errorf("%s %s %q: got %q, %v; want %q, %v", method, target, fields, got, err, want, wantErr)
		}
	}
	f("GET", "/a%2fb?c", FieldsOf("Host", "h", "X", "", "x", "y z"), "GET /a%2fb?c HTTP/1.1\r\nHost: h\r\nX: \r\nx: y z\r\n\r\n", nil)
	f("OPTIONS", "*", nil, "OPTIONS * HTTP/1.1\r\n\r\n", nil)
	f("", "/", nil, "", errMethod)
	f("G T", "/", nil, "", errMethod)
	f("GET", "", nil, "", errTarget)
	f("GET", "/a b", nil, "", errTarget)
	f("GET", "/\r\nX: y", nil, "", errTarget)
	f("GET", "/%zz", nil, "", errTargetEsc)
	f("GET", "/%2", nil, "", errTargetEsc)
	f("GET", "/", FieldsOf("X:", "y"), "", errFieldName)
	f("GET", "/", FieldsOf("", "y"), "", errFieldName)
	f("GET", "/", FieldsOf("X", "y\r\nZ: z"), "", errFieldValue)
}

// FuzzParseResponse checks that no bytes make the parser panic, that the result does not
// depend on how they are split, and that net/http reads an accepted head in the same way.
func FuzzParseResponse(f *testing.F) {
	for _, seed := range []string{string(originHead), "HTTP/1.0 204 X\r\nConnection: keep-alive\r\n\r\n", "HTTP/1.1 200\r\nA : b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		var r, slow Response
		n, err := ParseAnswer(head, &AnswerLimits{}, &r)
		n2, err2 := feedAnswer(head, &slow)
		if n != n2 || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q at once: %d, %v; byte by byte: %d, %v", head, n, err, n2, err2)
		}
		lim := &AnswerLimits{Head: 300, Fields: 5, ForeignCoding: true, BothFramings: true}
		var lax, slowLax Response
		m, err3 := ParseAnswer(head, lim, &lax)
		m2, err4 := feedWithin(head, lim, &slowLax)
		if m != m2 || fmt.Sprint(err3) != fmt.Sprint(err4) || err3 == nil && lax.dump() != slowLax.dump() {
			t.Fatalf("%q within limits, at once: %d, %v, %s; byte by byte: %d, %v, %s", head, m, err3, lax.dump(), m2, err4, slowLax.dump())
		}
		if m > 0 && (lax.Chunked && (lax.ContentLength >= 0 || lax.Fields.Get("content-length") != nil) || m > 300 || len(lax.Fields) > 5) {
			t.Fatalf("%q within limits: %s", head, lax.dump())
		}
		if err != nil || n == 0 {
			return
		}
		if r.dump() != slow.dump() {
			t.Fatalf("%q at once: %s\nbyte by byte: %s", head, r.dump(), slow.dump())
		}
		agreeOnAnswer(t, bytes.Clone(head[:n]), &r)
	})
}
