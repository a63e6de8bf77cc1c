package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// samples seed the fuzz targets of this package.
var samples = []string{
	``, ` `, `{}`, `[]`, `""`, `0`, `-0`, `01`, `1.`, `.5`, `1e`, `1e+5`, `-`, `+1`, `true`, `tru`, `null`, `nul`, `nulll`,
	`{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `{"a":1}x`, ` {"a" : [ 1 , { } ] } `,
	`"a\nb"`, `"a\qb"`, `"\u00e9"`, `"\u00g9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, "\"\xff\"", "\"a\x01b\"", `"`, `"\"`, `"\\"`,
	"\"0123456789abcdef\xf0\x9f\x98\x80 \\/ tail\"", "\"x\x80yyyyyyyy\\n\"",
	`{"Table\u004eame":"t","TableName":"u"}`,
	`{"TableName":"users","Key":{"id":{"S":"u-1001"},"at":{"N":"1e3"}},"ConsistentRead":false}`,
	`{"a":{"L":[{"S":"x"},{"M":{"b":{"NS":["1","2.50"]},"c":{"B":"AAE="}}},{"NULL":true},{"BOOL":false}]}}`,
	`{"b":1,"a":{"z":2,"y":[{"d":1,"c":2}]},"\u0061a":3}`, `{"a":1,"\u0061":2}`, `{"N":"x"}`, `{"N":"0012.50"}`,
	strings.Repeat("[", 120) + strings.Repeat("]", 120),
	strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60),
}

func TestValid(t *testing.T) {
	for _, s := range samples {
		if got, want := Valid([]byte(s), 1000), json.Valid([]byte(s)); got != want {
			t.Errorf("Valid(%q) = %v; want %v", s, got, want)
		}
	}
}

func TestValidDepth(t *testing.T) {
	f := func(text string, depth int) {
		t.Helper()
		if !Valid([]byte(text), depth) {
			t.Errorf("Valid(%s, %d) = false", text, depth)
		}
		if Valid([]byte(text), depth-1) {
			t.Errorf("Valid(%s, %d) = true", text, depth-1)
		}
	}
	f(`[]`, 1)
	f(`{}`, 1)
	f(`[[],{"a":[0]}]`, 3)
	f(strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth), MaxDepth)
	if !Valid([]byte(`1`), 0) {
		t.Error("a scalar counts as nested")
	}
	if Valid([]byte(strings.Repeat("[", 10<<20)), MaxDepth) {
		t.Error("an unterminated text is valid")
	}
}

// TestTooDeep compares TooDeep with encoding/json's decoder, which accepts 10,000 levels.
func TestTooDeep(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := TooDeep([]byte(text)); got != want {
			t.Errorf("TooDeep(%.40s...) = %v; want %v", text, got, want)
		}
	}
	nest := func(open, inner, closing string, levels int) string {
		return strings.Repeat(open, levels) + inner + strings.Repeat(closing, levels)
	}
	f(`{"a":1}`, false)
	f(nest(`{"a":`, "1", "}", MaxDepth), false)
	f(nest(`{"a":`, "1", "}", MaxDepth+1), true)
	f(nest("[", "", "]", MaxDepth+1), false) // not an object
	f(nest(`{"a":[`, "", "]}", 1<<20), true)
	f(strings.Repeat(`{"a":`, 1<<20), false)
	deep := nest(`{"a":[`, "%", "]}", MaxDepth)
	for _, s := range samples {
		text := strings.Replace(deep, "%", s, 1)
		f(text, json.Valid([]byte(text)))
	}
	// Anything inserted into a deep document, or removed from it.
	sound := nest(` {"b" : 2, "a": [ "x", {} , [] ,`, "-1.5e3", ` ] } `, MaxDepth)
	for i := range 200 {
		for _, s := range []string{"", ",", ":", "]", "}", "[", "{", `"`, "1", " ", `"a"`, `"a":`, "null,", ",true"} {
			text := sound[:i] + s + sound[i:]
			f(text, json.Valid([]byte(text)))
			text = sound[:len(sound)-i] + s + sound[len(sound)-i:]
			f(text, json.Valid([]byte(text)))
			if s == "" && i > 0 {
				text = sound[:i-1] + sound[i:]
				f(text, json.Valid([]byte(text)))
				text = sound[:len(sound)-i] + sound[len(sound)-i+1:]
				f(text, json.Valid([]byte(text)))
			}
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Valid(b, 10000), json.Valid(b); got != want {
			t.Fatalf("Valid(%q) = %v; want %v", b, got, want)
		}
		outer := strings.Repeat(`{"a":`, MaxDepth+1)
		deep := []byte(outer + string(b) + strings.Repeat("}", MaxDepth+1))
		if got, want := TooDeep(deep), json.Valid(deep); got != want {
			t.Fatalf("TooDeep around %q = %v; want %v", b, got, want)
		}
		// Whatever the text is, nothing may panic on it.
		for it := Object(b); it.Next(); {
			Attribute(it.Value())
		}
		for it := Array(b); it.Next(); {
			Kind(it.Value())
		}
		ItemSize(b)
		ReadsBackAs(b)
		AppendCanonical(nil, b)
		AppendScalar(nil, b, 'S')
		HalveCapacity(nil, b)
		WithoutMember(nil, b, "a")
		SetMember(nil, b, "a", b)
		ErrorType(b)
	})
}
