package expr

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// AppendCanonical appends the canonical form of an expression: each token followed by a
// space, placeholders replaced by their names and values, keywords in capitals. Attribute
// names are quoted, so they can't be mistaken for functions or keywords.
//
// It does not parse the expression. It removes only differences that DynamoDB ignores, so
// two expressions with equal canonical forms are both refused or both accepted, with the
// same meaning, and can share a cached answer. It returns false for text of which that is
// not certain: text with invalid tokens, reserved words, undefined placeholders, or text
// that is too long.
func AppendCanonical(dst, text []byte, names *Names, values *Values) ([]byte, bool) {
	if len(text) > maxText {
		return dst, false
	}
	out := dst
	l := lexer{text: text}
	for {
		t := l.next()
		ok := true
		switch word := l.bytes(t); t.kind {
		case tokenEnd:
			return out, len(out) > len(dst)
		case tokenBad:
			return dst, false
		case tokenName:
			out, ok = appendWord(out, &l, word)
		case tokenNameRef:
			if word, ok = names.Lookup(word); ok {
				out = wire.AppendQuoted(out, word)
			}
		case tokenValueRef:
			if word, ok = values.Lookup(word); ok {
				out, ok = wire.AppendCanonical(out, word)
			}
		default:
			out = append(out, word...)
		}
		if !ok {
			return dst, false
		}
		out = append(out, ' ')
	}
}

// appendWord appends a keyword or the name of a function or an attribute.
func appendWord(dst []byte, l *lexer, word []byte) ([]byte, bool) {
	if k := keywordOf(word); k != noKeyword {
		return append(dst, k.String()...), true
	}
	if l.peek().kind == tokenOpen {
		return append(dst, word...), true
	}
	if reserved().has(word) {
		return dst, false
	}
	return wire.AppendQuoted(dst, word), true
}
