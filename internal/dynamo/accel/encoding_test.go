package accel

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// TestAnswersAreCompressed requests large and small answers with every Accept-Encoding.
func TestAnswersAreCompressed(t *testing.T) {
	f := newFixture(t)
	large := `{"TableNames":["` + strings.Repeat("x", minEncoded) + `"]}`
	f.origin.reply("ListTables", large)
	f.origin.reply("DescribeLimits", `{"AccountMaxReadCapacityUnits":80000}`)
	ask := func(op, accept string) result {
		r := request(op)
		if accept != "" {
			r.Fields = append(r.Fields, http1.FieldsOf("Accept-Encoding", accept)...)
		}
		return f.send(r, "{}")
	}
	want := func(accept, encoding string, open func(r io.Reader) (io.Reader, error)) {
		t.Helper()
		got := ask("ListTables", accept)
		has := strings.Contains(got.head, "Content-Encoding: "+encoding+"\r\n")
		checked := strings.Contains(got.head, fmt.Sprintf("x-amz-crc32: %d\r\n", crc32.ChecksumIEEE([]byte(got.body))))
		if has != (open != nil) || checked != has { // this origin has no checksums
			t.Errorf("%s: got %s", accept, got.head)
		}
		text := []byte(got.body)
		if open != nil {
			r, err := open(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		if string(text) != large {
			t.Errorf("%s: got %q", accept, text)
		}
	}
	unzip := func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	inflate := func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
	want("", "", nil)
	want("identity", "", nil)
	want("br", "br", nil)
	want("gzip;q=0", "gzip", nil)
	want("*", "gzip", unzip)
	want("*;q=0.5", "gzip", unzip)
	want("br, *", "gzip", unzip)
	want("*;q=0", "gzip", nil)
	want("gzip;q=0, *", "deflate", inflate)
	want("*, gzip;q=0, deflate;q=0", "gzip", nil)
	want("gzip", "gzip", unzip)
	want("GZIP", "gzip", unzip)
	want("br, deflate, gzip", "deflate", inflate)
	want("gzip;q=0.0, deflate;q=0.5", "deflate", inflate)
	if got := ask("DescribeLimits", "gzip"); strings.Contains(got.head, "Content-Encoding") {
		t.Errorf("a small answer: %s", got.head)
	}
}

// TestRequestsAreDecoded sends requests in all encodings, and in both forms of deflate.
func TestRequestsAreDecoded(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("ListTables", `{"TableNames":[]}`)
	var bare, wrapped bytes.Buffer
	w, _ := flate.NewWriter(&bare, flate.BestSpeed)
	z := zlib.NewWriter(&wrapped)
	for _, w := range []io.WriteCloser{w, z} {
		_, _ = io.WriteString(w, "{}")
		_ = w.Close()
	}
	want := func(encoding, body string, status int) {
		t.Helper()
		r := request("ListTables")
		r.Fields = append(r.Fields, http1.FieldsOf("Content-Encoding", encoding)...)
		if got := f.send(r, body); got.status != status {
			t.Errorf("%s: got %d %s, want %d", encoding, got.status, got.body, status)
		}
	}
	want("deflate", bare.String(), 200)
	want("deflate", wrapped.String(), 200)
	want("deflate", wrapped.String()[:4], 400)
	want("deflate", "", 400)
	want("gzip", "{}", 400)
	want("identity", "{}", 200)
	want("", "{}", 200)
	want("br", "{}", 400)
	want("identity", "[]", 400)
	if asked := f.origin.take(); len(asked) != 4 {
		t.Errorf("the origin received %d requests, want 4: %v", len(asked), asked)
	}
}

// TestTypeOfAnswers checks that the answer has the request's media type.
func TestTypeOfAnswers(t *testing.T) {
	f := newFixture(t)
	want := func(typ, answer string) {
		t.Helper()
		r := request("NoSuchOperation.")
		r.Fields = http1.FieldsOf("X-Amz-Target", "Nothing", "Content-Type", typ)
		if got := f.send(r, "{}"); !strings.Contains(got.head, "Content-Type: "+answer+"\r\n") {
			t.Errorf("%s: got %d %s, want type %s", typ, got.status, got.head, answer)
		}
	}
	want("application/x-amz-json-1.0", "application/x-amz-json-1.0")
	want("application/json", "application/json")
	want("Application/JSON; charset=utf-8", "application/json")
}
