package ion

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// symbol reads an identifier.
func (r *Reader) symbol() string {
	var text []byte
	for c := r.peek(); isLetter(c) || isDigit(c) && len(text) > 0; c = r.peek() {
		text = append(text, byte(r.next()))
	}
	return string(text)
}

// quoted appends a string as a JSON string.
func (r *Reader) quoted(dst []byte) []byte {
	if r.peek() == '"' {
		return wire.AppendQuoted(dst, r.short('"'))
	}
	return wire.AppendQuoted(dst, r.long())
}

// short reads a string or symbol in quotes.
func (r *Reader) short(quote byte) []byte {
	r.next()
	var text []byte
	for {
		switch c := r.next(); c {
		case int(quote):
			return r.unicode(text)
		case '\\':
			text = r.escape(text)
		case '\n', eof:
			r.fail("a string has no end")
		default:
			text = append(text, byte(c))
		}
	}
}

// long reads strings in triple quotes, which may be several in a row.
func (r *Reader) long() []byte {
	var text []byte
	for r.ahead("'''") {
		r.skip(3)
		for !r.ahead("'''") {
			switch c := r.next(); c {
			case '\\':
				text = r.escape(text)
			case eof:
				r.fail("a string has no end")
			default:
				text = append(text, byte(c))
			}
		}
		r.skip(3)
		r.space()
	}
	return r.unicode(text)
}

func (r *Reader) skip(n int) {
	for range n {
		r.next()
	}
}

func (r *Reader) unicode(text []byte) []byte {
	if !utf8.Valid(text) {
		r.fail("a string is not UTF-8")
	}
	return text
}

// escapes has the characters that a letter after a backslash represents.
var escapes = map[int]byte{
	'0': 0, 'a': 7, 'b': 8, 't': 9, 'n': 10, 'f': 12, 'r': 13, 'v': 11, '"': '"', '\'': '\'', '?': '?', '\\': '\\', '/': '/',
}

// escape reads an escape sequence after its backslash.
func (r *Reader) escape(text []byte) []byte {
	c := r.next()
	if b, ok := escapes[c]; ok {
		return append(text, b)
	}
	var code rune
	switch c {
	case '\n':
		return text
	case '\r':
		if r.peek() == '\n' {
			r.next()
		}
		return text
	case 'x':
		code = r.hex(2)
	case 'u':
		code = r.hex(4)
		if utf16.IsSurrogate(code) && r.ahead(`\u`) {
			r.skip(2)
			code = utf16.DecodeRune(code, r.hex(4))
			if code == utf8.RuneError {
				r.fail("an escape sequence is half a character")
			}
		}
	case 'U':
		code = r.hex(8)
	default:
		r.fail("an unknown escape sequence")
	}
	if !utf8.ValidRune(code) {
		r.fail("an escape sequence is no character")
	}
	return utf8.AppendRune(text, code)
}

// hex reads n hexadecimal digits.
func (r *Reader) hex(n int) rune {
	text := make([]byte, 0, 8)
	for range n {
		text = append(text, byte(max(r.next(), 0)))
	}
	code, err := strconv.ParseUint(string(text), 16, 31)
	if err != nil {
		r.fail("an escape sequence needs %d hexadecimal digits", n)
	}
	return rune(code)
}
