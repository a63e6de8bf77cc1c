package wire

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestAttribute(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		typ, v, ok := Attribute([]byte(in))
		got := string(typ) + " " + string(v)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Attribute(%s) = %s, %v; want %q", in, got, ok, want)
		}
	}
	f(`{"S":"x"}`, `S "x"`)
	f(` { "N" : "1" } `, `N "1"`)
	f(`{"M":{}}`, `M {}`)
	f(`{"L":[]}`, `L []`)
	f(`{"SS":["a"]}`, `SS ["a"]`)
	f(`{"BOOL":false}`, `BOOL false`)
	f(`{"NULL":true}`, `NULL true`)
	for _, in := range []string{`{}`, `[]`, `"x"`, `{"S":"x","N":"1"}`, `{"S":"x","S":"x"}`, `{"N":1}`, `{"S":null}`, `{"X":"x"}`,
		`{"s":"x"}`, `{"\u0053":"x"}`, `{"NULL":false}`, `{"BOOL":"true"}`, `{"M":[]}`, `{"L":{}}`, `{"SS":"a"}`, `{"S":"x"`} {
		f(in, "")
	}
}

func TestAppendScalar(t *testing.T) {
	f := func(in string, typ byte, want string) {
		t.Helper()
		got, ok := AppendScalar([]byte("<"), []byte(in), typ)
		if !ok {
			got = got[1:]
		}
		if string(bytes.TrimPrefix(got, []byte("<"))) != want || ok != (want != "") {
			t.Errorf("AppendScalar(%s, %c) = %q, %v; want %q", in, typ, got, ok, want)
		}
	}
	f(`{"S":"abc"}`, 'S', "S\x00\x03abc")
	f(`{"S":"\u0061b\u00e9"}`, 'S', "S\x00\x04abé")
	f(`{"S":"`+strings.Repeat("x", 2048)+`"}`, 'S', "S\x08\x00"+strings.Repeat("x", 2048))
	f(`{"N":"1e3"}`, 'N', "N\x00\x041000")
	f(`{"N":"-0.50"}`, 'N', "N\x00\x04-0.5")
	f(`{"B":"AAE="}`, 'B', "B\x00\x02\x00\x01")
	f(`{"B":"\u0041AE="}`, 'B', "B\x00\x02\x00\x01")
	f(`{"B":"+\/+\/"}`, 'B', "B\x00\x03\xfb\xff\xbf")
	for _, in := range []string{`{"S":""}`, `{"S":"` + strings.Repeat("x", 2049) + `"}`, `{"N":"1"}`, `{"S":"\ud83d"}`, "{\"S\":\"\xff\"}", `{"S":1}`, `{}`} {
		f(in, 'S', "")
	}
	for _, in := range []string{`{"N":""}`, `{"N":"x"}`, `{"N":"\u0031"}`, `{"N":1}`, `{"N":"1e126"}`, `{"S":"1"}`} {
		f(in, 'N', "")
	}
	for _, in := range []string{`{"B":""}`, `{"B":"AA"}`, `{"B":"AAE"}`, `{"B":"AAF="}`, `{"B":"AB=="}`, `{"B":"A==="}`, `{"B":"===="}`,
		`{"B":"AA=A"}`, `{"B":"A_-A"}`, `{"B":"AAAA\n"}`, `{"B":"AA\r\n"}`, `{"B":"é="}`} {
		f(in, 'B', "")
	}
	f(`{"M":{}}`, 'M', "")
}

func FuzzBinary(f *testing.F) {
	for _, s := range []string{"", "AAE=", "AA==", "AAAA", "A===", "AB==", "AAF=", "AA=A", "+/+/", "AAAA\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := base64.StdEncoding.Strict().DecodeString(s)
		valid := err == nil && !strings.ContainsAny(s, "\r\n")
		buf := []byte(s)
		n, ok := decodeBinary(buf, buf)
		if ok != valid || ok && !bytes.Equal(buf[:n], want) {
			t.Fatalf("decodeBinary(%q) = %q, %v; want %q, %v", s, buf[:n], ok, want, valid)
		}
		if size, ok := binaryLen([]byte(s)); ok != valid || ok && size != len(want) {
			t.Fatalf("binaryLen(%q) = %d, %v", s, size, ok)
		}
	})
}

func nested(open, shut string, levels int) string {
	return `{"a":` + strings.Repeat(open, levels) + `{"S":"x"}` + strings.Repeat(shut, levels) + `}`
}

func TestItemSize(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		got, ok := ItemSize([]byte(in))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("ItemSize(%s) = %d; want %d", in, got, want)
		}
	}
	f(`{}`, 0)
	f(`{"id":{"S":"u-1"}}`, 2+3)
	f(`{"é":{"S":"\u00e9\ud83d\ude00é"}}`, 2+8)
	f(`{"\u00e9":{"S":""}}`, 2)
	f(`{"n":{"N":"-42"}}`, 1+3)
	f(`{"b":{"B":"AAE="}}`, 1+2)
	f(`{"b":{"B":"+\/+\/"}}`, 1+3)
	f(`{"t":{"BOOL":true},"z":{"NULL":true}}`, 4)
	f(`{"s":{"SS":["a","bc"]}}`, 1+3)
	f(`{"s":{"NS":["1","123"]}}`, 1+2+3)
	f(`{"s":{"BS":["AAE=","AA=="]}}`, 1+2+1)
	f(`{"l":{"L":[]}}`, 1+3)
	f(`{"l":{"L":[{"S":"a"},{"N":"1"}]}}`, 1+3+(1+1)+(1+2))
	f(`{"m":{"M":{}}}`, 1+3)
	f(`{"m":{"M":{"ab":{"S":"c"},"d":{"L":[]}}}}`, 1+3+(1+2+1)+(1+1+3))
	f(nested(`{"M":{"b":`, `}}`, 31), 1+1+31*(3+1+1))
	f(nested(`{"L":[`, `]}`, 31), 1+1+31*(3+1))
	f(nested(`{"M":{"b":`, `}}`, 32), -1)
	f(nested(`{"L":[`, `]}`, 32), -1)
	for _, in := range []string{`[]`, `{"":{"S":"x"}}`, `{"a":"x"}`, `{"a":{"N":"x"}}`, `{"a":{"B":"x"}}`, `{"a":{"S":"\ud83d"}}`, `{"\ud83d":{"S":"x"}}`,
		`{"a":{"SS":[]}}`, `{"a":{"SS":[1]}}`, `{"a":{"NS":["x"]}}`, `{"a":{"L":["x"]}}`, `{"a":{"M":{"b":1}}}`,
		`{"` + strings.Repeat("a", 65536) + `":{"S":"x"}}`, `{"a":{"S":"` + strings.Repeat("a", 5<<20) + `"}}`} {
		f(in, -1)
	}
}

func TestReadsBackAs(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		if got := ReadsBackAs([]byte(in)); got != want {
			t.Errorf("ReadsBackAs(%.80s) = %v", in, got)
		}
	}
	f(`{}`, true)
	f(`{"id":{"S":"a\nb"},"n":{"N":"-1.5"},"b":{"B":"AAE="},"e":{"S":""},"z":{"NULL":true},"t":{"BOOL":false}}`, true)
	f(`{"m":{"M":{"x":{"S":"1"},"y":{"L":[{"N":"1"},{"M":{}}]}}},"x":{"S":"2"}}`, true)
	f(`{"m":{"M":{"m":{"M":{"m":{"S":"x"}}}}}}`, true)
	f(nested(`{"M":{"b":`, `}}`, 31), true)
	f(nested(`{"L":[`, `]}`, 31), true)
	f(nested(`{"M":{"b":`, `}}`, 32), false)
	f(nested(`{"L":[`, `]}`, 32), false)
	for _, in := range []string{`[]`, `{"n":{"N":"1.0"}}`, `{"n":{"N":"1e3"}}`, `{"n":{"N":"-0"}}`, `{"n":{"N":"x"}}`, `{"b":{"B":"AAF="}}`, `{"b":{"B":"\/\/\/\/"}}`,
		`{"s":{"SS":["a"]}}`, `{"s":{"L":[{"NS":["1"]}]}}`, `{"a":{"S":"x"},"a":{"S":"x"}}`, `{"a":{"S":"x"},"b":{"S":"x"},"a":{"S":"x"}}`,
		`{"\u0061":{"S":"x"}}`, `{"m":{"M":{"a":{"S":"x"},"a":{"S":"x"}}}}`, `{"":{"S":"x"}}`, `{"a":{"S":"\udc00"}}`, `{"a":{"NULL":false}}`,
		`{"a":{"S":"x"}`, `{"a":{}}`, `{"a":{"S":"` + strings.Repeat("a", 5<<20) + `"}}`} {
		f(in, false)
	}
}

func TestBinaryFault(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := BinaryFault([]byte(in)); got != want {
			t.Errorf("BinaryFault(%q) = %q; want %q", in, got, want)
		}
		out, ok := AppendDecoded([]byte("<"), []byte(in))
		if ok != (want == "") || !ok && string(out) != "<" {
			t.Errorf("AppendDecoded(%q) = %q, %v", in, out, ok)
		}
	}
	f("", "")
	f("AAE=", "")
	f("+/+/", "")
	f("23456", "Base64 encoded length is expected a multiple of 4 bytes but found: 5")
	f("=+/=", "Invalid last non-pad Base64 character dectected")
	f("+/+=", "Invalid last non-pad Base64 character dectected")
	f("AB==", "Invalid last non-pad Base64 character dectected")
	f("AA!A", "Invalid Base64 character: '!'")
	f("AA-A", "Invalid Base64 character: '-'")
	f("=AAA", "Invalid Base64 character: '='")
	f("A===", "Invalid Base64 character: '='")
	f("====", "Invalid Base64 character: '='")
	f("éAA", "Invalid Base64 character: 'é'")
}
