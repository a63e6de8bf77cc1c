package ion

import (
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// attributes appends a struct of attributes: {"a":{"S":"x"}}.
func (r *Reader) attributes(dst []byte, depth int) []byte {
	if depth > maxDepth {
		r.fail("values nest too deeply")
	}
	if r.space(); r.peek() != '{' || r.ahead("{{") {
		r.fail("expected a struct of attributes")
	}
	r.next()
	dst = append(dst, '{')
	for another := false; r.more('}', another); another = true {
		if another {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendQuoted(dst, []byte(r.name())), ':')
		dst = r.value(dst, depth)
	}
	return append(dst, '}')
}

// The annotations of sets, with their types in DynamoDB's JSON.
var sets = map[string]string{"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}

// value appends a value as DynamoDB's JSON: {"S":"x"}.
func (r *Reader) value(dst []byte, depth int) []byte {
	if depth > maxDepth {
		r.fail("values nest too deeply")
	}
	r.space()
	switch c := r.peek(); {
	case c == '"', c == '\'' && r.ahead("'''"):
		return append(r.quoted(append(dst, `{"S":`...)), '}')
	case c == '\'' || isLetter(c):
		return r.named(dst, depth)
	case c == '-' || c == '+' || isDigit(c):
		return append(r.number(append(dst, `{"N":`...)), '}')
	case c == '{' && r.ahead("{{"):
		return append(r.blob(append(dst, `{"B":`...)), '}')
	case c == '{':
		return append(r.attributes(append(dst, `{"M":`...), depth+1), '}')
	case c == '[':
		r.next()
		dst = append(dst, `{"L":[`...)
		for another := false; r.more(']', another); another = true {
			if another {
				dst = append(dst, ',')
			}
			dst = r.value(dst, depth+1)
		}
		return append(dst, "]}"...)
	case c == eof:
		r.fail("the text ends inside of a record")
	default:
		r.fail("%q is not the beginning of a value", rune(c))
	}
	return nil
}

// named appends a value that begins with a symbol: a keyword, or a set.
func (r *Reader) named(dst []byte, depth int) []byte {
	var name string
	if r.peek() == '\'' {
		name = string(r.short('\''))
	} else {
		name = r.symbol()
	}
	r.space()
	if r.ahead("::") {
		r.next()
		r.next()
		typ, ok := sets[name]
		if !ok {
			r.fail("the annotation %.40q is none of a set", name)
		}
		return r.set(dst, typ)
	}
	switch name {
	case "true", "false":
		return append(append(append(dst, `{"BOOL":`...), name...), '}')
	case "null":
		if r.peek() == '.' { // with a type
			r.next()
			r.symbol()
		}
		return append(dst, `{"NULL":true}`...)
	}
	r.fail("the symbol %.40q is no value of an item", name)
	return nil
}

// set appends a set.
func (r *Reader) set(dst []byte, typ string) []byte {
	if r.space(); r.peek() != '[' {
		r.fail("a set is not a list")
	}
	r.next()
	dst = append(append(append(dst, `{"`...), typ...), `":[`...)
	for another := false; r.more(']', another); another = true {
		if another {
			dst = append(dst, ',')
		}
		c := r.peek()
		switch {
		case typ == "SS" && (c == '"' || r.ahead("'''")):
			dst = r.quoted(dst)
		case typ == "NS" && (c == '-' || isDigit(c)):
			dst = r.number(dst)
		case typ == "BS" && r.ahead("{{"):
			dst = r.blob(dst)
		default:
			r.fail("a member of a set of type %s has another type", typ)
		}
	}
	return append(dst, "]}"...)
}

// number appends the text of a number as a JSON string.
func (r *Reader) number(dst []byte) []byte {
	var text []byte
	for c := r.peek(); isDigit(c) || isLetter(c) || strings.IndexByte("+-.:", byte(max(c, 0))) >= 0; c = r.peek() {
		text = append(text, byte(r.next()))
	}
	dst = append(dst, '"')
	rest := string(text)
	if sign, ok := strings.CutPrefix(rest, "-"); ok {
		dst, rest = append(dst, '-'), sign
	}
	whole, rest := digits(rest)
	dst = append(dst, whole...)
	fraction := ""
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if fraction, rest = digits(after); fraction != "" {
			dst = append(append(dst, '.'), fraction...)
		}
	}
	if power := strings.TrimLeft(rest, "dDeE"); len(rest)-len(power) == 1 {
		sign := power[:len(power)-len(strings.TrimLeft(power, "+-"))]
		exponent, end := digits(power[len(sign):])
		if len(sign) < 2 && exponent != "" {
			dst = append(append(append(dst, 'e'), sign...), exponent...)
			rest = end
		}
	}
	if whole == "" || rest != "" {
		r.fail("%.60q is no decimal", text)
	}
	return append(dst, '"')
}

// digits splits digits off the text. It drops underscores between them.
func digits(text string) (leading, rest string) {
	n := 0
	for n < len(text) && (isDigit(int(text[n])) || text[n] == '_' && n > 0) {
		n++
	}
	return strings.ReplaceAll(text[:n], "_", ""), text[n:]
}

// blob appends the base64 of a blob as a JSON string.
func (r *Reader) blob(dst []byte) []byte {
	r.next()
	r.next()
	dst = append(dst, '"')
	for {
		switch c := r.next(); {
		case c == ' ' || c >= '\t' && c <= '\r':
		case isLetter(c) && c != '_' && c != '$', isDigit(c), c == '+', c == '/', c == '=':
			dst = append(dst, byte(c))
		case c == '}':
			r.expect('}')
			return append(dst, '"')
		case c == '"', c == '\'':
			r.fail("a clob is no value of an item")
		default:
			r.fail("a blob has a byte that is not base64")
		}
	}
}

func isDigit(c int) bool { return c >= '0' && c <= '9' }

func isLetter(c int) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}
