package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/ascii"
)

// FuzzParseRequest checks that no bytes make the parser panic, that the result does not
// depend on how they are split, and that net/http reads an accepted head in the same way.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{sdkHead, "\r\nGET /a?b HTTP/1.0\r\n\r\n",
		"PUT http://h:80/x HTTP/1.1\r\nHost: i\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nExpect: 100-continue\r\nContent-Length: 09\r\n\r\n",
		"GET /%2e./ HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "\x16\x03\x01"} {
		f.Add([]byte(seed))
	}
	lim := &Limits{Head: 2000, Target: 500, Fields: 20}
	f.Fuzz(func(t *testing.T, head []byte) {
		var r, slow Request
		n, err := ParseRequest(head, lim, &r)
		n2, err2 := feed(head, lim, &slow)
		if n != n2 || err != err2 {
			t.Fatalf("%q at once: %d, %v; byte by byte: %d, %v", head, n, err, n2, err2)
		}
		if err != nil || n == 0 {
			return
		}
		if r.dump() != slow.dump() {
			t.Fatalf("%q at once: %s\nbyte by byte: %s", head, r.dump(), slow.dump())
		}
		agree(t, head[:n], &r)
	})
}

// agree compares an accepted head with the result of net/http.
func agree(t *testing.T, head []byte, r *Request) {
	theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimPrefix(head, []byte("\r\n")))))
	if err != nil {
		return // net/http refuses more
	}
	if theirs.Method != string(r.Method) || theirs.RequestURI != string(r.Target) || theirs.Host != string(r.Host) {
		t.Errorf("%q: net/http read %s %q %q, we read %s", head, theirs.Method, theirs.RequestURI, theirs.Host, r.dump())
	}
	if theirs.ContentLength != r.ContentLength || (len(theirs.TransferEncoding) == 1) != r.Chunked {
		t.Errorf("%q: net/http read length %d, coding %q, we read %s", head, theirs.ContentLength, theirs.TransferEncoding, r.dump())
	}
	if r.Close != theirs.Close && r.Minor == 1 {
		t.Errorf("%q: net/http read close %v, we read %s", head, theirs.Close, r.dump())
	}
	for _, f := range r.Fields {
		if ascii.EqualFold(f.Name, "host") || ascii.EqualFold(f.Name, "transfer-encoding") {
			continue // net/http removes it from the header
		}
		found := false
		for _, v := range theirs.Header.Values(string(f.Name)) {
			found = found || v == string(f.Value)
		}
		if !found {
			t.Errorf("%q: net/http has %q, we have %q: %q", head, theirs.Header, f.Name, f.Value)
		}
	}
}

// FuzzChunked checks that the result does not depend on how chunks are split, and that an
// accepted body is the one that net/http reads.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{"5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n00\r\nX: y\r\n\r\nnext", "1\r\na\r\nA\r\n0123456789\r\n0\r\n\r\n",
		"5 \r\nhello\r\n0\r\n\r\n", "0\r\nX: y\n\r\n", "ffffffffffffffff\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1000
		var whole, slow Chunked
		whole.Reset(limit)
		got, n, done, err := whole.Decode(nil, src)
		place := bytes.Clone(src)
		slow.Reset(limit)
		if in, _, _, _ := slow.Decode(place[:0], place); !bytes.Equal(in, got) {
			t.Fatalf("%q in place: %q; elsewhere %q", src, in, got)
		}
		slow.Reset(limit)
		var got2 []byte
		var n2 int
		var done2 bool
		var err2 error
		for n2 < len(src) && !done2 && err2 == nil {
			var k int
			got2, k, done2, err2 = slow.Decode(got2, src[n2:n2+1])
			n2 += k
			if k == 0 && err2 == nil {
				t.Fatalf("%q: no byte was read at %d", src, n2)
			}
		}
		if !bytes.Equal(got, got2) || done != done2 || statusOf(err) != statusOf(err2) || done && n != n2 {
			t.Fatalf("%q at once: %q %d %v %v; byte by byte: %q %d %v %v", src, got, n, done, err, got2, n2, done2, err2)
		}
		if len(got) > limit {
			t.Fatalf("%d bytes decoded, over the limit", len(got))
		}
		if !done {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(string(src))))
		if err != nil && !strings.Contains(err.Error(), "chunk") {
			t.Fatalf("%q: we accept it, net/http returns %v", src, err)
		}
		if err == nil && !bytes.Equal(theirs, got) {
			t.Fatalf("%q: net/http read %q, we read %q", src, theirs, got)
		}
	})
}

// agreeOnAnswer compares the accepted head of an answer with the result of net/http.
func agreeOnAnswer(t *testing.T, head []byte, r *Response) {
	theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return // net/http refuses more
	}
	if theirs.StatusCode != r.Status || min(theirs.ProtoMinor, 1) != r.Minor {
		t.Errorf("%q: net/http read %s %s, we read %s", head, theirs.Proto, theirs.Status, r.dump())
	}
	length, coded := int64(0), false
	switch r.Body(false) {
	case Length:
		length = r.ContentLength
	case Chunks:
		length, coded = -1, true
	case UntilClose:
		length = -1
	}
	if BodyAllowed(r.Status) && (theirs.ContentLength != length || (len(theirs.TransferEncoding) == 1) != coded) {
		t.Errorf("%q: net/http read length %d, coding %q, we read %s", head, theirs.ContentLength, theirs.TransferEncoding, r.dump())
	}
	if theirs.Close && !r.Close && r.Body(false) != UntilClose {
		t.Errorf("%q: net/http closes, we don't: %s", head, r.dump())
	}
	for _, f := range r.Fields {
		if ascii.EqualFold(f.Name, "transfer-encoding") || ascii.EqualFold(f.Name, "content-length") {
			continue // net/http removes it from the header, or made one
		}
		found := false
		for name, values := range theirs.Header { // for net/http, white space before the colon is part of the name
			found = found || strings.EqualFold(strings.TrimRight(name, " \t"), string(f.Name)) && slices.Contains(values, string(f.Value))
		}
		if !found {
			t.Errorf("%q: net/http has %q, we have %q: %q", head, theirs.Header, f.Name, f.Value)
		}
	}
}
