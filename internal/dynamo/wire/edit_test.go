package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestWithoutMember(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := WithoutMember([]byte("<"), []byte(in), "a")
		if !ok || string(got) != "<"+want {
			t.Errorf("WithoutMember(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f(`{}`, `{}`)
	f(` {"b":1} `, ` {"b":1} `)
	f(`{"a":1}`, `{}`)
	f(` { "a" : 1 } `, ` {  } `)
	f(`{"a":1,"b":2}`, `{"b":2}`)
	f(`{ "a":1 , "b":2 }`, `{  "b":2 }`)
	f(`{"b":2,"a":1}`, `{"b":2}`)
	f(`{"b":2 , "a":{"a":[]} }`, `{"b":2  }`)
	f(`{"b":2, "\u0061":1 ,"c":3}`, `{"b":2 ,"c":3}`)
	f(`{"b":{"a":1},"a":",","c":","}`, `{"b":{"a":1},"c":","}`)
	for _, in := range []string{`[]`, ``, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":1`} {
		if got, ok := WithoutMember([]byte("<"), []byte(in), "a"); ok || string(got) != "<" {
			t.Errorf("WithoutMember(%s) = %s, %v", in, got, ok)
		}
	}
}

func TestSetMember(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := SetMember([]byte("<"), []byte(in), "a", []byte("true"))
		if !ok || string(got) != "<"+want {
			t.Errorf("SetMember(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f(`{}`, `{"a":true}`)
	f(` { } `, ` {"a":true } `)
	f(`{"a":false}`, `{"a":true}`)
	f(`{ "a" : {"a":0} , "b":1 }`, `{ "a" : true , "b":1 }`)
	f(`{"b":{"a":1} }`, `{"b":{"a":1},"a":true }`)
	f(`{"b":1,"\u0061":null}`, `{"b":1,"\u0061":true}`)
	for _, in := range []string{`[]`, ``, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":1`} {
		if got, ok := SetMember([]byte("<"), []byte(in), "a", []byte("1")); ok || string(got) != "<" {
			t.Errorf("SetMember(%s) = %s, %v", in, got, ok)
		}
	}
}

func TestHalveCapacity(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := HalveCapacity([]byte("<"), []byte(in))
		if !ok || string(got) != "<"+want {
			t.Errorf("HalveCapacity(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f(`{}`, `{}`)
	f(` {"Item":{"CapacityUnits":{"N":"2"}}} `, ` {"Item":{"CapacityUnits":{"N":"2"}}} `)
	f(`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0},"Item":{}}`, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5},"Item":{}}`)
	f(`{"ConsumedCapacity": {"CapacityUnits" : 2 , "Table":{"CapacityUnits":13.0}, "WriteCapacityUnits":4.0,"ReadCapacityUnits":3}}`,
		`{"ConsumedCapacity": {"CapacityUnits" : 1.0 , "Table":{"CapacityUnits":6.5}, "WriteCapacityUnits":4.0,"ReadCapacityUnits":1.5}}`)
	f(`{"ConsumedCapacity":[{"CapacityUnits":1.0},{"GlobalSecondaryIndexes":{"CapacityUnits":{"CapacityUnits":4.0}}}]}`,
		`{"ConsumedCapacity":[{"CapacityUnits":0.5},{"GlobalSecondaryIndexes":{"CapacityUnits":{"CapacityUnits":2.0}}}]}`)
	f(`{"ConsumedCapacity":null}`, `{"ConsumedCapacity":null}`)
	f(`{"ConsumedCapacity":{"CapacityUnits":null}}`, `{"ConsumedCapacity":{"CapacityUnits":null}}`)
	for _, in := range []string{`[]`, `{"ConsumedCapacity":{"CapacityUnits":"1"}}`, `{"ConsumedCapacity":{"CapacityUnits":1e999}}`,
		`{"ConsumedCapacity":{},"ConsumedCapacity":{}}`, `{"ConsumedCapacity":{}`} {
		if got, ok := HalveCapacity([]byte("<"), []byte(in)); ok || string(got) != "<" {
			t.Errorf("HalveCapacity(%s) = %s, %v", in, got, ok)
		}
	}
}

func TestAppendUnits(t *testing.T) {
	for units, want := range map[float64]string{0: "0.0", 0.5: "0.5", 1: "1.0", 2.5: "2.5", 40000: "40000.0", 12345678: "12345678.0"} {
		if got := AppendUnits(nil, units); string(got) != want {
			t.Errorf("AppendUnits(%v) = %s", units, got)
		}
	}
}

// FuzzEdit compares the edits with the same ones on a decoded object.
func FuzzEdit(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !Valid(b, MaxDepth) {
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		check := func(got []byte) {
			t.Helper()
			var m map[string]json.RawMessage
			if err := json.Unmarshal(got, &m); err != nil || !reflect.DeepEqual(m, want) {
				t.Fatalf("%s was changed to %s: %v", b, got, err)
			}
		}
		if got, ok := SetMember(nil, b, "a", []byte("7")); ok {
			want["a"] = json.RawMessage("7")
			check(got)
		}
		if got, ok := WithoutMember(nil, b, "a"); ok {
			delete(want, "a")
			check(got)
		}
	})
}
