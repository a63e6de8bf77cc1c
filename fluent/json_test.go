package fluent

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/fluent/internal/encode"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

func TestAppendJSON(t *testing.T) {
	f := func(b []byte, want string) {
		t.Helper()
		out, rest, err := appendJSON([]byte("."), append(bytes.Clone(b), "rest"...))
		if err != nil || string(out) != "."+want || string(rest) != "rest" {
			t.Fatalf("% x: got  %s, %q, %v\nwant %s", b, out, rest, err, want)
		}
	}
	value := func(v any) []byte {
		b, err := encode.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	f(value(nil), `null`)
	f(value(true), `true`)
	f(value(false), `false`)
	f(value(-33), `-33`)
	f(value(uint64(math.MaxUint64)), `18446744073709551615`)
	f(value(int64(math.MinInt64)), `-9223372036854775808`)
	f(value(1.5), `1.5`)
	f(value(1e300), `1e+300`)
	f(value(1e-9), `1e-09`)
	f(value(float32(0.1)), `0.1`)
	f(value(math.Inf(-1)), `null`)
	f(value(math.NaN()), `null`)
	f(value([]byte{0xff, 0xfe}), `"//4="`)
	f(value([]byte{}), `""`)
	f(value([]any{1, []any{}, "x"}), `[1,[],"x"]`)
	f(value(map[string]any{}), `{}`)
	f(value(map[string]any{"a": map[string]int{"b": 1}}), `{"a":{"b":1}}`)

	f(value("é日\u2028\U0001f600"), "\"é日\u2028\U0001f600\"")
	f(value("\"\\/\b\f\n\r\t\x00\x1f\x7f"), `"\"\\/\u0008\u000c\n\r\t\u0000\u001f`+"\x7f"+`"`)
	f(value("a\xffb\xe2\x82"), `"a\ufffdb\ufffd\ufffd"`)
	f(value("\ufffd"), "\"\ufffd\"")
	f(value("\xed\xa0\x80"), `"\ufffd\ufffd\ufffd"`) // half of a surrogate pair

	f(msgpack.AppendEventTime(nil, time.Unix(1700000000, 0)), `1700000000`)
	f(msgpack.AppendEventTime(nil, time.Unix(1700000000, 5)), `1700000000.000000005`)
	f(msgpack.AppendEventTime(nil, time.Unix(1700000000, 120_000_000)), `1700000000.12`)
	f([]byte("\xd7\x00\x00\x00\x00\x01\xff\xff\xff\xff"), `5.294967295`) // 4 s of nanoseconds
	f([]byte("\xc7\x08\x00\x00\x00\x00\x01\x00\x00\x00\x00"), `1`)
	f([]byte("\xd4\x05\x01"), `{"type":5,"data":"AQ=="}`)
	f([]byte("\xd4\xff\x01"), `{"type":-1,"data":"AQ=="}`)

	f([]byte("\x86\x05\x01\xc0\x02\xc3\x03\xc4\x01\xff\x04\x91\xa1x\x05\xca\x7f\xc0\x00\x00\x06"),
		`{"5":1,"null":2,"true":3,"/w==":4,"[\"x\"]":5,"null":6}`)

	deep := append(bytes.Repeat([]byte{0x91}, maxJSONDepth), 1)
	f(deep, strings.Repeat("[", maxJSONDepth)+"1"+strings.Repeat("]", maxJSONDepth))
	deep = append(bytes.Repeat([]byte{0x91}, 100_000), 1)
	f(deep, strings.Repeat("[", maxJSONDepth)+"null"+strings.Repeat("]", maxJSONDepth))
}

func TestAppendJSONFailure(t *testing.T) {
	f := func(b string, want error) {
		t.Helper()
		out, rest, err := appendJSON([]byte("before"), []byte(b))
		if err != want || string(out) != "before" || string(rest) != b {
			t.Fatalf("%q: %q, %q, %v", b, out, rest, err)
		}
	}
	f("", msgpack.ErrShort)
	f("\xa2a", msgpack.ErrShort)
	f("\x92\x01", msgpack.ErrShort)
	f("\x92\x01\xc1", msgpack.ErrInvalid)
}

// TestJSONLikeEncodingJSON compares with encoding/json for values that both can
// write.
func TestJSONLikeEncodingJSON(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := map[string]any{
			rapid.String().Draw(r, "key"): rapid.String().Draw(r, "text"),
			"int":                         rapid.Int64().Draw(r, "int"),
			"float":                       rapid.Float64().Draw(r, "float"),
			"single":                      rapid.Float32().Draw(r, "single"),
			"list":                        rapid.SliceOf(rapid.Uint64()).Draw(r, "list"),
			"bytes":                       rapid.SliceOfN(rapid.Byte(), 1, -1).Draw(r, "bytes"),
			"strings":                     rapid.MapOf(rapid.String(), rapid.String()).Draw(r, "strings"),
		}
		b, err := encode.Append(nil, v)
		if err != nil {
			r.Fatal(err)
		}
		ours, _, err := appendJSON(nil, b)
		if err != nil {
			r.Fatal(err)
		}
		theirs, err := json.Marshal(v)
		if err != nil {
			r.Fatal(err)
		}
		if got, want := sorted(r, ours), sorted(r, theirs); got != want {
			r.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// sorted returns JSON with sorted keys and unchanged numbers.
func sorted(r *rapid.T, j []byte) string {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		r.Fatalf("%s: %v", j, err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	return strings.ReplaceAll(string(again), "e-0", "e-") // of an exponent, in ours
}

// FuzzJSON checks that the output is one line of JSON for any input.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		"\x93\xa1t\xce\x65\x53\xf1\x00\x81\xa1a\x01", "\x81\x91\xa1\xff\xca\x7f\xc0\x00\x00", "\xd7\x00\x00\x00\x00\x01\xff\xff\xff\xff",
		"\x82\xc4\x01\x0a\xa2\"\\\x80\x90", "\xcb\x3e\x45\x79\x8e\xe2\x30\x8c\x3a", "\xc9\x00\x00\x00\x01\x80\x00", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, rest, err := appendJSON(nil, data)
		n, skipErr := msgpack.Skip(data)
		switch {
		case err != skipErr:
			t.Fatalf("%v, but Skip returned %v", err, skipErr)
		case err == nil && len(rest) != len(data)-n:
			t.Fatalf("%d bytes remain of %d with a value of %d", len(rest), len(data), n)
		case err == nil && !json.Valid(out):
			t.Fatalf("% x became %q", data[:n], out)
		case bytes.IndexByte(out, '\n') >= 0:
			t.Fatalf("a line break: %q", out)
		}
	})
}

var _ = msgp.Marshaler((*Record)(nil))
