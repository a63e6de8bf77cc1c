package ascii

import (
	"bytes"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestEqualFold compares every pair of bytes.
func TestEqualFold(t *testing.T) {
	for i := range 256 {
		for j := range 256 {
			a, b := []byte{byte(i)}, []byte{byte(j)}
			want := i == j || i < 0x80 && j < 0x80 && bytes.EqualFold(a, b)
			if EqualFold(a, b) != want || EqualFold(a, string(b)) != want || EqualFold(string(a), b) != want {
				t.Errorf("EqualFold(%q, %q) is not %v", a, b, want)
			}
		}
	}
	if EqualFold("ab", "abc") || EqualFold("k", "\u212a") || !EqualFold("Content-Length", []byte("content-lengTH")) {
		t.Error("EqualFold is wrong")
	}
}

func TestLower(t *testing.T) {
	var all, want []byte
	for i := range 256 {
		all = append(all, byte(i))
		want = append(want, Lower(byte(i)))
	}
	if got := AppendLower([]byte("x"), all); !bytes.Equal(got[1:], want) {
		t.Errorf("AppendLower appended %q", got)
	}
	if s := string(want[:128]); s != strings.ToLower(string(all[:128])) || !bytes.Equal(want[128:], all[128:]) {
		t.Errorf("Lower returns %q", want)
	}
}

func TestNames(t *testing.T) {
	s := NewNames("a", "Host", "host-2", strings.Repeat("x", maxName))
	for _, name := range []string{"A", "host", "HOST-2", strings.Repeat("X", maxName)} {
		if !s.Has([]byte(name)) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"", "b", "hos", "hosts", strings.Repeat("X", maxName+1), strings.Repeat("X", 1000)} {
		if s.Has([]byte(name)) {
			t.Errorf("%s is a member", name)
		}
	}
}

func TestContainsFold(t *testing.T) {
	list := []string{"Accept", "te"}
	if !ContainsFold(list, "ACCEPT") || !ContainsFold(list, []byte("Te")) || ContainsFold(list, "t") || ContainsFold(nil, "te") {
		t.Error("ContainsFold is wrong")
	}
}

func TestTrim(t *testing.T) {
	for _, s := range []string{"", " ", "\t \t", "a", " a\t", "a b", "\ta b  ", "\na\r"} {
		if got, want := string(Trim([]byte(s))), strings.Trim(s, " \t"); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

// TestIsToken compares with the definition of RFC 9110: visible characters except
// delimiters.
func TestIsToken(t *testing.T) {
	if IsToken("") || IsToken([]byte(nil)) || !IsToken("X-Request-Id") || IsToken("a b") {
		t.Error("IsToken is wrong")
	}
	for i := range 256 {
		c := byte(i)
		want := c > ' ' && c < 0x7f && !strings.Contains(`"(),/:;<=>?@[\]{}`, string(rune(c)))
		if IsToken([]byte{c}) != want || IsTokenByte(c) != want {
			t.Errorf("IsToken(%q) is not %v", c, want)
		}
	}
}

func TestHex(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		n, err := strconv.ParseUint(string(rune(c)), 16, 8)
		if v, ok := HexDigit(c); ok != (err == nil) || ok && uint64(v) != n {
			t.Errorf("HexDigit(%q) = %d, %v", c, v, ok)
		}
		for j := range 256 {
			want, err := hex.DecodeString(string([]byte{c, byte(j)}))
			if b, ok := HexByte(c, byte(j)); ok != (err == nil) || ok && b != want[0] {
				t.Errorf("HexByte of %q = %d, %v", []byte{c, byte(j)}, b, ok)
			}
		}
	}
	if got := AppendHex([]byte("x"), 0x1c0ffee, 6); string(got) != "xc0ffee" {
		t.Errorf("got %s, want xc0ffee", got)
	}
	if got := AppendHex(nil, 0xbe, 4); string(got) != "00be" {
		t.Errorf("got %s, want 00be", got)
	}
}

func TestAppendEscaped(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		want := strings.ReplaceAll(url.QueryEscape(string([]byte{c})), "+", "%20")
		if got := string(AppendEscaped(nil, c)); got != want {
			t.Errorf("%q: got %s, want %s", c, got, want)
		}
	}
}

func BenchmarkEqualFold(b *testing.B) {
	name := []byte("Content-Length")
	for b.Loop() {
		_ = EqualFold(name, "content-length")
	}
}
