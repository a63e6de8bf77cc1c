package http1

import (
	"strings"
	"testing"
)

func TestChunked(t *testing.T) {
	f := func(src, want, rest string) {
		t.Helper()
		var c Chunked
		c.Reset(100)
		got, n, done, err := c.Decode([]byte("before:"), []byte(src))
		if err != nil || !done || string(got) != "before:"+want || src[n:] != rest {
			t.Errorf("%q: %q, rest %q, done %v, %v", src, got, src[n:], done, err)
		}
	}
	f("0\r\n\r\n", "", "")
	f("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET /", "hello world", "GET /")
	f("A\r\n0123456789\r\n000\r\n\r\n", "0123456789", "")
	f("1;x=\"y\"\r\na\r\n0;z\r\nTrailer: v\r\nOther: w\r\n\r\n0\r\n", "a", "0\r\n")
	f("64\r\n"+strings.Repeat("x", 100)+"\r\n0\r\n\r\n", strings.Repeat("x", 100), "")
}

func TestChunkedRefused(t *testing.T) {
	f := func(src string, want int) {
		t.Helper()
		var c Chunked
		c.Reset(100)
		if _, _, done, err := c.Decode(nil, []byte(src)); statusOf(err) != want || done {
			t.Errorf("%.60q: done %v, %v; want %d", src, done, err, want)
		}
	}
	f("65\r\n", 413)
	f("64\r\n"+strings.Repeat("x", 100)+"\r\n1\r\n", 413)
	f("7fffffffffffffff\r\n", 413)
	f("8000000000000000\r\n", 400)
	f("fffffffffffffffff\r\n", 400)
	f("00000000000000001\r\n", 400)
	f("5\r\r\n", 400)
	f("5\r\nhello\n", 400)
	f("5\r\nhelloX", 400)
	f("5;\x00\r\n", 400)
	f("5;"+strings.Repeat("e", maxChunkExt+1), 400)
	f(strings.Repeat("1;"+strings.Repeat("e", 99)+"\r\nx\r\n", 50), 400)
	f("0\r\n folded\r\n", 400)
	f("0\r\n"+strings.Repeat("T: v\r\n", maxTrailer/6+1), 431)
	f("0\r\nT: "+strings.Repeat("v", maxTrailer), 431)
}

func TestChunkedReset(t *testing.T) {
	var c Chunked
	for range 3 {
		c.Reset(10)
		if got, _, done, err := c.Decode(nil, []byte("2\r\nab\r\n0\r\nX: y\r\n\r\n")); !done || err != nil || string(got) != "ab" {
			t.Fatalf("got %q, done %v, error %v", got, done, err)
		}
		c.Reset(10)
		_, _, _, _ = c.Decode(nil, []byte("0\r\nhalf a trail"))
	}
}

// TestChunkedTrailer decodes in place and cut at every byte; returned fields remain
// unchanged when the decoder continues.
func TestChunkedTrailer(t *testing.T) {
	const src = "2\r\nab\r\n0\r\nX-Sum : no\r\n\r\n"
	var c Chunked
	c.Reset(10)
	if _, _, _, err := c.Decode(nil, []byte(src)); err != errFieldName {
		t.Errorf("white space before the colon: %v", err)
	}
	f := func(trailer, want string) Fields {
		t.Helper()
		c.Reset(10)
		b := []byte("2\r\nab\r\n3\r\ncde\r\n0\r\n" + trailer + "\r\n")
		var body []byte
		done := false
		for i := 0; i < len(b); i += 3 {
			piece := b[i:min(i+3, len(b))]
			out, n, end, err := c.Decode(piece[:0], piece)
			if err != nil || n != len(piece) {
				t.Fatalf("%q: got n %d, error %v", piece, n, err)
			}
			body, done = append(body, out...), end
		}
		got := ""
		for _, f := range c.Trailer() {
			got += string(f.Name) + "=" + string(f.Value) + ";"
		}
		if !done || string(body) != "abcde" || got != want {
			t.Errorf("%q: got %t, %q, %q; want %q", trailer, done, body, got, want)
		}
		return c.Trailer()
	}
	kept := f("X-Sum: 1\r\nEtag: \"e\"\r\n", `X-Sum=1;Etag="e";`)
	f("", "")
	f("content-length: 5\r\nTransfer-Encoding: x\r\nHOST: h\r\nSet-Cookie: c\r\nCache-Control: no-store\r\nAuthorization: a\r\nY:\r\n", "Y=;")
	if len(kept) != 2 || string(kept[0].Value) != "1" {
		t.Errorf("the trailer of an earlier body was changed to %q", kept)
	}
}

func TestInTrailer(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if got := InTrailer([]byte(name)); got != want {
			t.Errorf("%s is allowed in a trailer: got %v, want %v", name, got, want)
		}
	}
	for _, name := range notInTrailer {
		f(name, false)
		f(strings.ToUpper(name), false)
	}
	f("X-Forwarded-For", false)
	f("x-forwarded-port", false)
	f("X-Forwarded-", true)
	f("X-Forwarded", true)
	f("Server-Timing", true)
	f("Digest", true)
}
