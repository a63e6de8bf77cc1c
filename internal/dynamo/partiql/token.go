package partiql

// tokenKind is the kind of a token; tokenNames has its name in errors.
type tokenKind uint8

const (
	tokenEnd  tokenKind = iota
	tokenBad            // text that begins no token, or a token without end
	tokenWord           // a bare name; after tokenize never a keyword
	tokenQuoted
	tokenKeyword
	tokenOperator
	tokenText
	tokenNumber
	tokenBoolean
	tokenNull
	tokenMissing
	tokenIon
	tokenOpen
	tokenClose
	tokenOpenBracket
	tokenCloseBracket
	tokenOpenBrace
	tokenCloseBrace
	tokenOpenBag
	tokenCloseBag
	tokenDot
	tokenStar
	tokenComma
	tokenColon
	tokenSemicolon
	tokenParameter
	tokenAs
	tokenAt
	tokenBy
	tokenAsc
	tokenDesc
	tokenFor
)

var tokenNames = [...]string{
	tokenClose: "RIGHT_PAREN", tokenCloseBracket: "RIGHT_BRACKET", tokenCloseBrace: "RIGHT_CURLY",
	tokenCloseBag: "RIGHT_DOUBLE_ANGLE_BRACKET", tokenOpen: "LEFT_PAREN", tokenComma: "COMMA", tokenColon: "COLON",
	tokenAs: "AS", tokenBy: "BY",
}

// token is one word, literal or sign of a statement.
type token struct {
	kind tokenKind
	text []byte // as written, including quotes
	word string // for keywords and operators: in small letters, several words joined by _
	pos  Pos
}

// lexer cuts a statement into tokens. It does not recognise keywords: they are words to it.
type lexer struct {
	rest []byte
	// line and column are the position of rest, in characters. A carriage return followed by
	// a line feed ends one line.
	line, column int
	afterReturn  bool // the character before rest is a carriage return
	hadComment   bool // a comment was skipped
}

func newLexer(text []byte) lexer { return lexer{rest: text, line: 1, column: 1} }

func (l *lexer) next() token {
	if !l.skip() {
		return token{kind: tokenBad}
	}
	if len(l.rest) == 0 {
		return token{kind: tokenEnd, pos: Pos{l.line, l.column, 0}}
	}
	kind, n := scan(l.rest)
	t := token{kind: kind, text: l.rest[:n], pos: Pos{Line: l.line, Column: l.column}}
	l.advance(n)
	if l.line == t.pos.Line {
		t.pos.Length = l.column - t.pos.Column
	} else {
		t.pos.Length = characters(t.text)
	}
	return t
}

// advance skips n bytes.
func (l *lexer) advance(n int) {
	for _, c := range l.rest[:n] {
		switch {
		case c == '\n':
			l.line, l.column = l.line+1, 1
		case c == '\r':
			if l.afterReturn {
				l.line, l.column = l.line+1, 1
			}
		case c&0xc0 != 0x80:
			if l.afterReturn {
				l.line, l.column = l.line+1, 1
			}
			l.column++
		}
		l.afterReturn = c == '\r'
	}
	l.rest = l.rest[n:]
}

func characters(text []byte) (n int) {
	for _, c := range text {
		if c&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// skip skips white space and comments. It returns false for a comment without end.
func (l *lexer) skip() bool {
	for len(l.rest) > 0 {
		switch {
		case isSpace(l.rest[0]):
			l.advance(1)
			continue
		case begins(l.rest, "--"):
			l.advance(lineLength(l.rest))
		case begins(l.rest, "/*"):
			n := blockLength(l.rest)
			if n == 0 {
				return false
			}
			l.advance(n)
		default:
			if l.afterReturn { // the line ended at the carriage return
				l.line, l.column, l.afterReturn = l.line+1, 1, false
			}
			return true
		}
		l.hadComment = true
	}
	return true
}

func begins(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

func lineLength(text []byte) int {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	return len(text)
}

// blockLength returns the length of the comment at the beginning of text, 0 if it has no
// end.
func blockLength(text []byte) int {
	for i := 2; i+1 < len(text); i++ {
		if text[i] == '*' && text[i+1] == '/' {
			return i + 2
		}
	}
	return 0
}

// signs are the tokens of one character that don't begin a longer one.
var signs = [128]tokenKind{'(': tokenOpen, ')': tokenClose, '[': tokenOpenBracket, ']': tokenCloseBracket,
	'{': tokenOpenBrace, '}': tokenCloseBrace, ',': tokenComma, '.': tokenDot, ':': tokenColon, ';': tokenSemicolon,
	'?': tokenParameter, '*': tokenStar, '+': tokenOperator, '-': tokenOperator, '/': tokenOperator, '%': tokenOperator,
	'=': tokenOperator, '@': tokenOperator, '<': tokenOperator, '>': tokenOperator}

// pairs are the tokens of two characters.
var pairs = []struct {
	text string
	kind tokenKind
}{{"<=", tokenOperator}, {">=", tokenOperator}, {"<>", tokenOperator}, {"!=", tokenOperator}, {"||", tokenOperator},
	{"<<", tokenOpenBag}, {">>", tokenCloseBag}}

// scan returns the kind and the length of the first token.
func scan(text []byte) (tokenKind, int) {
	switch c := text[0]; {
	case isLetter(c):
		n := 1
		for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
			n++
		}
		return tokenWord, n
	case isDigit(c), c == '.' && len(text) > 1 && isDigit(text[1]):
		return scanNumber(text)
	case c == '"':
		return scanQuote(text, tokenQuoted)
	case c == '\'':
		return scanQuote(text, tokenText)
	case c == '`':
		return scanQuote(text, tokenIon)
	}
	for _, p := range pairs {
		if begins(text, p.text) {
			return p.kind, 2
		}
	}
	if c := text[0]; c < 128 && signs[c] != 0 {
		return signs[c], 1
	}
	return tokenBad, 1
}

// scanNumber reads digits with one point among or around them, and an exponent.
func scanNumber(text []byte) (tokenKind, int) {
	n := digits(text, 0)
	if n < len(text) && text[n] == '.' {
		if n++; n < len(text) && text[n] == '.' {
			return tokenBad, n
		}
		n = digits(text, n)
	}
	if n == len(text) || text[n]|0x20 != 'e' {
		return tokenNumber, n
	}
	n++
	if n < len(text) && (text[n] == '+' || text[n] == '-') {
		n++
	}
	end := digits(text, n)
	if end == n {
		return tokenBad, n
	}
	return tokenNumber, end
}

// digits returns the index after the digits at i.
func digits(text []byte, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}

// scanQuote reads a quoted text, in which a doubled quote is one quote.
func scanQuote(text []byte, kind tokenKind) (tokenKind, int) {
	for i := 1; i < len(text); i++ {
		if text[i] != text[0] {
			continue
		}
		if i+1 == len(text) || text[i+1] != text[0] || kind == tokenIon {
			return kind, i + 1
		}
		i++
	}
	return tokenBad, len(text)
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}
func isDigit(c byte) bool  { return c-'0' <= 9 }
func isLetter(c byte) bool { return c|0x20-'a' <= 'z'-'a' || c == '_' || c == '$' }
