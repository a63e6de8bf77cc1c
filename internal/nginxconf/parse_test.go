package nginxconf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// text writes each directive on a line of its own, with its line number and its arguments in
// quotes.
func text(b *strings.Builder, list Block, indent string) {
	for _, d := range list {
		fmt.Fprintf(b, "%d: %s%s", d.Line, indent, d.Name)
		for _, a := range d.Args {
			b.WriteString(" " + strconv.Quote(a))
		}
		switch {
		case d.Raw != "":
			fmt.Fprintf(b, " RAW %q", d.Raw)
		case d.Block != nil:
			b.WriteString(" {}")
		}
		b.WriteString("\n")
		text(b, d.Block, indent+"  ")
	}
}

func TestParse(t *testing.T) {
	f := func(source, want string) {
		t.Helper()
		list, err := Parse("nginx.conf", []byte(source))
		if err != nil {
			t.Errorf("%q: %v", source, err)
			return
		}
		var b strings.Builder
		text(&b, list, "")
		if got := b.String(); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", source, got, want)
		}
	}
	f("", "")
	f("# nothing\n\n  # at all", "")
	f("a;b c\n d;", "1: a\n1: b \"c\" \"d\"\n")
	f("http{server{listen 80;}}\nx;", "1: http {}\n1:   server {}\n1:     listen \"80\"\n2: x\n")
	f("empty {}", "1: empty {}\n")
	f("a 'b c' \"d;e\" 'f\"g' '';", `1: a "b c" "d;e" "f\"g" ""`+"\n")
	f(`a "b\"c" d\ e \$x "\t\n" ~\.php$;`, `1: a "b\"c" "d\\ e" "\\$x" "\t\n" "~\\.php$"`+"\n")
	f(`set $memcached_key "$arg_user_id::$arg_entry_id";`, `1: set "$memcached_key" "$arg_user_id::$arg_entry_id"`+"\n")
	f(`set $k ${arg_a}-${arg_b};`, `1: set "$k" "${arg_a}-${arg_b}"`+"\n")
	f(`a b#c; # d`, `1: a "b#c"`+"\n")
	f("a 'b\nc';\nd;", "1: a \"b\\nc\"\n3: d\n")
	f("location ~ ^/u/([0-9]+)$ {}", `1: location "~" "^/u/([0-9]+)$" {}`+"\n")
	f(`location ~ "^/u/\d{1,3}$" {}`, `1: location "~" "^/u/\\d{1,3}$" {}`+"\n")
	f("if ($a = \"b\") {}", `1: if "($a" "=" "b" ")" {}`+"\n")
	f("content_by_lua_block {\n ngx.say({1})\n}\nx;", "1: content_by_lua_block RAW \"\\n ngx.say({1})\\n\"\n4: x\n")
}

func TestParseRefuses(t *testing.T) {
	f := func(source string, line int, want string) {
		t.Helper()
		_, err := Parse("nginx.conf", []byte(source))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Line != line || !strings.Contains(e.What, want) || !strings.HasPrefix(e.Error(), fmt.Sprintf("nginx.conf:%d: ", line)) {
			t.Errorf("%q: got %v, want %q in line %d", source, err, want, line)
		}
	}
	f("a;\nb", 2, "b ends neither with a semicolon nor with a block")
	f("a {\n b;", 1, "does not end")
	f("a;\n}", 2, `"}" where a directive should begin`)
	f(";", 1, `";" where`)
	f("a {{}}", 1, `"{" where`)
	f("a\n'b;", 2, "is not closed")
	f("a 'b'c;", 1, "no separator follows the closing quote")
	f("a { b }", 1, "b ends neither")
	f("x_by_lua_block {\n{}", 1, "does not end")
	f(strings.Repeat("a{", maxDepth+2), 1, "more than 32 deep")
}

func TestBlock(t *testing.T) {
	list, err := Parse("nginx.conf", []byte("a 1; b 2; a 3; c;"))
	if err != nil {
		t.Fatal(err)
	}
	if got := list.Named("a", "c"); len(got) != 3 || got[2].Name != "c" {
		t.Errorf("Named returned %v", got)
	}
	if d := list.Last("a"); d.Arg(0) != "3" || d.Arg(1) != "" {
		t.Errorf("Last returned %v", d)
	}
	if list.Last("x") != nil {
		t.Error("Last returned a directive that does not exist")
	}
}

// FuzzParse checks that every text gets a result or an error, with line numbers within the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"http { upstream u { server 127.0.0.1:1 weight=2; hash $k consistent; } }", "a 'b\\'' \"${c}\" ${d} \\;;", "x_by_lua_block { { } }", "a\n{#}\n}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		lines := strings.Count(source, "\n") + 1
		list, err := Parse("f", []byte(source))
		if e, ok := errors.AsType[*Error](err); ok && (e.Line < 1 || e.Line > lines) {
			t.Fatalf("a mistake in line %d of %d", e.Line, lines)
		} else if err != nil && !ok {
			t.Fatalf("the error is a %T", err)
		}
		var check func(Block, int)
		check = func(list Block, from int) {
			for _, d := range list {
				if d.Line < from || d.Line > lines {
					t.Fatalf("%s is in line %d, after %d and of %d", d.Name, d.Line, from, lines)
				}
				from = d.Line
				check(d.Block, from)
			}
		}
		check(list, 1)
	})
}
