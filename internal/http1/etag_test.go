package http1

import "testing"

func TestCutETag(t *testing.T) {
	for _, c := range []struct{ text, tag, rest string }{
		{`"a"`, `"a"`, ""}, {`W/"a", "b"`, `W/"a"`, `, "b"`}, {`""x`, `""`, "x"}, {"\"\xff!\"", "\"\xff!\"", ""},
		{"", "", ""}, {"W/", "", "W/"}, {`w/"a"`, "", `w/"a"`}, {`"a`, "", `"a`}, {`"a b"`, "", `"a b"`}, {`a"b"`, "", `a"b"`}, {"\"\x7f\"", "", "\"\x7f\""},
	} {
		tag, rest := CutETag([]byte(c.text))
		if string(tag) != c.tag || string(rest) != c.rest || (tag == nil) != (c.tag == "") {
			t.Errorf("%q: %q, %q", c.text, tag, rest)
		}
	}
}
