package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var got []string
		for m := MembersOf([]byte(text)); m.Next(); {
			var scratch []byte
			got = append(got, fmt.Sprintf("%s=%s(%s)", m.name, m.Value, m.Text(&scratch)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s; want %s", text, strings.Join(got, " "), want)
		}
	}
	f(`{}`, ``)
	f(` { } `, ``)
	f(`{"a":1,"b":[1,{"c":"]}"}],"d":{"e":[]},"f":null , "g" : "x\"y" }`, `"a"=1() "b"=[1,{"c":"]}"}]() "d"={"e":[]}() "f"=null() "g"="x\"y"(x"y)`)
	f(`{"a":"\b\f\n\r\t\/\\\u00e9\ud83d\ude00\udc00x"}`, `"a"="\b\f\n\r\t\/\\\u00e9\ud83d\ude00\udc00x"(`+"\b\f\n\r\t/\\é😀\uFFFDx)")
}

func TestIs(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		m := MembersOf([]byte(text))
		if m.Next(); m.Is("rev") != want {
			t.Errorf("%s: got %t, want %t", text, !want, want)
		}
	}
	f(`{"rev":1}`, true)
	f(`{"r\u0065v":1}`, true)
	f(`{"\u0072\u0065\u0076":1}`, true)
	f(`{"Rev":1}`, false)
	f(`{"re":1}`, false)
	f(`{"revs":1}`, false)
}

func TestElements(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var got []string
		for e := ElementsOf([]byte(text)); e.Next(); {
			got = append(got, string(e.Value))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: got %s; want %s", text, strings.Join(got, "|"), want)
		}
	}
	f(`[]`, ``)
	f(` [ 1 , "a,b" ,[2, 3],{"a":[4]} , -1.5e3 ] `, `1|"a,b"|[2, 3]|{"a":[4]}|-1.5e3`)
}

// FuzzElements compares arrays, with everything that is in them, with encoding/json.
func FuzzElements(f *testing.F) {
	f.Add([]byte(`[1,"\\",{"a":[[]]} ,[{"b":"]"}], true]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || want == nil {
			return
		}
		e := ElementsOf(text)
		for i := range want {
			if !e.Next() || string(e.Value) != string(want[i]) {
				t.Fatalf("%q: element %d is %q; want %q", text, i, e.Value, want[i])
			}
		}
		if e.Next() {
			t.Fatalf("%q: got %q after the last element", text, e.Value)
		}
	})
}
