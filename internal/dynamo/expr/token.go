package expr

import (
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/ascii"
)

// maxText is the maximum length of an expression before substitution.
const maxText = 4096

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenBad
	tokenName     // attribute, function or keyword
	tokenNameRef  // #name
	tokenValueRef // :value
	tokenDigits
	tokenDot
	tokenComma
	tokenOpen
	tokenClose
	tokenOpenIndex
	tokenCloseIndex
	tokenPlus
	tokenMinus
	tokenEqual
	tokenNotEqual
	tokenLess
	tokenLessEqual
	tokenGreater
	tokenGreaterEqual
)

// token is a span of the text.
type token struct {
	kind       tokenKind
	start, end int
}

// lexer cuts an expression into tokens. The zero value with a text is ready for use.
type lexer struct {
	text []byte
	pos  int
}

var punctuation = [128]tokenKind{'.': tokenDot, ',': tokenComma, '(': tokenOpen, ')': tokenClose,
	'[': tokenOpenIndex, ']': tokenCloseIndex, '+': tokenPlus, '-': tokenMinus, '=': tokenEqual}

func (l *lexer) next() token {
	for l.pos < len(l.text) && isSpace(l.text[l.pos]) {
		l.pos++
	}
	if l.pos == len(l.text) {
		return token{tokenEnd, l.pos, l.pos}
	}
	t := token{kind: tokenBad, start: l.pos}
	switch c := l.text[l.pos]; {
	case isLetter(c):
		t.kind = tokenName
		l.pos = l.word(l.pos + 1)
	case c == '#' || c == ':':
		end := l.word(l.pos + 1)
		if end > l.pos+1 {
			t.kind = tokenNameRef
			if c == ':' {
				t.kind = tokenValueRef
			}
		}
		l.pos = end
	case c == '0': // no other digit follows in a number
		t.kind = tokenDigits
		l.pos++
	case isDigit(c):
		t.kind = tokenDigits
		for l.pos < len(l.text) && isDigit(l.text[l.pos]) {
			l.pos++
		}
	case c == '<' || c == '>':
		t.kind = l.order(c)
	case c < utf8.RuneSelf:
		if k := punctuation[c]; k != 0 {
			t.kind = k
		}
		l.pos++
	default:
		_, size := utf8.DecodeRune(l.text[l.pos:])
		l.pos += size
	}
	t.end = l.pos
	return t
}

// order reads "<", "<=", "<>", ">" or ">=".
func (l *lexer) order(c byte) tokenKind {
	l.pos++
	second := byte(0)
	if l.pos < len(l.text) {
		second = l.text[l.pos]
	}
	switch {
	case second == '=':
		l.pos++
		if c == '<' {
			return tokenLessEqual
		}
		return tokenGreaterEqual
	case c == '>':
		return tokenGreater
	case second == '>':
		l.pos++
		return tokenNotEqual
	}
	return tokenLess
}

// word returns the index after the letters, digits and underscores from i on.
func (l *lexer) word(i int) int {
	for i < len(l.text) && isWord(l.text[i]) {
		i++
	}
	return i
}

// peek returns the next token without reading it.
func (l lexer) peek() token { return l.next() }

func (l *lexer) bytes(t token) []byte { return l.text[t.start:t.end] }

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool  { return c-'0' <= 9 }
func isLetter(c byte) bool { return c|0x20-'a' <= 'z'-'a' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

// keyword is a word that structures expressions, in any case.
type keyword uint8

const (
	noKeyword keyword = iota
	keyAnd
	keyOr
	keyNot
	keyBetween
	keyIn
	keySet
	keyRemove
	keyAdd
	keyDelete
)

var keywords = [...]string{keyAnd: "AND", keyOr: "OR", keyNot: "NOT", keyBetween: "BETWEEN", keyIn: "IN",
	keySet: "SET", keyRemove: "REMOVE", keyAdd: "ADD", keyDelete: "DELETE"}

func (k keyword) String() string { return keywords[k] }

// keywordOf returns the keyword that a word is, noKeyword if it is none.
func keywordOf(word []byte) keyword {
	if len(word) < 2 || len(word) > 7 {
		return noKeyword
	}
	for k := keyAnd; k <= keyDelete; k++ {
		if len(keywords[k]) == len(word) && ascii.EqualFold(word, keywords[k]) {
			return k
		}
	}
	return noKeyword
}

func toUpper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
