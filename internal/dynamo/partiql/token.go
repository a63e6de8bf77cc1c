package partiql

type tokenKind uint8

const (
	end    tokenKind = iota
	bad              // anything that makes the statement uncertain
	word             // bare name or keyword
	quoted           // "name"
	text             // 'text'
	sign             // one character
)

type token struct {
	kind tokenKind
	text []byte // of quoted without the quotes, of text empty
}

// lexer cuts a statement into tokens. Comments, Ion literals in backticks,
// semicolons and whatever isn't ASCII outside of quotes are bad: where a
// statement has them, two readers may disagree on where a name begins.
type lexer struct{ rest []byte }

func (l *lexer) next() token {
	for len(l.rest) > 0 && isSpace(l.rest[0]) {
		l.rest = l.rest[1:]
	}
	if len(l.rest) == 0 {
		return token{kind: end}
	}
	switch c := l.rest[0]; {
	case isLetter(c):
		n := 1
		for n < len(l.rest) && (isLetter(l.rest[n]) || isDigit(l.rest[n])) {
			n++
		}
		return l.cut(word, n)
	case isDigit(c):
		return l.number()
	case c == '"' || c == '\'':
		return l.quote(c)
	case l.comment():
		return token{kind: bad}
	}
	switch l.rest[0] {
	case '(', ')', '[', ']', '{', '}', '<', '>', '=', '!', ',', '.', ':', '?', '*', '+', '-':
		return l.cut(sign, 1)
	}
	return token{kind: bad}
}

func (l *lexer) cut(k tokenKind, n int) token {
	t := token{k, l.rest[:n]}
	l.rest = l.rest[n:]
	return t
}

func (l *lexer) comment() bool {
	return len(l.rest) > 1 && l.rest[0] == '-' && l.rest[1] == '-'
}

// number reads digits and what may belong to a number. A letter directly behind
// it is bad.
func (l *lexer) number() token {
	n := 0
	for n < len(l.rest) && (isDigit(l.rest[n]) || l.rest[n] == '.') {
		n++
	}
	if n < len(l.rest) && l.rest[n]|0x20 == 'e' {
		n++
		if n < len(l.rest) && (l.rest[n] == '+' || l.rest[n] == '-') {
			n++
		}
		for n < len(l.rest) && isDigit(l.rest[n]) {
			n++
		}
	}
	if n < len(l.rest) && isLetter(l.rest[n]) {
		return token{kind: bad}
	}
	return l.cut(sign, n)
}

// quote reads a name or a text; a doubled quote stands for itself.
func (l *lexer) quote(q byte) token {
	doubled := false
	for i := 1; i < len(l.rest); i++ {
		switch {
		case l.rest[i] != q:
		case i+1 < len(l.rest) && l.rest[i+1] == q:
			doubled = true
			i++
		default:
			inside := l.rest[1:i]
			l.rest = l.rest[i+1:]
			if q == '\'' {
				return token{kind: text}
			}
			if doubled {
				inside = nil // no table is called that
			}
			return token{quoted, inside}
		}
	}
	return token{kind: bad}
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool  { return c-'0' <= 9 }
func isLetter(c byte) bool { return c|0x20-'a' <= 'z'-'a' || c == '_' }
