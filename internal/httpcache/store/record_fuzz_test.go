package store

import (
	"bytes"
	"testing"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// FuzzRecord reads arbitrary records. An accepted one is equal after it is written and read
// again.
func FuzzRecord(f *testing.F) {
	q := get("http://h/a", "Accept-Language", "en, de", "Accept-Encoding", "br")
	f.Add(head(q).encode())
	f.Add(head(q, "Vary", "Accept-Language, Accept-Encoding", "ETag", `"1"`, "Age", "7", "Surrogate-Key", "a b c").encode())
	f.Add([]byte{recordVersion, 200, 1, 0xff})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := decodeHead(b, &options)
		if !ok {
			return
		}
		once := h.encode()
		again, ok := decodeHead(once, &options)
		if !ok || !bytes.Equal(again.encode(), once) || !bytes.Equal(again.Lines, h.Lines) || again.Response.Lifetime != h.Response.Lifetime {
			t.Errorf("%x was written as %x", b, once)
		}
		if h.Response.Status < 200 || h.Response.Status > 599 {
			t.Errorf("status %d", h.Response.Status)
		}
		for _, field := range h.Fields {
			if !ascii.IsToken(field.Name) || !http1.ValidValue(field.Value) {
				t.Errorf("field %q: %q", field.Name, field.Value)
			}
		}
	})
}

// A record that has another version or was cut is invalid.
func TestCutRecord(t *testing.T) {
	q := get("http://h/a", "Accept-Language", "en")
	b := head(q, "Vary", "Accept-Language", "Surrogate-Key", "a b").encode()
	if _, ok := decodeHead(b, &options); !ok {
		t.Fatal("the whole record is refused")
	}
	for i := range b {
		if _, ok := decodeHead(b[:i], &options); ok {
			t.Errorf("a record cut at %d is accepted", i)
		}
	}
	if _, ok := decodeHead(append(bytes.Clone(b), 0), &options); ok {
		t.Error("a record with a byte more is accepted")
	}
	for _, version := range []byte{recordVersion - 1, recordVersion + 1} {
		b[0] = version
		if _, ok := decodeHead(b, &options); ok {
			t.Errorf("a record of version %d is accepted", version)
		}
	}
}
