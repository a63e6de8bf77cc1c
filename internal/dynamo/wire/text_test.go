package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := AppendString([]byte("<"), []byte(in))
		if !ok || string(got) != "<"+want {
			t.Errorf("AppendString(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	f(`""`, "")
	f(`"plain"`, "plain")
	f(`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t")
	f(`"\u0041\u00e9\u20AC\ud83d\ude00"`, "Aé€😀")
	f(`"é€😀 longer than a word \n é"`, "é€😀 longer than a word \n é")
	f(`"\ud83d"`, "\ufffd")
	f(`"\ud83d\u0041"`, "\ufffdA")
	f(`"\ude00\ud83d\ude00"`, "\ufffd😀")
	f("\"a\xffb\"", "a\ufffdb")
}

func TestAppendStringRefuses(t *testing.T) {
	for _, in := range []string{``, `"`, `x`, `"a`, `a"`, `"a"b"`, `"\x"`, `"\u12"`, `"\u123"`, `"\u12g4"`, "\"a\nb\"", `"\"`} {
		if got, ok := AppendString([]byte("<"), []byte(in)); ok || string(got) != "<" {
			t.Errorf("AppendString(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestAppendExact(t *testing.T) {
	for in, want := range map[string]bool{`"a\u00e9é"`: true, `"\ud83d\ude00"`: true, `"\ud83d"`: false, "\"\xff\"": false,
		`"\q"`: false, "\"\xff\\n\"": false, `"\n` + "\xff" + `"`: false} {
		if got, ok := AppendExact(nil, []byte(in)); ok != want {
			t.Errorf("AppendExact(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]bool{`"abc"`: true, `"é"`: true, `""`: true, `"a\n"`: false, "\"\xff\"": false, `1`: false} {
		if got, ok := Plain([]byte(in)); ok != want || ok && string(got) != in[1:len(in)-1] {
			t.Errorf("Plain(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := AppendQuoted(nil, []byte(in)); string(got) != want {
			t.Errorf("AppendQuoted(%q) = %s; want %s", in, got, want)
		}
	}
	f("", `""`)
	f("a/b<é😀\x7f", "\"a/b<é😀\x7f\"")
	f("\"\\\b\f\n\r\t\x00\x1f", `"\"\\\b\f\n\r\t\u0000\u001f"`)
	f("a\xffb\n", "\"a\ufffdb\\n\"")
}

func FuzzAppendString(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || b[0] != '"' || b[len(b)-1] != '"' {
			return
		}
		var want string
		err := json.Unmarshal(b, &want)
		got, ok := AppendString(nil, b)
		if ok != (err == nil) || ok && string(got) != want {
			t.Fatalf("AppendString(%q) = %q, %v; want %q, %v", b, got, ok, want, err)
		}
		if !ok {
			return
		}
		exactly, isExact := AppendExact(nil, b)
		if isExact && string(exactly) != want {
			t.Fatalf("AppendExact(%q) = %q; want %q", b, exactly, want)
		}
		if n, ok := textLen(b[1 : len(b)-1]); ok != isExact || ok && n != len(want) {
			t.Fatalf("textLen(%q) = %d, %v; want %d, %v", b, n, ok, len(want), isExact)
		}
		if !NameIs(b[1:len(b)-1], want) && isExact {
			t.Fatalf("NameIs(%q, %q) = false", b, want)
		}
		var again string
		if err := json.Unmarshal(AppendQuoted(nil, got), &again); err != nil || again != want {
			t.Fatalf("AppendQuoted(%q) reads back as %q, %v", got, again, err)
		}
	})
}

func FuzzAppendQuoted(f *testing.F) {
	f.Add([]byte("a\xffb\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q := AppendQuoted(nil, b)
		var got string
		if err := json.Unmarshal(q, &got); err != nil {
			t.Fatalf("AppendQuoted(%q) = %q: %v", b, q, err)
		}
		if utf8.Valid(b) && got != string(b) {
			t.Fatalf("AppendQuoted(%q) reads back as %q", b, got)
		}
	})
}
