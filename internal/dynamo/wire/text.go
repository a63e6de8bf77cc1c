package wire

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/ascii"
)

// textClass describes how faithfully a string could be decoded.
type textClass uint8

const (
	exact  textClass = iota // Unicode text
	lossy                   // invalid UTF-8 or half a surrogate pair, replaced by U+FFFD
	broken                  // not the inside of a JSON string
)

// AppendString appends the text of a JSON string as UTF-8. It replaces invalid UTF-8 and
// lone surrogates with U+FFFD, as encoding/json does. AppendExact rejects them. Both
// validate the string themselves.
func AppendString(dst, quoted []byte) ([]byte, bool) {
	raw, ok := unquote(quoted)
	if !ok {
		return dst, false
	}
	out, class := appendText(dst, raw)
	if class == broken {
		return dst, false
	}
	return out, true
}

// AppendExact is like AppendString, for text that DynamoDB interprets (keys, names,
// expressions): it rejects strings that could be read in two ways.
func AppendExact(dst, quoted []byte) ([]byte, bool) {
	raw, ok := unquote(quoted)
	if !ok {
		return dst, false
	}
	return AppendName(dst, raw)
}

// AppendName appends the text of a member's name as written (Iter.Name). It returns false if
// the name isn't exact Unicode.
func AppendName(dst, raw []byte) ([]byte, bool) {
	out, class := appendText(dst, raw)
	if class != exact {
		return dst, false
	}
	return out, true
}

// Plain returns the text of a JSON string without copying. It returns false if the string
// has escapes or isn't exact Unicode, and therefore has to be decoded.
func Plain(quoted []byte) ([]byte, bool) {
	raw, ok := unquote(quoted)
	if !ok || !isPlain(raw) {
		return nil, false
	}
	return raw, true
}

func unquote(quoted []byte) ([]byte, bool) {
	n := len(quoted)
	if n < 2 || quoted[0] != '"' || quoted[n-1] != '"' {
		return nil, false
	}
	return quoted[1 : n-1], true
}

// isPlain reports whether raw is its own text: no escapes, exact Unicode.
func isPlain(raw []byte) bool {
	return skipPlain(raw, 0) == len(raw) && isUnicode(raw)
}

func isUnicode(b []byte) bool { return isASCII(b) || utf8.Valid(b) }

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&highBits != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendText appends the text of raw, the inside of a JSON string.
func appendText(dst, raw []byte) ([]byte, textClass) {
	worst := exact
	for len(raw) > 0 {
		if n := skipPlain(raw, 0); n > 0 {
			if !isUnicode(raw[:n]) {
				worst = lossy
			}
			dst, raw = appendUnicode(dst, raw[:n]), raw[n:]
			continue
		}
		r, size, class := nextRune(raw)
		if worst = max(worst, class); worst == broken {
			return dst, broken
		}
		dst, raw = appendRune(dst, r), raw[size:]
	}
	return dst, worst
}

// textLen returns the length of the text that appendText would append. It returns false if
// the text isn't exact.
func textLen(raw []byte) (n int, ok bool) {
	for len(raw) > 0 {
		if run := skipPlain(raw, 0); run > 0 {
			if !isUnicode(raw[:run]) {
				return 0, false
			}
			n, raw = n+run, raw[run:]
			continue
		}
		r, size, class := nextRune(raw)
		if class != exact {
			return 0, false
		}
		n, raw = n+utf8.RuneLen(r), raw[size:]
	}
	return n, true
}

// nextRune decodes one character of the inside of a JSON string.
func nextRune(raw []byte) (r rune, size int, class textClass) {
	switch c := raw[0]; {
	case c == '\\':
		return nextEscape(raw)
	case c == '"' || c < 0x20:
		return 0, 0, broken
	case c < utf8.RuneSelf:
		return rune(c), 1, exact
	}
	if r, size = utf8.DecodeRune(raw); r == utf8.RuneError && size == 1 {
		return r, 1, lossy
	}
	return r, size, exact
}

func nextEscape(raw []byte) (r rune, size int, class textClass) {
	if len(raw) < 2 {
		return 0, 0, broken
	}
	switch raw[1] {
	case '"', '\\', '/':
		return rune(raw[1]), 2, exact
	case 'b':
		return '\b', 2, exact
	case 'f':
		return '\f', 2, exact
	case 'n':
		return '\n', 2, exact
	case 'r':
		return '\r', 2, exact
	case 't':
		return '\t', 2, exact
	case 'u':
	default:
		return 0, 0, broken
	}
	r, ok := hex4(raw, 2)
	if !ok {
		return 0, 0, broken
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, exact
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if low, ok := hex4(raw, 8); ok {
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				return r, 12, exact
			}
		}
	}
	return utf8.RuneError, 6, lossy
}

func appendRune(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(dst, byte(r))
	}
	return utf8.AppendRune(dst, r)
}

// AppendQuoted appends s as a JSON string with only the necessary escapes. Invalid UTF-8
// becomes U+FFFD.
func AppendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		n := skipPlain(s, 0)
		if n > 0 {
			dst = appendUnicode(dst, s[:n])
		}
		if s = s[n:]; len(s) > 0 {
			dst, s = appendEscape(dst, s[0]), s[1:]
		}
	}
	return append(dst, '"')
}

// appendUnicode appends s with U+FFFD in place of each invalid byte.
func appendUnicode(dst, s []byte) []byte {
	if isUnicode(s) {
		return append(dst, s...)
	}
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		dst, s = utf8.AppendRune(dst, r), s[size:]
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return ascii.AppendHex(append(dst, '\\', 'u'), uint64(c), 4)
}
