package policy

import "github.com/kasoku/kasoku/internal/ascii"

// The types of a structured field's bare items (RFC 8941, section 3.3).
const (
	sfAbsent = iota
	sfInteger
	sfDecimal
	sfString
	sfToken
	sfBytes
	sfBoolean
	sfInnerList
)

// sfValue is the value of a member. Decimals, byte sequences and parameters, which no cache
// directive uses, are checked for syntax but not kept.
type sfValue struct {
	kind   int
	number int64    // an Integer; 1 or 0 for a Boolean
	texts  []string // a String or a Token; or the items of an Inner List
}

// sfReader consumes items from the start of text. The first syntax error sets bad, which
// invalidates everything read so far.
type sfReader struct {
	text []byte
	bad  bool
}

// readDictionary calls set for each member, also for repeated keys. It reports whether all
// of text is a valid dictionary; if not, no member may be used (RFC 8941, section 4.2.2).
func readDictionary(text []byte, set func(key string, v sfValue)) bool {
	r := sfReader{text: text}
	for r.skip(" "); !r.bad && len(r.text) > 0; {
		key := r.key()
		v := sfValue{kind: sfBoolean, number: 1}
		if r.take('=') {
			v = r.member()
		}
		r.parameters()
		if !r.bad {
			set(key, v)
		}
		r.skip(" \t")
		if len(r.text) == 0 {
			break
		}
		r.want(',')
		r.skip(" \t")
		r.bad = r.bad || len(r.text) == 0
	}
	return !r.bad
}

// peek returns the next byte, 0 at the end.
func (r *sfReader) peek() byte {
	if len(r.text) == 0 {
		return 0
	}
	return r.text[0]
}

func (r *sfReader) take(c byte) bool {
	if r.bad || r.peek() != c {
		return false
	}
	r.text = r.text[1:]
	return true
}

func (r *sfReader) want(c byte) { r.bad = !r.take(c) }

// skip skips bytes of the set.
func (r *sfReader) skip(set string) {
	for len(r.text) > 0 && (r.text[0] == set[0] || r.text[0] == set[len(set)-1]) {
		r.text = r.text[1:]
	}
}

// span consumes the longest prefix of bytes that fit.
func (r *sfReader) span(fits func(c byte) bool) []byte {
	n := 0
	for n < len(r.text) && fits(r.text[n]) {
		n++
	}
	b := r.text[:n]
	r.text = r.text[n:]
	return b
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isAlpha(c byte) bool { return isLower(ascii.Lower(c)) }

func (r *sfReader) key() string {
	if c := r.peek(); !isLower(c) && c != '*' {
		r.bad = true
		return ""
	}
	return string(r.span(func(c byte) bool {
		return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*'
	}))
}

// member consumes an item without its parameters, or an inner list.
func (r *sfReader) member() sfValue {
	if r.take('(') {
		return r.innerList()
	}
	return r.item()
}

func (r *sfReader) innerList() sfValue {
	list := sfValue{kind: sfInnerList}
	for !r.bad {
		r.skip(" ")
		if r.take(')') {
			break
		}
		v := r.item()
		r.parameters()
		list.texts = append(list.texts, v.texts...)
		if c := r.peek(); c != ' ' && c != ')' {
			r.bad = true
		}
	}
	return list
}

func (r *sfReader) parameters() {
	for r.take(';') {
		r.skip(" ")
		r.key()
		if r.take('=') {
			r.item()
		}
	}
}

func (r *sfReader) item() sfValue {
	switch c := r.peek(); {
	case c == '-' || isDigit(c):
		return r.number()
	case c == '"':
		return r.string()
	case c == '*' || isAlpha(c):
		text := r.span(func(c byte) bool { return ascii.IsTokenByte(c) || c == ':' || c == '/' })
		return sfValue{kind: sfToken, texts: []string{string(text)}}
	case c == ':':
		return r.bytes()
	case c == '?':
		return r.boolean()
	}
	r.bad = true
	return sfValue{}
}

// number consumes an Integer of up to 15 digits, or a Decimal of up to 12 and 3.
func (r *sfReader) number() sfValue {
	minus := r.take('-')
	whole := r.span(isDigit)
	n, ok := seconds(whole, false)
	if !r.take('.') {
		r.bad = r.bad || !ok || len(whole) > 15
		if minus {
			n = -n
		}
		return sfValue{kind: sfInteger, number: n}
	}
	fraction := r.span(isDigit)
	r.bad = r.bad || !ok || len(whole) > 12 || len(fraction) == 0 || len(fraction) > 3
	return sfValue{kind: sfDecimal}
}

func (r *sfReader) string() sfValue {
	r.want('"')
	var text []byte
	for !r.bad && !r.take('"') {
		escaped := r.take('\\')
		c := r.peek()
		if r.bad = c < ' ' || c > '~' || escaped && c != '"' && c != '\\'; !r.bad {
			text = append(text, c)
			r.text = r.text[1:]
		}
	}
	return sfValue{kind: sfString, texts: []string{string(text)}}
}

func (r *sfReader) bytes() sfValue {
	r.want(':')
	r.span(func(c byte) bool { return isAlpha(c) || isDigit(c) || c == '+' || c == '/' || c == '=' })
	r.want(':')
	return sfValue{kind: sfBytes}
}

func (r *sfReader) boolean() sfValue {
	r.want('?')
	v := sfValue{kind: sfBoolean}
	if r.take('1') {
		v.number = 1
	} else {
		r.want('0')
	}
	return v
}

// readStrings parses a list whose members are all strings (RFC 8941, section 4.2.1).
func readStrings(text []byte) (list []string, ok bool) {
	r := sfReader{text: text}
	for {
		v := r.member()
		r.parameters()
		if r.bad || v.kind != sfString {
			return nil, false
		}
		list = append(list, v.texts...)
		if r.skip(" \t"); len(r.text) == 0 {
			return list, true
		}
		r.want(',')
		r.skip(" \t")
	}
}
