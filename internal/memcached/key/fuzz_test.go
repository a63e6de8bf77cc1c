package key

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzTemplate checks that keys from arbitrary templates and requests are valid for memcached.
func FuzzTemplate(f *testing.F) {
	f.Add("/users/{id}", "${arg.a}::${path.id}", "/users/7?a=%0d%0a", "c=1; d", "n:", byte(0))
	f.Add("/{rest...}", "${path.rest:-x}$$${cookie.c}${header.cookie}${uri}${query:-}", "/a/b?", "c=1", "", byte(7))
	f.Fuzz(func(t *testing.T, pattern, template, target, field, namespace string, how byte) {
		p, err := ParsePath(pattern)
		if err != nil {
			return
		}
		tm, err := Parse(template, p)
		if err != nil {
			return
		}
		q := request(p, how&1 != 0, target, "cookie", field)
		bare, ok := tm.Append(nil, q)
		if !ok {
			return
		}
		rules := Rules{Namespace: namespace, Escape: Escape(how >> 1 % 3), HashLong: how&8 != 0}
		wire, hashed, trouble := rules.Wire(nil, bare)
		if trouble != OK {
			return
		}
		if len(wire) > MaxLength || !bytes.HasPrefix(wire, []byte(namespace)) {
			t.Errorf("the key %q is too long or not in the namespace %q", wire, namespace)
		}
		if i := bytes.IndexFunc(wire, func(c rune) bool { return c <= ' ' || c == 0x7f }); i >= 0 {
			t.Errorf("the key %q has a space or a control character", wire)
		}
		if len(hashed) == 0 {
			t.Error("the hashed text is empty")
		}
	})
}

// FuzzPath checks that a pattern with its captures filled in is the path that it matched.
func FuzzPath(f *testing.F) {
	f.Add("/users/{id}/{rest...}", "/users/7/x/y")
	f.Add("/{a}/b/{c}", "/1/b/2")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := ParsePath(pattern)
		if err != nil {
			return
		}
		var c Captures
		if !p.Match([]byte(path), &c) {
			if p.Exact() && pattern == path {
				t.Errorf("%q does not match itself", path)
			}
			return
		}
		built, n := "", 0
		for _, s := range p.parts {
			text := s.text
			if s.capture {
				text = string(c[n])
				if !(p.rest && n == len(p.names)-1) && (text == "" || strings.Contains(text, "/")) {
					t.Errorf("%s captured %q of %q", pattern, text, path)
				}
				n++
			}
			built += "/" + text
		}
		if built != path {
			t.Errorf("%s matched %q, but with its captures it is %q", pattern, path, built)
		}
	})
}
