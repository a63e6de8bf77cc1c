package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestAppendCanonical(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := AppendCanonical([]byte("<"), []byte(in))
		if !ok || string(got) != "<"+want {
			t.Errorf("AppendCanonical(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f(` { } `[1:4], `{}`)
	f(`[ 1 , true , null , "\u0061\n\/é\u00e9" ]`, `[1,true,null,"a\n/éé"]`)
	f(`{"b":1,"a":2}`, `{"a":2,"b":1}`)
	f(`{"c":{"z":[{"d":1,"c":2}],"y":0},"\u0062":"x","a" : [ ]}`, `{"a":[],"b":"x","c":{"y":0,"z":[{"c":2,"d":1}]}}`)
	f(`{"N":"1e3"}`, `{"N":"1000"}`)
	f(`{"\u004e":"1.50"}`, `{"N":"1.5"}`)
	f(`{"NS":["1.0","-0"]}`, `{"NS":["1","0"]}`)
	f(`{"N":{"N":"01"}}`, `{"N":{"N":"1"}}`)
	f(`{"id":{"S":"x"},"at":{"N":"007"}}`, `{"at":{"N":"7"},"id":{"S":"x"}}`)
	f(`"\u001f\u0022\u005c\ud83d\ude00"`, `"\u001f\"\\😀"`)
}

func TestAppendCanonicalItem(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := AppendCanonicalItem([]byte("<"), []byte(in))
		if !ok || string(got) != "<"+want {
			t.Errorf("AppendCanonicalItem(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f(`{"a":{"SS":["b","\u0061","c\/"]}}`, `{"a":{"SS":["a","b","c/"]}}`)
	f(`{"a":{"SS":["a"]},"b":{"SS":[ ]}}`, `{"a":{"SS":["a"]},"b":{"SS":[]}}`)
	f(`{"a":{"NS":["10","9.0","-1e1"]}}`, `{"a":{"NS":["-10","10","9"]}}`)
	f(`{"a":{"BS":["AAE=","AA=="]}}`, `{"a":{"BS":["AA==","AAE="]}}`)
	f(`{"a":{"L":[{"S":"b"},{"S":"a"}]}}`, `{"a":{"L":[{"S":"b"},{"S":"a"}]}}`)
	f(`{"SS":{"L":[{"M":{"SS":{"SS":["b","a"]},"L":{"N":"1.0"}}}]},"A":{"SS":["d","c"]}}`, `{"A":{"SS":["c","d"]},"SS":{"L":[{"M":{"L":{"N":"1"},"SS":{"SS":["a","b"]}}}]}}`)
	for _, in := range []string{`{"a":{"SS":["a","\u0061"]}}`, `{"a":{"NS":["1","1.0"]}}`, `{"a":{"NS":["x"]}}`, `{"a":{"SS":["a"}}`, `{"a":{"SS":["\ud800"]}}`, `{"a":1,"a":1}`} {
		if got, ok := AppendCanonicalItem([]byte("<"), []byte(in)); ok || string(got) != "<" {
			t.Errorf("AppendCanonicalItem(%s) = %s, %v", in, got, ok)
		}
	}
	// AppendCanonical keeps the order of a set.
	if got, ok := AppendCanonical(nil, []byte(`{"a":{"SS":["b","a"]}}`)); !ok || string(got) != `{"a":{"SS":["b","a"]}}` {
		t.Errorf("AppendCanonical = %s, %v", got, ok)
	}
}

func TestAppendCanonicalRefuses(t *testing.T) {
	for _, in := range []string{`{"a":1,"a":1}`, `{"a":1,"b":2,"\u0061":1}`, `{"x":[{"b":0,"a":1,"b":1}]}`, `{"N":"x"}`, `{"NS":["1",2]}`, `{"NS":["x"]}`,
		`"\ud83d"`, "\"\xff\"", "\"\\n\xff\"", `{"\ud83d":1}`, `{"a":"\udc00"}`, ``, `{"a":1`, `x`,
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)} {
		if got, ok := AppendCanonical([]byte("<"), []byte(in)); ok || string(got) != "<" {
			t.Errorf("AppendCanonical(%s) = %s, %v", in, got, ok)
		}
	}
}

// TestCanonicalAfterRefusal checks that a rejected value leaves no state in the pooled
// scratch.
func TestCanonicalAfterRefusal(t *testing.T) {
	for range 100 {
		AppendCanonical(nil, []byte(`{"b":{"z":1,"y":{"N":"bad"}},"a":1}`))
		if got, ok := AppendCanonical(nil, []byte(`{"b":1,"a":2}`)); !ok || string(got) != `{"a":2,"b":1}` {
			t.Fatalf("AppendCanonical = %s, %v", got, ok)
		}
	}
}

// decode decodes text with encoding/json, and makes DynamoDB's numbers canonical.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return normalNumbers(v)
}

func normalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if s, ok := x.(string); ok && k == "N" {
				n, _ := AppendNumber(nil, []byte(s))
				v[k] = string(n)
				continue
			}
			if l, ok := x.([]any); ok && k == "NS" {
				for i := range l {
					s, _ := l[i].(string)
					n, _ := AppendNumber(nil, []byte(s))
					l[i] = string(n)
				}
				continue
			}
			v[k] = normalNumbers(x)
		}
	case []any:
		for i := range v {
			v[i] = normalNumbers(v[i])
		}
	}
	return v
}

func FuzzAppendCanonical(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !Valid(b, MaxDepth) {
			return
		}
		b = bytes.TrimSpace(b)
		got, ok := AppendCanonical(nil, b)
		if !ok {
			return
		}
		if want := decode(t, b); !reflect.DeepEqual(decode(t, got), want) {
			t.Fatalf("AppendCanonical(%s) = %s", b, got)
		}
		again, ok := AppendCanonical(nil, got)
		if !ok || !bytes.Equal(again, got) {
			t.Fatalf("AppendCanonical(%s) = %s, %v", got, again, ok)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, b, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		spaced, ok := AppendCanonical(nil, bytes.TrimSpace(indented.Bytes()))
		if !ok || !bytes.Equal(spaced, got) {
			t.Fatalf("white space changes %s to %s", got, spaced)
		}
	})
}
