package key

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/http1"
)

// request returns a request for target with header lines.
func request(p *Path, decode bool, target string, fields ...string) *Request {
	q := &Request{Decode: decode, Fields: http1.FieldsOf(fields...)}
	path, query, found := strings.Cut(target, "?")
	q.Path = []byte(path)
	if found {
		q.Query = []byte(query)
	}
	if p != nil {
		p.Match(q.Path, &q.Captures)
	}
	q.Host = q.Fields.Get("host")
	return q
}

func TestAppend(t *testing.T) {
	p, err := ParsePath("/users/{id}/{rest...}")
	if err != nil {
		t.Fatal(err)
	}
	key := func(decode bool, template, target string, fields ...string) string {
		t.Helper()
		tm, err := Parse(template, p)
		if err != nil {
			t.Fatal(err)
		}
		k, ok := tm.Append([]byte("before"), request(p, decode, target, fields...))
		if !strings.HasPrefix(string(k), "before") {
			t.Errorf("%s: the text before the key was changed", template)
		}
		if !ok {
			return "none"
		}
		return string(k[len("before"):])
	}
	f := func(want, template, target string, fields ...string) {
		t.Helper()
		if got := key(false, template, target, fields...); got != want {
			t.Errorf("%s of %s: got %q, want %q", template, target, got, want)
		}
	}
	f("100::7", "${arg.user_id}::${arg.entry_id}", "/count?user_id=100&entry_id=7")
	f("100::7", "${arg.user_id}::${arg.entry_id}", "/count?entry_id=7&x=1&user_id=100")
	f("100::", "${arg.user_id}::${arg.entry_id}", "/count?entry_id=&user_id=100")
	f("100::", "${arg.user_id}::${arg.entry_id}", "/count?entry_id&user_id=100")
	f("none", "${arg.user_id}::${arg.entry_id}", "/count?user_id=100")
	f("none", "${arg.user_id}", "/count")
	f("none", "${arg.user_id}", "/count?User_Id=1&user_idx=2&user_i=3")
	f("1", "${arg.a}", "/?a=1&a=1")
	f("none", "${arg.a}", "/?a=1&a=2")
	f("none", "${arg.a_b}", "/?a_b=1&a%5fb=2")
	f("2", "${arg.a_b}", "/?a%5Fb=2&a%5=3")
	f("none", "${arg.ab}", "/?a%62c=2&a%=1&%61=4")
	f("a%20b+c", "${arg.a}", "/?a=a%20b+c")
	f("a=b", "${arg.a}", "/?a=a=b")
	f("x", "${arg.a:-x}", "/?b=1")
	f("x", "${arg.a:-x}", "/?a=&b=1")
	f("1", "${arg.a:-x}", "/?a=1")
	f("none", "${arg.a:-x}", "/?a=1&a=2")
	f("[]", "[${arg.a:-}]", "/")
	f("7", "${path.id}", "/users/7/x/y")
	f("x/y of 7", "${path.rest} of ${path.id}", "/users/7/x/y")
	f("ja", "${header.Accept-Language}", "/", "accept-language", "ja")
	f("none", "${header.Accept-Language}", "/")
	f("none", "${header.a}", "/", "A", "1", "a", "2")
	f("1", "${header.a}", "/", "A", "1", "a", "1")
	f("s1", "${cookie.sid}", "/", "cookie", "a=b; sid=s1;c=d")
	f("s1", "${cookie.sid}", "/", "cookie", "a=b", "Cookie", "sid=s1")
	f("none", "${cookie.sid}", "/", "cookie", "sid=s1; sid=s2")
	f("none", "${cookie.sid}", "/", "cookie", "SID=s1; xsid=2; sid")
	f("none", "${cookie.sid}", "/")
	f("/a%2fb", "${path}", "/a%2fb?c=d")
	f("c=d", "${query}", "/a%2fb?c=d")
	f("none", "${query}", "/a")
	f("", "${query}", "/a?")
	f("/a?c=d", "${uri}", "/a?c=d")
	f("/a", "${uri}", "/a")
	f("/a?", "${uri}", "/a?")
	f("example.org/a", "${host}${uri}", "/a", "host", "Example.ORG:8080")
	f("[::1]", "${host}", "/a", "host", "[::1]")
	f("[::1]", "${host}", "/a", "host", "[::1]:80")
	f("cost $5", "cost $$5", "/")
	f("${a}", "$${a}", "/")
	f("a}", "a}", "/")

	f = func(want, template, target string, fields ...string) {
		t.Helper()
		if got := key(true, template, target, fields...); got != want {
			t.Errorf("decoded %s of %s: got %q, want %q", template, target, got, want)
		}
	}
	f("a b c\r\n", "${arg.a}", "/?a=a%20b+c%0d%0A")
	f("\x00\xff", "${arg.a}", "/?a=%00%Ff")
	f("none", "${arg.a}", "/?a=%2")
	f("none", "${arg.a}", "/?a=%zz")
	f("a/b", "${path.id}", "/users/a%2Fb/x")
	f("a+b", "${path.id}", "/users/a+b/x")
	f("/a/b", "${path}", "/a%2fb")
	f("/a%2fb?c=%20", "${uri}", "/a%2fb?c=%20")
	f("%20", "${header.a}", "/", "a", "%20")
}

func TestTemplateMistakes(t *testing.T) {
	p, err := ParsePath("/users/{id}")
	if err != nil {
		t.Fatal(err)
	}
	f := func(template, what string, at int) {
		t.Helper()
		_, err := Parse(template, p)
		var e *Error
		if !errors.As(err, &e) || e.At != at || !strings.Contains(e.What, what) {
			t.Errorf("%s: got the error %v, want %q at %d", template, err, what, at)
		}
	}
	f("", "empty", 0)
	f("a$", "written twice", 1)
	f("a$b", "written twice", 1)
	f("a${b", "written twice", 1)
	f("a${}", "no source is called", 3)
	f("a${b}", "no source is called b; there are arg.NAME", 3)
	f("a${args.b}", "no source is called args.b", 3)
	f("a${arg}", "no source is called arg", 3)
	f("a${uri.b}", "no source is called", 3)
	f("a${arg.}", "name is missing", 7)
	f("a${header.a b}", "nothing can be called", 10)
	f("a${cookie.a;}", "nothing can be called", 10)
	f("a${path.name}", "/users/{id} captures nothing called name", 8)
}

func TestTemplateNames(t *testing.T) {
	tm, err := Parse("${cookie.sid}${header.Accept}${arg.x}${cookie.b:-}", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := tm.Cookies(); !slices.Equal(got, []string{"sid", "b"}) {
		t.Errorf("cookies %q", got)
	}
	if got := tm.Headers(); !slices.Equal(got, []string{"Accept"}) {
		t.Errorf("headers %q", got)
	}
}

func TestWire(t *testing.T) {
	f := func(r Rules, bare, wire, hashed string, want Trouble) {
		t.Helper()
		w, h, got := r.Wire([]byte("before"), []byte(bare))
		if got != want || got == OK && (string(w) != "before"+wire || string(h) != hashed) {
			t.Errorf("%v of %.20q: got %q, %q, %v; want %q, %q, %v", r, bare, w, h, got, wire, hashed, want)
		}
	}
	long := func(n int) string { return strings.Repeat("k", n) }
	f(Rules{}, "100::7", "100::7", "100::7", OK)
	f(Rules{Namespace: "testapp::"}, "100::7", "testapp::100::7", "100::7", OK)
	f(Rules{Namespace: "testapp::"}, "", "", "", Empty)
	for _, c := range []string{"\x00", "\t", "\r", "\n", " ", "\x1f", "\x7f"} {
		f(Rules{}, "a"+c+"b", "", "", BadByte)
	}
	f(Rules{}, "\x80\xff%", "\x80\xff%", "\x80\xff%", OK)
	f(Rules{Escape: NginxUpper}, "a b%\r\n\x00\xff", "a%20b%25%0D%0A%00\xff", "a b%\r\n\x00\xff", OK)
	f(Rules{Escape: NginxLower, Namespace: "%"}, "\n", "%%0a", "\n", OK)
	f(Rules{Escape: NginxLower}, "\x7f", "", "", BadByte)
	f(Rules{}, long(250), long(250), long(250), OK)
	f(Rules{}, long(251), "", "", TooLong)
	f(Rules{Namespace: "n"}, long(250), "", "", TooLong)
	f(Rules{Namespace: "n", HashLong: true}, long(249), "n"+long(249), long(249), OK)
	const sum = "b2c715564e4cfe3ed19da5b49dbb29310fbacb04cf59a1bbc54adee078426ed8" // of 250 k
	f(Rules{Namespace: "n", HashLong: true}, long(250), "n"+sum, sum, OK)
}

func TestRulesCheck(t *testing.T) {
	f := func(r Rules, want Trouble) {
		t.Helper()
		if got := r.Check(); got != want {
			t.Errorf("%v: got %v, want %v", r, got, want)
		}
	}
	f(Rules{}, OK)
	f(Rules{Namespace: "a b"}, BadByte)
	f(Rules{Namespace: strings.Repeat("n", 249)}, OK)
	f(Rules{Namespace: strings.Repeat("n", 250)}, TooLong)
	f(Rules{Namespace: strings.Repeat("n", 186), HashLong: true}, OK)
	f(Rules{Namespace: strings.Repeat("n", 187), HashLong: true}, TooLong)
}

func TestEscapes(t *testing.T) {
	for i, name := range Escapes() {
		if e, ok := ParseEscape(name); !ok || e != Escape(i) || e.String() != name {
			t.Errorf("ParseEscape(%q) = %v, %v", name, e, ok)
		}
	}
	if e, ok := ParseEscape(""); !ok || e != None {
		t.Errorf("ParseEscape(\"\") = %v, %v", e, ok)
	}
	if _, ok := ParseEscape("nginx"); ok {
		t.Error("nginx was accepted as an escape")
	}
}

func TestAppendAllocates(t *testing.T) {
	p, err := ParsePath("/users/{id}")
	if err != nil {
		t.Fatal(err)
	}
	tm, err := Parse("${arg.a}${path.id}${header.h}${cookie.c}${path}${query}${uri}${host}${arg.b:-none}", p)
	if err != nil {
		t.Fatal(err)
	}
	q := request(p, true, "/users/7?a=%31", "h", "1", "cookie", "c=2", "host", "H:1")
	rules := Rules{Namespace: "n", Escape: NginxUpper, HashLong: true}
	var bare, wire [512]byte
	if n := testing.AllocsPerRun(100, func() {
		k, ok := tm.Append(bare[:0], q)
		if _, _, trouble := rules.Wire(wire[:0], k); !ok || trouble != OK {
			t.Fatal("no key")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
