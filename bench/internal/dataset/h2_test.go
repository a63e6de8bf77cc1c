package dataset

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestH2Requests decodes the requests of a connection.
func TestH2Requests(t *testing.T) {
	b, ok := bytes.CutPrefix(H2Greeting(), []byte(http2.ClientPreface))
	if !ok {
		t.Fatal("no preface")
	}
	b = AppendH2Request(b, 3, H2Block(SmallObject, 17))
	framer := http2.NewFramer(nil, bytes.NewReader(b))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var requests []string
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			break
		}
		if h, ok := f.(*http2.MetaHeadersFrame); ok {
			var text strings.Builder
			for _, field := range h.Fields {
				text.WriteString(field.Name + "=" + field.Value + " ")
			}
			requests = append(requests, text.String())
		}
	}
	want := func(k string) string {
		return ":method=GET :scheme=https :path=/object/1500/" + k +
			" :authority=bench.example user-agent=Mozilla/5.0 accept=*/* accept-encoding=gzip, deflate, br accept-language=en "
	}
	if len(requests) != 2 || requests[0] != want("0") || requests[1] != want("17") {
		t.Errorf("got %q", requests)
	}
}

// TestH2Answers reads answers piece by piece.
func TestH2Answers(t *testing.T) {
	var b []byte
	b = appendH2Frame(b, h2Settings, 0, 0, nil)
	b = appendH2Frame(b, h2Headers, h2EndStream|h2EndHeaders, firstH2Stream, []byte{0x88})
	for _, stream := range []uint32{3, 5} {
		b = appendH2Frame(b, h2Headers, h2EndHeaders, stream, []byte{0x88})
		b = appendH2Frame(b, h2Data, 0, stream, make([]byte, 10))
	}
	b = appendH2Frame(b, h2Data, h2EndStream, 3, make([]byte, 5))
	b = appendH2Frame(b, h2Data, h2EndStream, 5, make([]byte, 5))
	frame := H2Answers(2)
	for n := range b {
		if _, whole, err := frame(b[:n]); whole || err != nil {
			t.Fatalf("after %d of %d bytes: %v, %v", n, len(b), whole, err)
		}
	}
	if n, whole, err := frame(b); n != len(b) || !whole || err != nil {
		t.Errorf("got %d, %v, %v", n, whole, err)
	}
	if err := CheckH2Answers(b, 2, 15); err != nil {
		t.Error(err)
	}
	if CheckH2Answers(b, 2, 16) == nil || CheckH2Answers(b, 1, 30) == nil {
		t.Error("a wrong answer is accepted")
	}
	if _, _, err := frame(appendH2Frame(nil, h2Reset, 0, 3, []byte{0, 0, 0, 7})); err == nil {
		t.Error("a reset is no error")
	}
}
