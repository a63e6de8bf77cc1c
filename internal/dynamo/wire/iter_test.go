package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestObject(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var got []string
		it := Object([]byte(text))
		for it.Next() {
			got = append(got, fmt.Sprintf("%s=%s@%d-%d", it.Name(), it.Value(), it.Start(), it.End()))
		}
		if it.Err() {
			got = append(got, "error")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Object(%q): got %s; want %s", text, s, want)
		}
	}
	f(`{}`, "")
	f(` { } `, "")
	f(`{"a":1}`, "a=1@5-6")
	f(` {"a" : {"x":"}"} , "b\n":[ "]" ],"":-1.5e3 } `, `a={"x":"}"}@8-17 b\n=[ "]" ]@26-33 =-1.5e3@37-43`)
	f(`{"a":"\"\\"}`, `a="\"\\"@5-11`)
	f(`{"a":1`, "a=1@5-6 error")
	f(`{"a":1]`, "a=1@5-6 error")
	f(`{"a":`, "error")
	f(`{"a":}`, "error")
	f(`{"a" 1}`, "error")
	f(`{1:2}`, "error")
	f(`[1]`, "error")
	f(``, "error")
	f(`{`, "error")
	f(`{"a":[1`, "error")
}

func TestArray(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var got []string
		it := Array([]byte(text))
		for it.Next() {
			got = append(got, string(it.Name())+string(it.Value()))
		}
		if it.Err() {
			got = append(got, "error")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Array(%q): got %s; want %s", text, s, want)
		}
	}
	f(`[]`, "")
	f(`[1, "2" ,{"a":[]},[ ]]`, `1 "2" {"a":[]} [ ]`)
	f(`{}`, "error")
	f(`[1`, "1 error")
	f(`[1}`, "1 error")
}

func TestNameIs(t *testing.T) {
	f := func(raw, name string, want bool) {
		t.Helper()
		if got := NameIs([]byte(raw), name); got != want {
			t.Errorf("NameIs(%q, %q) = %v", raw, name, got)
		}
	}
	f("TableName", "TableName", true)
	f("TableName", "tableName", false)
	f("TableNam", "TableName", false)
	f("TableNames", "TableName", false)
	f(`Table\u004eame`, "TableName", true)
	f(`Table\u004Eame`, "TableName", true)
	f(`\u0054\u0061bleName`, "TableName", true)
	f(`Table\u004eames`, "TableName", false)
	f(`Table\u004eam`, "TableName", false)
	f(`a\nb`, `a\nb`, false)
	f(`a\nb`, "a\nb", true)
	f(`\u00e9`, "é", true)
	f(`\ud83d\ude00`, "😀", true)
	f(`\ud83d`, "\ufffd", false)
	f(``, "", true)
}

func TestCollect(t *testing.T) {
	names := []string{"TableName", "Key", "Limit"}
	f := func(text, want string) {
		t.Helper()
		out := [][]byte{[]byte("old"), []byte("old"), []byte("old")}
		got := "refused"
		if Collect([]byte(text), names, out) {
			got = fmt.Sprintf("%s|%s|%s", out[0], out[1], out[2])
		}
		if got != want {
			t.Errorf("Collect(%s) = %s; want %s", text, got, want)
		}
	}
	f(`{}`, "||")
	f(`{"Key":{"a":{"S":"b"}},"X":1,"TableName":"t"}`, `"t"|{"a":{"S":"b"}}|`)
	f(`{"X":1,"X":2,"Limit":3}`, "||3")
	f(`{"Table\u004eame":"t"}`, `"t"||`)
	f(`{"TableName":null,"Limit":1}`, "||1")
	f(`{"TableName":"t","TableName":"t"}`, "refused")
	f(`{"TableName":"t","Table\u004eame":"u"}`, "refused")
	f(`{"Table\u004eame":"u","TableName":"t"}`, "refused")
	f(`{"TableName":null,"TableName":"t"}`, "refused")
	f(`{"TableName":"t","TableName":null}`, "refused")
	f(`{"TableName":null,"TableName":null}`, "refused")
	f(`[]`, "refused")
	f(`{"TableName":"t"`, "refused")
}

func TestLookup(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, ok := Lookup([]byte(text), "a")
		if ok != (want != "") || string(got) != want {
			t.Errorf("Lookup(%s) = %s, %v; want %q", text, got, ok, want)
		}
	}
	f(`{"b":1,"a": {"c":2} }`, `{"c":2}`)
	f(`{"\u0061":null}`, `null`)
	f(`{"b":1}`, ``)
	f(`{"a":1,"a":1}`, ``)
	f(`[]`, ``)
}

func TestKind(t *testing.T) {
	for in, want := range map[string]byte{`{}`: '{', `[`: '[', `"x"`: '"', `true`: 't', `false`: 'f', `null`: 'n',
		`-1`: '0', `0`: '0', `9.5`: '0', ``: 0, `x`: 0, `+1`: 0} {
		if got := Kind([]byte(in)); got != want {
			t.Errorf("Kind(%q) = %q; want %q", in, got, want)
		}
	}
}
