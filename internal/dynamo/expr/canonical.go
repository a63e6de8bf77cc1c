package expr

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// AppendCanonical appends the one form that expressions with the same meaning
// to the letter share: each token followed by a space, names and values in the
// place of their placeholders, keywords in capitals. Attribute names are quoted,
// so that no name is taken for a function or a keyword.
//
// It doesn't parse. What it removes are differences that DynamoDB doesn't look
// at, so two expressions with equal forms are both refused or both accepted,
// with one meaning: an answer to the one is an answer to the other. It returns
// false where that would not hold: text that isn't tokens, reserved words,
// placeholders without a definition, too long.
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

// appendWord writes a keyword, the name of a function or that of an attribute.
func appendWord(dst []byte, l *lexer, word []byte) ([]byte, bool) {
	if k := keywordOf(word); k != noKeyword {
		return append(dst, k.String()...), true
	}
	if l.peek().kind == tokenOpen {
		return append(dst, word...), true
	}
	if reserved.has(word) {
		return dst, false
	}
	return wire.AppendQuoted(dst, word), true
}
