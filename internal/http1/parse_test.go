package http1

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// dump returns a request as text, for comparison.
func (r *Request) dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q path %q query %q host %q minor %d length %d chunked %v close %v expect %v",
		r.Method, r.Target, r.Path, r.RawQuery, r.Host, r.Minor, r.ContentLength, r.Chunked, r.Close, r.Expect100)
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "\n%q: %q", f.Name, f.Value)
	}
	return b.String()
}

// statusOf returns the status of an error: 0 for nil, -1 for an error of another type.
func statusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	if err != nil {
		return -1
	}
	return 0
}

func TestParseRequest(t *testing.T) {
	f := func(head, want string) {
		t.Helper()
		var r Request
		n, err := ParseRequest([]byte(head+"rest"), &Limits{}, &r)
		if err != nil || n != len(head) {
			t.Fatalf("%q: got n %d, error %v", head, n, err)
		}
		if got := r.dump(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", head, got, want)
		}
	}
	f("GET /a/b?c=d?e HTTP/1.1\r\nHost: h:8000\r\nX-A: \t v w \t\r\nX-B:\r\n\r\n",
		`"GET" "/a/b?c=d?e" path "/a/b" query "c=d?e" host "h:8000" minor 1 length 0 chunked false close false expect false`+
			"\n"+`"Host": "h:8000"`+"\n"+`"X-A": "v w"`+"\n"+`"X-B": ""`)
	f("\r\nPOST / HTTP/1.1\r\nhost: [::1]:8000\r\ncontent-length: 5\r\nconnection: foo, CLOSE\r\nexpect: 100-Continue\r\n\r\n",
		`"POST" "/" path "/" query "" host "[::1]:8000" minor 1 length 5 chunked false close true expect true`+
			"\n"+`"host": "[::1]:8000"`+"\n"+`"content-length": "5"`+"\n"+`"connection": "foo, CLOSE"`+"\n"+`"expect": "100-Continue"`)
	f("PUT http://Other?q HTTP/1.9\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
		`"PUT" "http://Other?q" path "/" query "q" host "Other" minor 1 length -1 chunked true close false expect false`+
			"\n"+`"Host": "h"`+"\n"+`"Transfer-Encoding": "chunked"`)
	f("GET / HTTP/1.0\r\n\r\n", `"GET" "/" path "/" query "" host "" minor 0 length 0 chunked false close true expect false`)
	f("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: 100-continue\r\n\r\n",
		`"GET" "/" path "/" query "" host "" minor 0 length 0 chunked false close false expect false`+
			"\n"+`"Connection": "Keep-Alive"`+"\n"+`"Expect": "100-continue"`)
	f("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
		`"OPTIONS" "*" path "*" query "" host "h" minor 1 length 0 chunked false close false expect false`+"\n"+`"Host": "h"`)
}

func TestParseRequestTargets(t *testing.T) {
	f := func(target string, want int) {
		t.Helper()
		var r Request
		_, err := ParseRequest([]byte("GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n"), &Limits{}, &r)
		if got := statusOf(err); got != want {
			t.Errorf("%s: got %d; want %d", target, got, want)
		}
	}
	f("/a/../b", 0)
	f("/a/b/../../c/./d", 0)
	f("/a/../../b", 400)
	f("/..", 400)
	f("/%2e%2E/x", 400)
	f("/.%2e/x", 400)
	f("/a%2f..%2F../x", 400)
	f("/a%2fb%2F../x", 0)
	f("/...", 0)
	f("/..a/..b", 0)
	f("/x?/../../y", 0)
	f("/%", 400)
	f("/%4", 400)
	f("/%4g", 400)
	f("/a?%zz", 400)
	f("*", 400)
	f("http://", 400)
	f("http:///x", 400)
	f("http://u@h/", 400)
	f("http://h:80", 0)
	f("HTTP://h/", 0)
	f("ftp://h/", 400)
	f("a.example", 400)
}

func TestParseRequestHosts(t *testing.T) {
	f := func(host string, want int) {
		t.Helper()
		var r Request
		_, err := ParseRequest([]byte("GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"), &Limits{}, &r)
		if got := statusOf(err); got != want {
			t.Errorf("%s: got %d; want %d", host, got, want)
		}
	}
	f("a.example", 0)
	f("a_b-c.example:", 0)
	f("a~b", 400)
	f("127.0.0.1:65535", 0)
	f("[2001:db8::1]", 0)
	f("[fe80::1%25eth0]:80", 0)
	f("[::1", 400)
	f("[]", 400)
	f("[::1]x", 400)
	f("[::1]:x", 400)
	f(":80", 400)
	f("a:b", 400)
	f("a:80:80", 400)
	f("a?b", 400)
	f("ä", 400)
}

func TestLimits(t *testing.T) {
	f := func(lim Limits, head string, want int) {
		t.Helper()
		var r Request
		n, err := ParseRequest([]byte(head), &lim, &r)
		if got := statusOf(err); got != want || want == 0 && n != len(head) {
			t.Errorf("%+v: status %d, n %d; want %d", lim, got, n, want)
		}
	}
	head := "GET /1234567 HTTP/1.0\r\nA: b\r\nC: d\r\n\r\n"
	f(Limits{Head: len(head)}, head, 0)
	f(Limits{Head: len(head) - 1}, head, 431)
	f(Limits{Target: 8}, head, 0)
	f(Limits{Target: 7}, head, 414)
	f(Limits{Fields: 2}, head, 0)
	f(Limits{Fields: 1}, head, 431)
}

// TestResume parses heads that arrive in two parts, split at every byte, also if the buffer
// moves in between.
func TestResume(t *testing.T) {
	heads := []string{
		"\r\nGET /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nX: y\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
		"G(T / HTTP/1.1\r\n\r\n",
	}
	for _, head := range heads {
		var whole Request
		n, err := ParseRequest([]byte(head), &Limits{}, &whole)
		for cut := range len(head) {
			for _, move := range []bool{false, true} {
				r := Request{}
				buf := []byte(head)
				n2, err2 := ParseRequest(buf[:cut], &Limits{}, &r)
				if n2 == 0 && err2 == nil {
					if move {
						buf = bytes.Clone(buf)
					}
					n2, err2 = ParseRequest(buf, &Limits{}, &r)
				}
				if n2 != n || err2 != err || err == nil && r.dump() != whole.dump() {
					t.Errorf("%q cut at %d, moved %v: %d %v %s", head, cut, move, n2, err2, r.dump())
				}
			}
		}
	}
}

// TestDribbleIsLinear checks that the parser searches each byte for a line end once if a head
// arrives byte by byte.
func TestDribbleIsLinear(t *testing.T) {
	head := []byte("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("v", 20000) + "\r\n\r\n")
	var r Request
	for i := 1; i < len(head); i++ {
		if n, err := ParseRequest(head[:i], &Limits{}, &r); n != 0 || err != nil {
			t.Fatalf("at %d: %d %v", i, n, err)
		}
		if r.scan.seen != i {
			t.Fatalf("after %d bytes %d were searched", i, r.scan.seen)
		}
	}
	if n, err := ParseRequest(head, &Limits{}, &r); n != len(head) || err != nil {
		t.Fatalf("whole: %d %v", n, err)
	}
}

func TestGetAndReset(t *testing.T) {
	var r Request
	_, _ = ParseRequest([]byte("GET / HTTP/1.1\r\nHost: h\r\nx-one: 1\r\nX-ONE: 2\r\nX-Empty:\r\n\r\n"), &Limits{}, &r)
	if got := string(r.Get("X-One")); got != "1" {
		t.Errorf("X-One %q", got)
	}
	if r.Get("X-Empty") == nil || r.Get("X-None") != nil {
		t.Error("Get returned nil for an empty field, or a value for a missing one")
	}
	room := cap(r.Fields)
	if r.Reset(); r.Method != nil || len(r.Fields) != 0 || cap(r.Fields) != room {
		t.Errorf("after Reset: %s, room for %d of %d", r.dump(), cap(r.Fields), room)
	}
}

func TestValidValue(t *testing.T) {
	for c := range 256 {
		want := c >= ' ' && c != 0x7f || c == '\t'
		for size := 1; size < 20; size++ {
			for at := range size {
				v := bytes.Repeat([]byte{'a'}, size)
				v[at] = byte(c)
				if ValidValue(v) != want {
					t.Fatalf("byte %#x at %d of %d: %v", c, at, size, !want)
				}
			}
		}
	}
	if !ValidValue([]byte("\xff\x80\xa0\xc0\xff\x80\xa0\xc0")) || ValidValue([]byte("\t\t\t\t\t\t\t\x00")) {
		t.Error("wrong result for eight high bytes, or tabs before a NUL")
	}
}

const sdkHead = "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: aws-sdk-go-v2/1.30.0 os/linux lang/go\r\n" +
	"Content-Length: 78\r\nAmz-Sdk-Invocation-Id: 5a2f1f5e-8f8b-4a0b-9d0b-000000000000\r\nAmz-Sdk-Request: attempt=1; max=3\r\n" +
	"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/dynamodb/aws4_request, " +
	"SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-target, Signature=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" +
	"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20260101T000000Z\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n\r\n"

func TestParseAllocs(t *testing.T) {
	r := Request{Fields: make([]Field, 0, 16)}
	head, lim := []byte(sdkHead), &Limits{}
	got := testing.AllocsPerRun(1000, func() {
		if n, err := ParseRequest(head, lim, &r); n == 0 || err != nil || r.Get("x-amz-target") == nil {
			t.Fatal(n, err)
		}
	})
	if got > 0 && !race.Enabled {
		t.Errorf("a head allocates %v times", got)
	}
}

func BenchmarkParseRequest(b *testing.B) {
	r := Request{}
	head, lim := []byte(sdkHead), &Limits{}
	b.SetBytes(int64(len(head)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRequest(head, lim, &r); err != nil {
			b.Fatal(err)
		}
	}
}

// feed parses head byte by byte.
func feed(head []byte, lim *Limits, r *Request) (n int, err error) {
	for i := range head {
		if n, err = ParseRequest(head[:i+1], lim, r); n != 0 || err != nil {
			return n, err
		}
	}
	return n, err
}
