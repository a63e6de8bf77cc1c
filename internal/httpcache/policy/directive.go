package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Directives is the set of Cache-Control directives without an argument.
type Directives uint16

// The directives without an argument; some apply only to requests, some only to responses.
const (
	NoStore Directives = 1 << iota
	NoCache            // without names of fields
	NoTransform
	OnlyIfCached // requests
	Public       // responses, as all that follow
	Private      // without names of fields
	MustRevalidate
	ProxyRevalidate
	MustUnderstand
	Immutable
)

// Has reports whether one of want is set.
func (d Directives) Has(want Directives) bool { return d&want != 0 }

// flagOf returns the directive without an argument called name.
func flagOf(name []byte) Directives {
	for i := range flags {
		if f := &flags[i]; ascii.EqualFold(name, f.name) {
			return f.bit
		}
	}
	return 0
}

var flags = [...]struct {
	name string
	bit  Directives
}{
	{"no-store", NoStore},
	{"no-cache", NoCache},
	{"private", Private},
	{"public", Public},
	{"must-revalidate", MustRevalidate},
	{"proxy-revalidate", ProxyRevalidate},
	{"must-understand", MustUnderstand},
	{"immutable", Immutable},
	{"no-transform", NoTransform},
	{"only-if-cached", OnlyIfCached},
}

// argument is the form of a directive's argument.
type argument uint8

const (
	bare     argument = iota // nothing
	token                    // =token
	quoted                   // ="text", without the quotes, escapes left in
	unusable                 // = followed by something else
)

// directive is a member of Cache-Control.
type directive struct {
	name, arg []byte
	kind      argument
}

// parseDirective parses token [ "=" ( token / quoted-string ) ] (RFC 9111, section 5.2).
// White space around the "=" makes it invalid.
func parseDirective(member []byte) (d directive, ok bool) {
	i := 0
	for i < len(member) && ascii.IsTokenByte(member[i]) {
		i++
	}
	d.name = member[:i]
	switch {
	case i == 0:
		return d, false
	case i == len(member):
		return d, true
	case member[i] != '=':
		return d, false
	}
	d.arg = member[i+1:]
	if len(d.arg) > 0 && (d.arg[0] == ' ' || d.arg[0] == '\t') {
		return d, false
	}
	d.classify()
	return d, true
}

// classify sets the form of the argument and removes quotes.
func (d *directive) classify() {
	switch text, ok := unquote(d.arg); {
	case ok:
		d.arg, d.kind = text, quoted
	case ascii.IsToken(d.arg):
		d.kind = token
	default:
		d.kind = unusable
	}
}

// unquote removes the quotes of a quoted string, which must span all of b.
func unquote(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[1:i], i == len(b)-1
		}
	}
	return nil, false
}

// unescape returns a quoted string's text without escaping backslashes.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	text := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) {
			i++
		}
		text = append(text, b[i])
	}
	return text
}

// seconds parses the argument as a number of seconds.
func (d *directive) seconds() (int64, bool) {
	if d.kind == bare || d.kind == unusable {
		return 0, false
	}
	return seconds(d.arg, d.kind == quoted)
}

// names returns the field names in the argument, in lower case; none if it contains none.
func (d *directive) names() (names []string) {
	if d.kind == bare || d.kind == unusable {
		return nil
	}
	arg := d.arg
	if d.kind == quoted {
		arg = unescape(arg)
	}
	for _, name := range bytes.Split(arg, []byte{','}) {
		if name = ascii.Trim(name); ascii.IsToken(name) {
			names = append(names, toLower(name))
		}
	}
	return names
}
