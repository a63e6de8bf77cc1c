package value

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func TestTypes(t *testing.T) {
	names := map[Type]string{String: "S", Number: "N", Binary: "B", Bool: "BOOL", Null: "NULL", StringSet: "SS", NumberSet: "NS", BinarySet: "BS",
		List: "L", Map: "M", 0: "", Map + 1: ""}
	elements := map[Type]Type{StringSet: String, NumberSet: Number, BinarySet: Binary}
	for typ, name := range names {
		if typ.String() != name || name != "" && typeOf([]byte(name)) != typ || typ.Element() != elements[typ] {
			t.Errorf("type %d: got %s, element %s; want %s, element %s", typ, typ, typ.Element(), name, elements[typ])
		}
	}
}

func TestGet(t *testing.T) {
	v := mustParse(t, `{"M":{"a":{"S":"x"},"b":{"S":"y"}}}`)
	if got := v.Get("b"); got == nil || string(got.Text) != "y" {
		t.Errorf("got b = %v", got)
	}
	var none *Value
	if v.Get("c") != nil || v.Get("a").Get("a") != nil || none.Get("a") != nil {
		t.Error("a missing member was found")
	}
}

func mustParse(t *testing.T, in string) Value {
	t.Helper()
	v, err := Parse([]byte(in))
	if err != nil {
		t.Fatalf("Parse(%s): %v", in, err)
	}
	return v
}

// TestAnyItem writes an item, parses it in each way, and compares its size.
func TestAnyItem(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := anyMap(r, 4)
		text := want.AppendItem(nil)
		if !wire.Valid(text, wire.MaxDepth) {
			r.Fatalf("the item isn't JSON: %s", text)
		}
		read, err := ParseItem(text)
		if err != nil || !read.Equal(&want) || string(read.AppendItem(nil)) != string(text) {
			r.Fatalf("ParseItem(%s) = %s, %v", text, read.AppendItem(nil), err)
		}
		stored, err := Stored(text)
		if err != nil || !stored.Equal(&want) || string(stored.AppendItem(nil)) != string(text) {
			r.Fatalf("Stored(%s) = %s, %v", text, stored.AppendItem(nil), err)
		}
		if size, ok := wire.ItemSize(text); !ok || want.ItemSize() != size {
			r.Fatalf("%s: got the size %d; as text %d, %v", text, want.ItemSize(), size, ok)
		}
	})
}

func TestSize(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		v := mustParse(t, in)
		if got := v.Size(); got != want {
			t.Errorf("size of %s = %d; want %d", in, got, want)
		}
	}
	f(`{"S":"é"}`, 2)
	f(`{"S":""}`, 0)
	f(`{"N":"-42"}`, 3)
	f(`{"N":"1E125"}`, 2)
	f(`{"N":"0.0000001"}`, 2)
	f(`{"B":"AAE="}`, 2)
	f(`{"BOOL":true}`, 1)
	f(`{"NULL":true}`, 1)
	f(`{"SS":["a","bc"]}`, 3)
	f(`{"NS":["1","123"]}`, 5)
	f(`{"BS":["AAE=","AA=="]}`, 3)
	f(`{"L":[]}`, 3)
	f(`{"L":[{"S":"a"},{"N":"1"}]}`, 3+(1+1)+(1+2))
	f(`{"M":{}}`, 3)
	f(`{"M":{"ab":{"S":"c"},"d":{"L":[]}}}`, 3+(1+2+1)+(1+1+3))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"S":"x"}`, `{"N":"-1.50e3"}`, `{"B":"AAE="}`, `{"BOOL":"yes"}`, `{"NULL":true}`, `{"SS":["a","a"]}`, `{"NS":["1",null]}`,
		`{"BS":["+\/+\/"]}`, `{"L":[{"S":"\ud83d"},{}]}`, `{"M":{"\u0061":{"S":"x"},"a":{"X":[{}],"L":[]}}}`, `{"S":"x","N":1}`, "{\"S\":\"\xff\"}", ` { "M" : { } } `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		Stored(in)
		ParseItem(in)
		v, err := Parse(in)
		if err != nil {
			wantKind(t, err)
			return
		}
		text := v.Append(nil)
		if !wire.Valid(text, wire.MaxDepth) {
			t.Fatalf("%q was parsed to invalid JSON: %q", in, text)
		}
		again, err := Parse(text)
		if err != nil || !again.Equal(&v) || string(again.Append(nil)) != string(text) {
			t.Fatalf("%q was parsed to %q, %v", text, again.Append(nil), err)
		}
		item := append(append([]byte(`{"a":`), text...), '}')
		stored, err := Stored(item)
		if err != nil || !stored.Get("a").Equal(&v) {
			t.Fatalf("%q is stored as %q, %v", item, stored.AppendItem(nil), err)
		}
	})
}

func wantKind(t *testing.T, err error) {
	if fault, ok := err.(*wire.Error); !ok || fault.Type != "ValidationException" && fault.Type != "SerializationException" {
		t.Fatalf("got error %v", err)
	}
}
