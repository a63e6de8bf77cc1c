package attr

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var pairs = []struct{ cbor, json string }{
	{"65416c696365", `{"S":"Alice"}`},
	{"60", `{"S":""}`},
	{"43000102", `{"B":"AAEC"}`},
	{"40", `{"B":""}`},
	{"f5", `{"BOOL":true}`},
	{"f4", `{"BOOL":false}`},
	{"f6", `{"NULL":true}`},
	{"182a", `{"N":"42"}`},
	{"c4822119013a", `{"N":"3.14"}`},
	{"83617807f6", `{"L":[{"S":"x"},{"N":"7"},{"NULL":true}]}`},
	{"80", `{"L":[]}`},
	{"a2616b6176616e22", `{"M":{"k":{"S":"v"},"n":{"N":"-3"}}}`},
	{"a0", `{"M":{}}`},
	{"d90cf98261616162", `{"SS":["a","b"]}`},
	{"d90cfa8301c48220181926", `{"NS":["1","2.5","-7"]}`},
	{"d90cfb824101420203", `{"BS":["AQ==","AgM="]}`},
	{"d90cf980", `{"SS":[]}`},
	{"8180", `{"L":[{"L":[]}]}`},
	{"a16161a16162d90cfb8140", `{"M":{"a":{"M":{"b":{"BS":[""]}}}}}`},
}

func TestBothWays(t *testing.T) {
	for _, c := range pairs {
		b := unhex(t, c.cbor)
		r := cbor.NewReader(b)
		got, err := AppendJSON(nil, &r)
		if err != nil || r.Close() != nil || string(got) != c.json {
			t.Errorf("%s: got %s, %v, want %s", c.cbor, got, err, c.json)
		}
		back, err := AppendCBOR(nil, []byte(c.json))
		if err != nil || hex.EncodeToString(back) != c.cbor {
			t.Errorf("%s: got %x, %v, want %s", c.json, back, err, c.cbor)
		}
	}
}

// TestRecorded converts values recorded from clients, in requests and replies, with numbers
// as DynamoDB returns them.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		in, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		n++
		r := cbor.NewReader(unhex(t, in))
		got, err := AppendJSON(nil, &r)
		if err != nil || r.Close() != nil || !same(t, got, []byte(want)) {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
			continue
		}
		b, err := AppendCBOR([]byte("x"), []byte(want))
		if err != nil || b[0] != 'x' {
			t.Errorf("%s: got %x, %v", want, b, err)
			continue
		}
		r = cbor.NewReader(b[1:])
		back, err := AppendJSON(nil, &r)
		if err != nil || r.Close() != nil || !same(t, back, []byte(want)) {
			t.Errorf("%s: %x was converted back to %s, %v", want, b[1:], back, err)
		}
	}
	if n != 80 {
		t.Errorf("only %d values were recorded", n)
	}
}

func TestOtherForms(t *testing.T) {
	for _, c := range []struct{ cbor, json string }{
		{"fb3fb999999999999a", `{"N":"0.1"}`},
		{"9f01ff", `{"L":[{"N":"1"}]}`},
		{"bf616101ff", `{"M":{"a":{"N":"1"}}}`},
		{"d90cfa81fb3fe0000000000000", `{"NS":["0.5"]}`},
		{"63220a5c", `{"S":"\"\n\\"}`},
	} {
		r := cbor.NewReader(unhex(t, c.cbor))
		got, err := AppendJSON(nil, &r)
		if err != nil || !same(t, got, []byte(c.json)) {
			t.Errorf("%s: got %s, %v, want %s", c.cbor, got, err, c.json)
		}
	}
	for _, c := range []struct{ json, cbor string }{
		{`{"S":"\u00e9\n"}`, "63c3a90a"},
		{`{"N":"-\u0033.14"}`, "c482213901 39"},
		{`{"N":"18446744073709551616\u0030"}`, "c2490a0000000000000000"},
		{`{"NS":["\u0037","8"]}`, "d90cfa820708"},
		{` { "M" : { "a\n" : { "L" : [ { "BOOL" : true } ] } } } `, "a162610a81f5"},
		{`{"BS":["A\u0051=="]}`, "d90cfb814101"},
	} {
		got, err := AppendCBOR(nil, []byte(c.json))
		if want := unhex(t, c.cbor); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", c.json, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{"", "61ff", "d90cfc01", "c1182a", "d90cf901", "d90cf98101", "d90cfa816161", "d90cfb816161", "a10101", "81", "fb7ff8000000000000",
		strings.Repeat("81", maxDepth) + "00"} {
		r := cbor.NewReader(unhex(t, in))
		if got, err := AppendJSON(nil, &r); err == nil {
			t.Errorf("%s was accepted as %s", in, got)
		}
	}
	for _, in := range []string{`{}`, `{"X":"1"}`, `{"N":"x"}`, `{"N":"1\u0030x"}`, `{"B":"?"}`, `{"NS":["x"]}`, `{"SS":[1]}`, `{"L":[1]}`, `{"M":{"a":1}}`, `1`,
		strings.Repeat(`{"L":[`, maxDepth) + `{"NULL":true}` + strings.Repeat(`]}`, maxDepth)} {
		if got, err := AppendCBOR(nil, []byte(in)); err == nil {
			t.Errorf("%s was accepted as %x", in, got)
		}
	}
}

// TestDepth nests values up to DynamoDB's limit, and beyond.
func TestDepth(t *testing.T) {
	for _, c := range []struct {
		depth int
		ok    bool
	}{{32, true}, {maxDepth - 1, true}, {maxDepth, false}} {
		text := strings.Repeat(`{"L":[`, c.depth) + `{"NULL":true}` + strings.Repeat(`]}`, c.depth)
		r := cbor.NewReader(unhex(t, strings.Repeat("81", c.depth)+"f6"))
		got, err := AppendJSON(nil, &r)
		if c.ok != (err == nil) || c.ok && string(got) != text {
			t.Errorf("%d levels: %s, %v", c.depth, got, err)
		}
		if b, err := AppendCBOR(nil, []byte(text)); c.ok != (err == nil) {
			t.Errorf("%d levels of JSON: %x, %v", c.depth, b, err)
		}
	}
}

func same(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("%s or %s isn't JSON", a, b)
	}
	return reflect.DeepEqual(x, y)
}

// values generates attribute values.
func values(depth int) *rapid.Generator[string] {
	text := rapid.Map(rapid.String(), func(s string) string { return string(wire.AppendQuoted(nil, []byte(s))) })
	number := rapid.Map(rapid.Int64(), func(v int64) string { return fmt.Sprintf(`"%d"`, v) })
	bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(appendBase64(nil, b)) })
	in := func(typ string, g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Map(g, func(v string) string { return `{"` + typ + `":` + v + `}` })
	}
	list := func(g *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(g, 0, 4), func(v []string) string { return "[" + strings.Join(v, ",") + "]" })
	}
	all := []*rapid.Generator[string]{in("S", text), in("N", number), in("B", bytes), in("SS", list(text)), in("NS", list(number)), in("BS", list(bytes)),
		rapid.SampledFrom([]string{`{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`})}
	if depth > 0 {
		inner := values(depth - 1)
		all = append(all, in("L", list(inner)), in("M", rapid.Map(rapid.MapOfN(text, inner, 0, 4), func(m map[string]string) string {
			var parts []string
			for k, v := range m {
				parts = append(parts, k+":"+v)
			}
			return "{" + strings.Join(parts, ",") + "}"
		})))
	}
	return rapid.OneOf(all...)
}

func TestRoundTrip(t *testing.T) {
	g := values(3)
	rapid.Check(t, func(r *rapid.T) {
		text := g.Draw(r, "value")
		b, err := AppendCBOR(nil, []byte(text))
		if err != nil {
			r.Fatal(err)
		}
		in := cbor.NewReader(b)
		back, err := AppendJSON(nil, &in)
		if err != nil || in.Close() != nil || !same(t, back, []byte(text)) {
			r.Fatalf("%s was converted back to %s, %v", text, back, err)
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	text := []byte(`{"M":{"a":{"S":"text \n"},"b":{"L":[{"N":"1"},{"N":"2.5"},{"B":"AAEC"}]},"c":{"NS":["1","2"]}}}`)
	b, err := AppendCBOR(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		r := cbor.NewReader(b)
		dst, _ = AppendJSON(dst[:0], &r)
		dst, _ = AppendCBOR(dst[:0], text)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzJSON(f *testing.F) {
	for _, c := range pairs {
		f.Add(unhex(f, c.cbor))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := cbor.NewReader(b)
		text, err := AppendJSON(nil, &r)
		if err != nil {
			return
		}
		if !wire.Valid(text, 2*maxDepth+4) {
			t.Fatalf("%x was converted to invalid JSON: %s", b, text)
		}
		// Duplicate names and numbers with too many digits are left to DynamoDB to reject.
		if again, err := AppendCBOR(nil, text); err == nil {
			r := cbor.NewReader(again)
			if r.Skip(); r.Close() != nil {
				t.Fatalf("%s was converted to invalid CBOR: %x", text, again)
			}
		}
	})
}

func FuzzCBOR(f *testing.F) {
	for _, c := range pairs {
		f.Add([]byte(c.json))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !wire.Valid(text, wire.MaxDepth) {
			return
		}
		b, err := AppendCBOR([]byte("x"), text)
		if err != nil {
			return
		}
		want, ok := wire.AppendCanonical(nil, text)
		if !ok {
			return // ambiguous, or with a number that DynamoDB rejects
		}
		r := cbor.NewReader(b[1:])
		back, err := AppendJSON(nil, &r)
		if err != nil || r.Close() != nil {
			t.Fatalf("%s was converted to %x, which can't be read: %v", text, b, err)
		}
		if got, ok := wire.AppendCanonical(nil, back); !ok || !bytes.Equal(got, want) {
			t.Fatalf("%s was converted to %x, and back to %s", text, b, back)
		}
	})
}
