package jsonp

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	f := func(name string, strict, dotted, legacy bool) {
		t.Helper()
		for m, want := range map[Mode]bool{Strict: strict, Dotted: dotted, Legacy: legacy} {
			if got := m.Valid([]byte(name)); got != want {
				t.Errorf("%s: %q: valid %v, want %v", m, name, got, want)
			}
		}
	}
	f("f", true, true, true)
	f("_", true, true, true)
	f("jQuery1_2", true, true, true)
	f("$", true, true, false)
	f("$f9", true, true, false)
	f("angular.callbacks._0", false, true, false)
	f("__ng_jsonp__.__req0.finished", false, true, false)
	f("CKEDITOR._.jsonpCallbacks[197]", false, true, false)
	f("a[0][1].b[2]", false, true, false)
	f("", false, false, false)
	f("1a", false, false, true)
	f("0", false, false, true)
	f("a b", false, false, false)
	f("a-b", false, false, false)
	f("a;b", false, false, false)
	f("a(", false, false, false)
	f("alert(1)", false, false, false)
	f("f\n", false, false, false)
	f("f\x00", false, false, false)
	f("é", false, false, false)
	f("<script>", false, false, false)
	f(".a", false, false, false)
	f("a.", false, false, false)
	f("a..b", false, false, false)
	f("a.1", false, false, false)
	f("[0]", false, false, false)
	f("a[]", false, false, false)
	f("a[", false, false, false)
	f("a[0", false, false, false)
	f("a]", false, false, false)
	f("a[x]", false, false, false)
	f("a['x']", false, false, false)
	f("a[0]b", false, false, false)
	f("a.[0]", false, false, false)
	f("a[-1]", false, false, false)
	f("if", false, false, true)
	f("this", false, false, true)
	f("null", false, false, true)
	f("If", true, true, true)
	f("iff", true, true, true)
	f("this.f", false, false, false)
	f("a.default", false, false, false)
	f("new[0]", false, false, false)
	f(strings.Repeat("a", 128), true, true, true)
	f(strings.Repeat("a", 129), false, true, true)
	f(strings.Repeat("a", 255), false, true, true)
	f(strings.Repeat("a", 256), false, false, false)
	f(strings.Repeat("a.", 127)+"a", false, true, false)
	f(strings.Repeat("a.", 127)+"a0", false, false, false)
	if Mode(9).Valid([]byte("f")) || Mode(9).String() != "unknown" {
		t.Error("an unknown mode accepts a name, or has a name")
	}
}

// reservedWords are the words that the standard does not allow as identifiers.
var reservedWords = strings.Fields(`await break case catch class const continue debugger default delete do else enum
	export extends false finally for function if import in instanceof new null return super switch this throw true try
	typeof var void while with yield let static implements interface package private protected public`)

func TestReserved(t *testing.T) {
	for _, w := range reservedWords {
		if Strict.Valid([]byte(w)) || Dotted.Valid([]byte("a."+w+"[0].b")) || !Strict.Valid([]byte(w+"_")) {
			t.Errorf("%s was accepted, or a longer name that begins with it was refused", w)
		}
	}
}

var grammars = map[Mode]*regexp.Regexp{
	Strict: regexp.MustCompile(`\A[A-Za-z_$][\w$]{0,127}\z`),
	Dotted: regexp.MustCompile(`\A[A-Za-z_$][\w$]*(\[\d+\])*(\.[A-Za-z_$][\w$]*(\[\d+\])*)*\z`),
	Legacy: regexp.MustCompile(`\A\w{1,255}\z`),
}

// validByGrammar is Mode.Valid by the grammar.
func validByGrammar(m Mode, name string) bool {
	if len(name) > 255 || !grammars[m].MatchString(name) {
		return false
	}
	if m == Legacy {
		return true
	}
	return !slices.ContainsFunc(strings.Split(name, "."), func(segment string) bool {
		word, _, _ := strings.Cut(segment, "[")
		return slices.Contains(reservedWords, word)
	})
}

// FuzzName compares Valid with the grammars.
func FuzzName(f *testing.F) {
	for _, name := range []string{"f", "a.b", "a[0].b", "a[0]b", "if", "a.if[1]", "$.f", "1a", "a..b", "é", "a[", strings.Repeat("x", 256)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for m := range grammars {
			if got, want := m.Valid([]byte(name)), validByGrammar(m, name); got != want {
				t.Errorf("%s: %q: valid %v, want %v", m, name, got, want)
			}
		}
	})
}

// TestShortNames compares Valid with the grammars for all short names of significant characters.
func TestShortNames(t *testing.T) {
	names := []string{""}
	for range 5 {
		var longer []string
		for _, n := range names {
			for _, c := range []string{"a", "1", "$", ".", "[", "]", "-", "if"} {
				longer = append(longer, n+c)
			}
		}
		for _, n := range longer {
			for m := range grammars {
				if got, want := m.Valid([]byte(n)), validByGrammar(m, n); got != want {
					t.Fatalf("%s: %q: valid %v, want %v", m, n, got, want)
				}
			}
		}
		names = longer
	}
}

func TestValidPrefix(t *testing.T) {
	f := func(m Mode, want bool, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if m.validPrefix(text) != want {
				t.Errorf("%s: validPrefix(%q) = %v, want %v", m, text, !want, want)
			}
		}
	}
	f(Dotted, true, "a", "a.", "a.b", "a[", "a[1", "a[1]", "a[1].", "class", "$", strings.Repeat("a", 255))
	f(Dotted, false, ".", "1", "a..", "a]", "a[]", "a[1]b", "a[b", "class.", "a b", "a(", "é", strings.Repeat("a", 256))
	f(Strict, true, "a", "_", "class", strings.Repeat("a", 128))
	f(Strict, false, "a.", "a[", "1", strings.Repeat("a", 129))
	f(Legacy, true, "a", "1", "class")
	f(Legacy, false, "$", "a.", strings.Repeat("a", 256))
}
