package wire

import "testing"

func TestReadString(t *testing.T) {
	f := func(in string, at int, raw string, next int, escaped bool) {
		t.Helper()
		gotRaw, gotNext, gotEscaped := ReadString([]byte(in), at)
		if string(gotRaw) != raw || gotNext != next || gotEscaped != escaped {
			t.Errorf("ReadString(%q, %d) = %q, %d, %v; want %q, %d, %v", in, at, gotRaw, gotNext, gotEscaped, raw, next, escaped)
		}
	}
	f(`"abc",1`, 0, "abc", 5, false)
	f(`{"a":""}`, 5, "", 7, false)
	f(`"a rather long text\n\u0061"x`, 0, `a rather long text\n\u0061`, 28, true)
	f(`"\""`, 0, `\"`, 4, true)
	for _, in := range []string{``, `x`, `1"a"`, `"`, `"abc`, `"abc\"`, `"\x"`, "\"\x01\"", "\"a\\n\x01\"", `"\`} {
		f(in, 0, "", -1, false)
	}
	f(`"a"`, 3, "", -1, false)
	f(`"a"`, 7, "", -1, false)
}

func TestSkip(t *testing.T) {
	if i := SkipSpace([]byte(" \t\r\n x"), 0); i != 5 {
		t.Errorf("SkipSpace returned %d", i)
	}
	if i := SkipValue([]byte(`x{"a":[1,"]"]},`), 1); i != 14 {
		t.Errorf("SkipValue returned %d", i)
	}
	if i := SkipValue([]byte(`{"a"`), 0); i != -1 {
		t.Errorf("SkipValue returned %d", i)
	}
}
