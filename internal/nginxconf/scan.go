package nginxconf

import (
	"errors"
	"strings"
)

// kind is the kind of a token.
type kind uint8

const (
	end kind = iota
	word
	semicolon
	opening
	closing
)

// token is a sign, or a word with its quotes removed and its escapes decoded.
type token struct {
	kind kind
	text string
	line int // of its first byte
}

// scanner splits text into tokens.
type scanner struct {
	text string
	at   int
	line int // of at
}

const blanks = " \t\r\n"

// next returns the next token. On an error its line is the line where the token begins.
func (s *scanner) next() (token, error) {
	s.skip()
	t := token{line: s.line}
	if s.at == len(s.text) {
		return t, nil
	}
	c := s.text[s.at]
	if i := strings.IndexByte(";{}", c); i >= 0 {
		s.at++
		return token{[]kind{semicolon, opening, closing}[i], string(c), s.line}, nil
	}
	t.kind = word
	var err error
	if c == '"' || c == '\'' {
		t.text, err = s.quoted(c)
	} else {
		t.text, err = s.bare()
	}
	return t, err
}

// skip skips blanks and comments.
func (s *scanner) skip() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\n':
			s.line++
			s.at++
		case strings.IndexByte(blanks, c) >= 0:
			s.at++
		case c == '#':
			n := strings.IndexByte(s.text[s.at:], '\n')
			if n < 0 {
				n = len(s.text) - s.at
			}
			s.at += n
		default:
			return
		}
	}
}

// quoted scans a word in quotes. A separator must follow the closing quote.
func (s *scanner) quoted(quote byte) (string, error) {
	s.at++
	var b strings.Builder
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\' && s.at+1 < len(s.text):
			s.escape(&b)
			continue
		case c == quote:
			s.at++
			if s.at < len(s.text) && strings.IndexByte(blanks+";{)", s.text[s.at]) < 0 {
				return "", errors.New("no separator follows the closing quote")
			}
			return b.String(), nil
		case c == '\n':
			s.line++
		}
		b.WriteByte(c)
		s.at++
	}
	return "", errors.New("the quote that opens here is not closed")
}

// bare scans a word without quotes. A brace after a dollar is part of the word: ${name}.
func (s *scanner) bare() (string, error) {
	var b strings.Builder
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\\' && s.at+1 < len(s.text):
			s.escape(&b)
			continue
		case c == '$' && strings.HasPrefix(s.text[s.at+1:], "{"):
			b.WriteString("${")
			s.at += 2
			continue
		case c == '}' && strings.Contains(variable(b.String()), "{"):
			// it closes the brace of a variable
		case strings.IndexByte(blanks+";{", c) >= 0 || c == '}':
			return b.String(), nil
		}
		b.WriteByte(c)
		s.at++
	}
	return b.String(), nil
}

// variable returns the text after the last dollar, unless its brace is closed.
func variable(text string) string {
	i := strings.LastIndexByte(text, '$')
	if i < 0 || strings.IndexByte(text[i:], '}') >= 0 {
		return ""
	}
	return text[i:]
}

// escape scans a backslash and the byte after it. nginx drops the backslash before quotes
// and backslashes, decodes \t, \r and \n, and keeps it elsewhere, because regular
// expressions need it.
func (s *scanner) escape(b *strings.Builder) {
	c := s.text[s.at+1]
	s.at += 2
	switch c {
	case '"', '\'', '\\':
		b.WriteByte(c)
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'n':
		b.WriteByte('\n')
	default:
		if c == '\n' {
			s.line++
		}
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

// isLua reports whether the block of a directive is a Lua program.
func isLua(name string) bool { return strings.HasSuffix(name, "_by_lua_block") }

// raw scans up to the brace that closes a program, whose own braces are balanced. The
// opening brace has been read.
func (s *scanner) raw() (string, error) {
	from, depth := s.at, 1
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\n':
			s.line++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				s.at++
				return s.text[from : s.at-1], nil
			}
		}
	}
	return "", errors.New("the program that begins here does not end")
}
