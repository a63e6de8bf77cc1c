package policy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestForwardedSite(t *testing.T) {
	o := Defaults()
	f := func(want string, lines ...string) {
		t.Helper()
		pairs := []string{"X-Forwarded-Host", "other"}
		for _, l := range lines {
			pairs = append(pairs, "Forwarded", l)
		}
		if got := vary(o, ForwardedSite, pairs...); got != want {
			t.Errorf("%q\n  got  %q\n  want %q", lines, got, want)
		}
	}
	f("")
	f("=,", "for=192.0.2.1")
	f("=,", "")
	f("=,;host=a;proto=https", "for=192.0.2.1;host=a;proto=https")
	f(`=,;host="a:80";;proto=https`, `For="[2001:db8::1]:47011";host="a:80";BY=_hidden-1;proto=https`)
	f("=,host=a;", "host=a;for=unknown")
	// The number of the element is significant, the number of the line is not.
	f("=,,host=a", "for=1,host=a")
	f("=,host=a,", "host=a,for=1")
	f("=,, host=a", "for=1, host=a")
	f("=,,host=a", "for=1", "host=a")
	// Text that a parser may read as more than a node is kept.
	f(`=,for="1;host=a"`, `for="1;host=a"`)
	f(`=,for="1,host=a";`, `for="1,host=a";by=2`)
	f(`=,for="1\";host=a"`, `for="1\";host=a"`)
	f(`=,host="a;for=1;b"`, `host="a;for=1;b"`)
	f(`=,for=1=host`, `for=1=host`)
	f(`=,for=1 host=a`, `for=1 host=a`)
	f(`=,for`, `for`)
	f(`=,for=;host=a`, `for=;host=a`)
	f(`=,for="1;host=a`, `for="1;host=a`)
	f("=,; host=a", " for=1 ; host=a")
	f("=,path=/a;HOST=A", "path=/a;HOST=A")
}

func TestForwardedOpen(t *testing.T) {
	f := func(line string, want bool) {
		t.Helper()
		if got := ForwardedOpen([]byte(line)); got != want {
			t.Errorf("%s: open %t, want %t", line, got, want)
		}
	}
	f("", false)
	f("for=1;host=a", false)
	f(`for="1";host="a,b"`, false)
	f(`for="1";host="a`, true)
	f(`for=1, host="a\"`, true)
	f(`host="a\\", for=1`, false)
	f(`"`, true)
}

// Parsers of Forwarded: by the grammar, and without regard to quotes. Each lists the pairs
// beside for and by, with the number of the element.
var forwardedReaders = map[string]func(string) []string{
	"grammar": func(line string) []string {
		return sites(regexp.MustCompile(`"(?:\\.|[^"\\])*(?:"|$)|[^",;]+|[,;]`).FindAllString(line, -1))
	},
	"plain": func(line string) []string { return sites(regexp.MustCompile(`[^,;]+|[,;]`).FindAllString(line, -1)) },
}

// sites returns the pairs except for and by, each after a "+" for every earlier element.
func sites(tokens []string) (list []string) {
	pair, element := "", 0
	end := func() {
		name, _, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if name = strings.ToLower(strings.Trim(name, " \t")); name != "for" && name != "by" && name != "" {
			list = append(list, strings.Repeat("+", element)+pair)
		}
		pair = ""
	}
	for _, token := range tokens {
		switch token {
		case ",":
			end()
			element++
		case ";":
			end()
		default:
			pair += token
		}
	}
	end()
	return list
}

// Requests that share answers specify the same sites, for every parser.
func FuzzForwarded(f *testing.F) {
	f.Add("for=", "1", "2", ";host=a")
	f.Add(`host="a;for=`, "1", "2", `;b"`)
	f.Add(`for="`, "1", ";host=b", `"`)
	f.Add("for=1,", "for=2;", "by=3,", "host=a")
	f.Add("", "host=a", "host=b", "")
	f.Fuzz(func(t *testing.T, before, one, other, after string) {
		a, b := before+one+after, before+other+after
		if strings.ContainsAny(a+b, "\r\n") {
			return
		}
		if string(appendSite(nil, []byte(a))) != string(appendSite(nil, []byte(b))) {
			return
		}
		for name, read := range forwardedReaders {
			if x, y := read(a), read(b); !slices.Equal(x, y) {
				t.Errorf("%s and %s have the same key, but by %s they are %q and %q", a, b, name, x, y)
			}
		}
	})
}
