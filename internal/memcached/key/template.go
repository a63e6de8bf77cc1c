package key

import (
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Template makes the bare key of a request: text in which each ${source} is replaced by the
// request's value. It is immutable.
//
//	${arg.NAME}     an argument of the query, as sent
//	${path.NAME}    a capture of the location's path
//	${header.NAME}  a header field
//	${cookie.NAME}  a cookie
//	${path}         the path, ${query} the query without its question mark, ${uri} both
//	${host}         the host in lower case, without its port
//	$$              a dollar
//
// ${source:-text} is replaced by text if the source is absent or empty. Without a default, a
// request that lacks a source has no key; an empty source is accepted. A request that has an
// argument, field or cookie twice, with different values, has no key either, because the
// application's choice is unknown.
type Template struct {
	text  string
	parts []part
}

// part is a text, or a source with its default.
type part struct {
	text       string // of source text; else the default of a source
	hasDefault bool   // there is a default
	from       source
	name       string
	at         int // index of the capture
}

type source uint8

const (
	fromText source = iota
	fromArg
	fromCapture
	fromHeader
	fromCookie
	fromPath
	fromQuery
	fromURI
	fromHost
)

// Sources returns the sources of a template, for the manual and messages.
func Sources() []string {
	return []string{"arg.NAME", "path.NAME", "header.NAME", "cookie.NAME", "path", "query", "uri", "host"}
}

var whole = map[string]source{"path": fromPath, "query": fromQuery, "uri": fromURI, "host": fromHost}

var named = map[string]source{"arg": fromArg, "path": fromCapture, "header": fromHeader, "cookie": fromCookie}

// Parse parses a template for a location with the given path and its captures. The error is
// an *Error.
func Parse(text string, p *Path) (*Template, error) {
	t := &Template{text: text}
	if text == "" {
		return nil, &Error{text, 0, "an empty key"}
	}
	for at := 0; at < len(text); {
		n := strings.IndexByte(text[at:], '$')
		if n < 0 {
			n = len(text) - at
		}
		if n > 0 {
			t.literal(text[at : at+n])
			at += n
			continue
		}
		next, err := t.parseDollar(at, p)
		if err != nil {
			return nil, err
		}
		at = next
	}
	return t, nil
}

func (t *Template) literal(s string) {
	if n := len(t.parts); n > 0 && t.parts[n-1].from == fromText {
		t.parts[n-1].text += s
		return
	}
	t.parts = append(t.parts, part{text: s})
}

// parseDollar parses a dollar at a byte and returns the index behind its source.
func (t *Template) parseDollar(at int, p *Path) (next int, err error) {
	rest := t.text[at+1:]
	if strings.HasPrefix(rest, "$") {
		t.literal("$")
		return at + 2, nil
	}
	end := strings.IndexByte(rest, '}')
	if !strings.HasPrefix(rest, "{") || end < 0 {
		return 0, &Error{t.text, at, "a dollar precedes a source in braces, as in ${arg.id}, or is written twice"}
	}
	spec, text, or := strings.Cut(rest[1:end], ":-")
	q := part{text: text, hasDefault: or}
	if err := t.parseSource(&q, spec, at+2, p); err != nil {
		return 0, err
	}
	t.parts = append(t.parts, q)
	return at + 1 + end + 1, nil
}

// parseSource parses the source in spec, which begins at a byte.
func (t *Template) parseSource(q *part, spec string, at int, p *Path) error {
	kind, name, dotted := strings.Cut(spec, ".")
	table := whole
	if dotted {
		table = named
	}
	from, known := table[kind]
	if !known {
		return &Error{t.text, at, fmt.Sprintf("no source is called %s; there are %s", spec, strings.Join(Sources(), ", "))}
	}
	q.from, q.name = from, name
	switch {
	case !dotted:
	case name == "":
		return &Error{t.text, at + len(kind) + 1, "the name is missing: " + kind + ".NAME"}
	case (from == fromHeader || from == fromCookie) && !ascii.IsToken(name):
		return &Error{t.text, at + len(kind) + 1, fmt.Sprintf("nothing can be called %q there", name)}
	case from == fromCapture:
		if q.at = p.index(name); q.at < 0 {
			return &Error{t.text, at + len(kind) + 1, fmt.Sprintf("the path %s captures nothing called %s", p, name)}
		}
	}
	return nil
}

// String returns the template as it was written.
func (t *Template) String() string { return t.text }

// Headers returns the header fields that the key depends on, as written in the template.
func (t *Template) Headers() []string { return t.names(fromHeader) }

// Cookies returns the cookies that the key depends on.
func (t *Template) Cookies() []string { return t.names(fromCookie) }

func (t *Template) names(from source) (names []string) {
	for i := range t.parts {
		if t.parts[i].from == from {
			names = append(names, t.parts[i].name)
		}
	}
	return names
}
