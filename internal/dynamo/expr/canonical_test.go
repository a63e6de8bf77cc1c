package expr

import (
	"bytes"
	"strings"
	"testing"
)

func TestAppendCanonical(t *testing.T) {
	n, v := names(t, someNames), values(t, someValues)
	f := func(text, want string) {
		t.Helper()
		got, ok := AppendCanonical([]byte("<"), []byte(text), n, v)
		if !ok || string(got) != "<"+want {
			t.Errorf("AppendCanonical(%s) = %s, %v; want %s", text, got, ok, want)
		}
	}
	f("a=:s", `"a" = {"S":"abc"} `)
	f(" #a \n= :s", `"a" = {"S":"abc"} `)
	f("#dot.b[1]<>:k", `"x.y" . "b" [ 1 ] <> {"N":"1000"} `)
	f("a < :n AnD not b>=:n", `"a" < {"N":"5"} AND NOT "b" >= {"N":"5"} `)
	f("size(a) in (:n,:m)", `size ( "a" ) IN ( {"N":"5"} , {"N":"1"} ) `)
	f("size (#size)", `size ( "size" ) `)
	f("#size (a)", `"size" ( "a" ) `)
	f("set a=if_not_exists(a,:n)+:m", `SET "a" = if_not_exists ( "a" , {"N":"5"} ) + {"N":"1"} `)
	f("a < > :n", `"a" < > {"N":"5"} `)
	f("a between :m And :n", `"a" BETWEEN {"N":"1"} AND {"N":"5"} `)
	f("#q=:s", `"say \"no\"" = {"S":"abc"} `)
	f("((a=:s))", `( ( "a" = {"S":"abc"} ) ) `)
}

func TestAppendCanonicalRefuses(t *testing.T) {
	n, v := names(t, someNames), values(t, `{":v":{"N":"nine"},":s":{"S":"x"}}`)
	for _, text := range []string{"", " ", "name = :s", "a.Size = :s", "#zz = :s", "a = :zz", "a = :v", "a = $", "_a = :s", "a = # b", "é",
		strings.Repeat(" ", 4096) + "a"} {
		if got, ok := AppendCanonical([]byte("<"), []byte(text), n, v); ok || string(got) != "<" {
			t.Errorf("AppendCanonical(%.40s) = %s, %v", text, got, ok)
		}
	}
}

// FuzzCanonicalMeaning checks that expressions with the same canonical form either both parse,
// to the same tree, or both fail.
func FuzzCanonicalMeaning(f *testing.F) {
	for _, s := range expressions {
		f.Add(s, byte(0))
		f.Add(s, byte(7))
	}
	f.Fuzz(func(t *testing.T, text string, how byte) {
		n, v := names(t, someNames), values(t, someValues)
		form, ok := AppendCanonical(nil, []byte(text), n, v)
		if !ok {
			return
		}
		other := rewrite([]byte(text), how)
		if again, ok := AppendCanonical(nil, other, n, v); len(other) <= maxText && (!ok || !bytes.Equal(again, form)) {
			t.Fatalf("the canonical form of %q is %s; of %q %s", text, form, other, again)
		}
		a, errA := ParseCondition("Filter", []byte(text), n, v)
		b, errB := ParseCondition("Filter", other, n, v)
		if (errA == nil) != (errB == nil && len(other) <= maxText) && len(other) <= maxText {
			t.Fatalf("%q: %v; %q: %v", text, errA, other, errB)
		}
		if errA == nil && errB == nil && a.String() != b.String() {
			t.Fatalf("%q is parsed as %s; %q as %s", text, a, other, b)
		}
	})
}

// rewrite writes an expression in another way with the same meaning.
func rewrite(text []byte, how byte) []byte {
	var out []byte
	l := lexer{text: text}
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		word := l.bytes(t)
		switch {
		case t.kind == tokenName && keywordOf(word) != noKeyword && how&1 != 0:
			word = bytes.ToLower(word)
		case t.kind == tokenNameRef && string(word) == "#a" && how&2 != 0:
			word = []byte("#esca")
		case t.kind == tokenName && string(word) == "a" && how&4 != 0 && l.peek().kind != tokenOpen:
			word = []byte("#a")
		}
		out = append(append(out, word...), " \t\n"[how%3])
	}
	return out
}
