package key

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// schema returns the schema of a table with the given types of key attributes: "S", "SN".
func schema(types string) *Schema {
	s := &Schema{Hash: Attribute{"pk", types[0]}}
	if len(types) > 1 {
		s.Range = Attribute{"sk", types[1]}
	}
	return s
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBothWays(t *testing.T) {
	for _, c := range []struct{ types, bytes, json string }{
		{"S", "616c696365", `"pk":{"S":"alice"}`},
		{"S", "c3a922", `"pk":{"S":"é\""}`},
		{"B", "dead", `"pk":{"B":"3q0="}`},
		{"N", "187b", `"pk":{"N":"123"}`},
		{"SN", "6161 3ed77fe0", `"pk":{"S":"a"},"sk":{"N":"-1.5"}`},
		{"SS", "6161 7332", `"pk":{"S":"a"},"sk":{"S":"s2"}`},
		{"BB", "420102 ff00", `"pk":{"B":"AQI="},"sk":{"B":"/wA="}`},
		{"NS", "c4822119013a 78", `"pk":{"N":"3.14"},"sk":{"S":"x"}`},
		{"NN", "07 80", `"pk":{"N":"7"},"sk":{"N":"0"}`},
	} {
		s, key := schema(c.types), unhex(t, c.bytes)
		got, err := s.AppendJSON(nil, key)
		if err != nil || string(got) != c.json {
			t.Errorf("%s %s: got %s, %v, want %s", c.types, c.bytes, got, err, c.json)
		}
		back, err := s.AppendKey(nil, []byte(`{"other":{"S":"x"},`+c.json+`}`))
		if err != nil || !bytes.Equal(back, key) {
			t.Errorf("%s: got %x, %v, want %s", c.json, back, err, c.bytes)
		}
	}
}

// TestRecorded converts keys that clients have written, in all their forms. Each line has the
// types of the table's key, the bytes and the key.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		s, key := schema(f[0]), unhex(t, f[1])
		want, wantLen := canonical(f[0], []byte(f[2]))
		got, gotLen, err := s.AppendCanonical(nil, key)
		if err != nil || !bytes.Equal(got, want) || gotLen != wantLen {
			t.Errorf("%s: got %q, %d, %v, want %q, %d", line, got, gotLen, err, want, wantLen)
			continue
		}
		members, err := s.AppendJSON([]byte("{"), key)
		if got, gotLen := canonical(f[0], append(members, '}')); err != nil || !bytes.Equal(got, want) || gotLen != wantLen {
			t.Errorf("%s: got %s, %v", line, members, err)
		}
		own, err := s.AppendKey(nil, []byte(f[2]))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got, gotLen, err := s.AppendCanonical(nil, own); err != nil || !bytes.Equal(got, want) || gotLen != wantLen {
			t.Errorf("%s: %x was converted to %q, %v", line, own, got, err)
		}
	}
	if n != 25 {
		t.Errorf("only %d keys were recorded", n)
	}
}

// canonical returns a key in JSON in the format of a request in DynamoDB's protocol.
func canonical(types string, object []byte) (out []byte, hashLen int) {
	for i, name := range []string{"pk", "sk"}[:len(types)] {
		for it := wire.Object(object); it.Next(); {
			if wire.NameIs(it.Name(), name) {
				out, _ = wire.AppendScalar(out, it.Value(), types[i])
			}
		}
		if i == 0 {
			hashLen = len(out)
		}
	}
	return out, hashLen
}

func TestOtherForms(t *testing.T) {
	for _, c := range []struct{ types, bytes, json string }{
		{"NS", "fb40091eb851eb851f 78", `"pk":{"N":"3.14"},"sk":{"S":"x"}`},
		{"SN", "6161 c11c0010", `"pk":{"S":"a"},"sk":{"N":"1"}`},
		{"SN", "6161 c11c0000", `"pk":{"S":"a"},"sk":{"N":"1"}`},
	} {
		if got, err := schema(c.types).AppendJSON(nil, unhex(t, c.bytes)); err != nil || string(got) != c.json {
			t.Errorf("%s: got %s, %v, want %s", c.bytes, got, err, c.json)
		}
	}
}

func TestRefused(t *testing.T) {
	const mismatch = "the key does not fit the table's schema (%v): %s; restart a client that has known the table with another key"
	for _, c := range []struct{ types, bytes, want string }{
		{"S", "ff", "pk: a text is not UTF-8"},
		{"N", "616c", "pk: a text where a number is expected"},
		{"N", "0000", "pk: 1 bytes behind the end"},
		{"N", "", "pk: the end where a number is expected"},
		{"SN", "4161 80", "pk: a byte string where a text is expected"},
		{"SN", "6161 00", "sk: a number is not one"},
		{"SS", "6561", "pk: the message ends within a string"},
		{"SS", "6161 ff", "sk: a text is not UTF-8"},
		{"BS", "6161 61", "pk: a text where a byte string is expected"},
	} {
		s, key := schema(c.types), unhex(t, c.bytes)
		if got, err := s.AppendJSON(nil, key); err == nil || err.Error() != fmt.Sprintf(mismatch, s, c.want) {
			t.Errorf("%s %s: got %s, %v, want %s", c.types, c.bytes, got, err, c.want)
		}
		if got, _, err := s.AppendCanonical(nil, key); err == nil {
			t.Errorf("%s %s: got the canonical key %x, want none", c.types, c.bytes, got)
		}
	}
	for _, item := range []string{`{}`, `{"pk":{"N":"1"}}`, `{"pk":{"S":"a"}}`, `{"pk":{"S":"a"},"sk":{"S":"b"}}`, `{"pk":1,"sk":{"N":"1"}}`} {
		if got, err := schema("SN").AppendKey(nil, []byte(item)); err == nil {
			t.Errorf("%s was accepted as %x", item, got)
		}
	}
}

// Valid keys that no item can have aren't looked up in the cache.
func TestNotCanonical(t *testing.T) {
	for _, c := range []struct{ types, bytes string }{
		{"S", ""}, {"B", ""}, {"SS", "60 61"}, {"SS", "6161"}, {"S", strings.Repeat("61", 2049)}, {"N", "c482187e01"},
	} {
		if got, _, err := schema(c.types).AppendCanonical(nil, unhex(t, c.bytes)); err == nil {
			t.Errorf("%s %s: got %x", c.types, c.bytes, got)
		}
	}
}

// parts generates values of key attributes in JSON.
func parts(typ byte) *rapid.Generator[string] {
	switch typ {
	case 'S':
		return rapid.Map(rapid.StringN(1, 40, 100), func(s string) string { return string(wire.AppendQuoted(nil, []byte(s))) })
	case 'B':
		return rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), func(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` })
	}
	return rapid.Map(rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?`), func(s string) string { return `"` + s + `"` })
}

func drawType(t *rapid.T, name string) byte {
	return rapid.SampledFrom([]byte("SNB")).Draw(t, name)
}

// TestRoundTrip converts keys to key bytes and back, and compares the result and the
// canonical key with those of the JSON.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := string(drawType(t, "hash"))
		if rapid.Bool().Draw(t, "sorted") {
			types += string(drawType(t, "range"))
		}
		s := schema(types)
		var values []string
		for i := range types {
			values = append(values, fmt.Sprintf(`{"%c":%s}`, types[i], parts(types[i]).Draw(t, "value")))
		}
		object := `{"pk":` + values[0] + `}`
		if len(values) > 1 {
			object = `{"sk":` + values[1] + `,"pk":` + values[0] + `}`
		}
		key, err := s.AppendKey(nil, []byte(object))
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		ok, hashLen := true, 0
		for i, v := range values {
			if want, ok = wire.AppendScalar(want, []byte(v), types[i]); !ok {
				break
			}
			if i == 0 {
				hashLen = len(want)
			}
		}
		got, n, err := s.AppendCanonical([]byte("x"), key)
		if ok != (err == nil) || ok && (string(got) != "x"+string(want) || n != hashLen) {
			t.Fatalf("%s: %x, %d, %v; from JSON %x, %d, %v", object, got, n, err, want, hashLen, ok)
		}
		members, err := s.AppendJSON(nil, key)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.AppendKey(nil, []byte("{"+string(members)+"}"))
		if err != nil {
			t.Fatal(err)
		}
		if back, m, err2 := s.AppendCanonical([]byte("x"), again); (err2 == nil) != ok || ok && (!bytes.Equal(back, got) || m != n) {
			t.Fatalf("%s was converted back to %s", object, members)
		}
	})
}

func TestStartKeys(t *testing.T) {
	const json = `{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"B":"AQ=="}}`
	b, err := AppendStart(nil, []byte(json))
	if want := "bf62706b616162736b0261674101ff"; err != nil || hex.EncodeToString(b) != want {
		t.Fatalf("got %x, %v, want %s", b, err, want)
	}
	for _, in := range []string{hex.EncodeToString(b), "a3 62706b6161 62736b02 61674101"} {
		if got, err := AppendStartJSON(nil, unhex(t, in)); err != nil || string(got) != json {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	tooMany := "b1"
	for i := range 17 {
		tooMany += fmt.Sprintf("61%x 01", 'a'+i)
	}
	for _, in := range []string{"", "a0ff", "61", "a10101", "bf6161", "8180", "bf 6161 01 6161 02 ff", tooMany} {
		if got, err := AppendStartJSON(nil, unhex(t, in)); err == nil {
			t.Errorf("%s was accepted as %s", in, got)
		}
	}
}

func TestReply(t *testing.T) {
	if got := schema("SN").String() + "; " + schema("B").String(); got != "pk S, sk N; pk B" {
		t.Errorf("got %v", got)
	}
	if got := hex.EncodeToString(schema("SN").AppendReply(nil)); got != "a262706b615362736b614e" {
		t.Errorf("got %v", got)
	}
	if got := hex.EncodeToString(schema("B").AppendReply(nil)); got != "a162706b6142" {
		t.Errorf("got %v", got)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	dst := make([]byte, 0, 200)
	for _, c := range []struct{ types, bytes string }{{"S", "616c"}, {"NN", "0780"}, {"SN", "61613ed77fe0"}, {"NB", "1818ff"}, {"NS", "fb40091eb851eb851f78"}} {
		s, key := schema(c.types), unhex(t, c.bytes)
		if n := testing.AllocsPerRun(100, func() {
			if _, _, err := s.AppendCanonical(dst[:0], key); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want none", c.types, n)
		}
	}
}

func FuzzKey(f *testing.F) {
	for i, s := range []string{"616c", "187b", "61613ed77fe0", "420102ff00", "c4822119013a78"} {
		f.Add(unhex(f, s), uint8(i))
	}
	kinds := []string{"S", "N", "SN", "BB", "NS", "B", "SS", "NN", "NB"}
	f.Fuzz(func(t *testing.T, key []byte, kind uint8) {
		s := schema(kinds[int(kind)%len(kinds)])
		members, err := s.AppendJSON(nil, key)
		if _, _, e := s.AppendCanonical(nil, key); e == nil && err != nil {
			t.Fatalf("%x has a canonical form, but can't be converted: %v", key, err)
		}
		if err == nil && !wire.Valid([]byte("{"+string(members)+"}"), 3) {
			t.Fatalf("%x was converted to %s", key, members)
		}
	})
}

func FuzzStart(f *testing.F) {
	f.Add(unhex(f, "bf62706b616162736b0261674101ff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := AppendStartJSON(nil, b); err == nil && !wire.Valid(got, 130) {
			t.Fatalf("%x was converted to %s", b, got)
		}
	})
}
