package http2

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// decodeAll returns the fields of a block, one per line.
func decodeAll(d *Decoder, block []byte) (string, error) {
	var out strings.Builder
	d.Start()
	for len(block) > 0 {
		name, value, rest, err := d.Next(block)
		if err != nil {
			return out.String(), err
		}
		if block = rest; name != nil {
			out.WriteString(string(name) + ": " + string(value) + "\n")
		}
	}
	return out.String(), nil
}

// decodeTheirs is decodeAll of x/net.
func decodeTheirs(d *hpack.Decoder, block []byte) (string, error) {
	var out strings.Builder
	fields, err := d.DecodeFull(block)
	for _, f := range fields {
		out.WriteString(f.Name + ": " + f.Value + "\n")
	}
	return out.String(), err
}

func TestDecode(t *testing.T) {
	var block bytes.Buffer
	enc, d := hpack.NewEncoder(&block), NewDecoder()
	for i := range 300 { // evicts and compacts
		block.Reset()
		var want strings.Builder
		for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":path", Value: "/" + strings.Repeat("x", i)},
			{Name: "x-secret", Value: "a", Sensitive: true}, {Name: "user-agent", Value: "curl/8"}, {Name: "x-empty"}, {Name: "x-large", Value: strings.Repeat("\x01é", i*10)}} {
			_ = enc.WriteField(f)
			want.WriteString(f.Name + ": " + f.Value + "\n")
		}
		if got, err := decodeAll(d, block.Bytes()); err != nil || got != want.String() {
			t.Fatalf("block %d: got %q, %v; want %q", i, got, err, want.String())
		}
		if i == 150 {
			enc.SetMaxDynamicTableSize(200)
		}
	}
}

func TestDecodeMalformed(t *testing.T) {
	for _, block := range []string{
		"\x80",                     // index 0
		"\xbe",                     // an index beyond the tables
		"\xff\xff\xff\xff\xff\x7f", // a large index
		"\xff\x80\x80\x80\x80\x00", // zeros in an integer
		"\x40",                     // no name
		"\x40\x05abc",              // a short name
		"\x40\x01a\x05b",           // a short value
		"\x41",                     // no value
		"\x41\x81\xfe",             // padding of zeros
		"\x41\x82\xff\xff",         // too much padding
		"\x41\x84\xff\xff\xff\xff", // EOS
		"\x3f\xe2\x1f",             // a table of 4097 bytes
		"\x82\x20",                 // a change of size behind a field
	} {
		if got, err := decodeAll(NewDecoder(), []byte(block)); err == nil {
			t.Errorf("%q: got %q, want an error", block, got)
		}
	}
}

// TestDecodeBrief checks that a block is decoded after its fields were over the limit.
func TestDecodeBrief(t *testing.T) {
	var block bytes.Buffer
	enc, d := hpack.NewEncoder(&block), NewDecoder()
	write := func(name, value string) { _ = enc.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	write("x-a", "1")
	write("x-b", "2")
	write("x-a", "3")
	d.Start()
	d.Brief()
	for b := block.Bytes(); len(b) > 0; {
		_, _, rest, err := d.Next(b)
		if err != nil {
			t.Fatal(err)
		}
		b = rest
	}
	if len(d.text) > 0 {
		t.Errorf("%d bytes are held", len(d.text))
	}
	block.Reset()
	write("x-a", "1")
	write("x-b", "2")
	write("x-a", "3")
	if got, err := decodeAll(d, block.Bytes()); err != nil || got != "x-a: 1\nx-b: 2\nx-a: 3\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"), []byte("\x82\x86\x84\xbe\x58\x08no-cache"))
	f.Add([]byte("\x3f\x01\x40\x03abc\x01d"), []byte("\xbe"))
	f.Add([]byte("\x00\x80\x00"), []byte("0"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ours, theirs := NewDecoder(), hpack.NewDecoder(tableSize, nil)
		for _, block := range [][]byte{a, b} {
			got, err := decodeAll(ours, block)
			want, theirErr := decodeTheirs(theirs, block)
			if err != nil {
				return // ours bounds integers more strictly
			}
			if theirErr != nil || got != want {
				t.Fatalf("%q: got %q; x/net: %q, %v", block, got, want, theirErr)
			}
		}
	})
}

func FuzzHPACK(f *testing.F) {
	f.Add("x-a", "1", "content-type", "text/plain", uint16(200))
	f.Add("", "0", "0", "0", uint16(397))
	f.Add("", "", "X-Long", strings.Repeat("z", 300), uint16(304))
	f.Fuzz(func(t *testing.T, name, value, name2, value2 string, status uint16) {
		lower := func(s string) string {
			b := []byte(s)
			for i, c := range b {
				if 'A' <= c && c <= 'Z' {
					b[i] = c | 0x20
				}
			}
			return string(b)
		}
		code := 100 + int(status)%900
		block := AppendField(AppendField(AppendStatus(nil, code), name, value), name2, value2)
		want := lower(name) + ": " + value + "\n" + lower(name2) + ": " + value2 + "\n"
		got, err := decodeTheirs(hpack.NewDecoder(tableSize, nil), block)
		if err != nil || got[len(":status: 200\n"):] != want {
			t.Fatalf("x/net decodes %q: %v; want %q", got, err, want)
		}
		var coded bytes.Buffer
		enc, d := hpack.NewEncoder(&coded), NewDecoder()
		for range 3 {
			coded.Reset()
			_ = enc.WriteField(hpack.HeaderField{Name: lower(name), Value: value})
			_ = enc.WriteField(hpack.HeaderField{Name: lower(name2), Value: value2})
			if got, err := decodeAll(d, coded.Bytes()); err != nil || got != want {
				t.Fatalf("got %q, %v; want %q", got, err, want)
			}
		}
	})
}
