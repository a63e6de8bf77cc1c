package key

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Request has the parts of a request that templates use. Its slices belong to the exchange.
type Request struct {
	// Path and Query are as received, the query without its question mark and without a
	// callback. Query is nil if there is none.
	Path, Query []byte
	Host        []byte
	Fields      http1.Fields
	// Captures are the captures of the location's path.
	Captures Captures
	// Decode decodes the percent-encoding of arguments, paths and captures, and the plus
	// sign of an argument to a space. A malformed text has no key.
	Decode bool
}

// Append appends the bare key of q to dst. If q has no key, it returns false, and the
// appended bytes are meaningless.
func (t *Template) Append(dst []byte, q *Request) ([]byte, bool) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.from == fromText {
			dst = append(dst, p.text...)
			continue
		}
		n, ok := len(dst), false
		if dst, ok = p.append(dst, q); !ok {
			return dst, false
		}
		if len(dst) == n && p.hasDefault {
			dst = append(dst, p.text...)
		}
	}
	return dst, true
}

// append appends the value of a source.
func (p *part) append(dst []byte, q *Request) ([]byte, bool) {
	switch p.from {
	case fromArg:
		v, found := argument(q.Query, p.name)
		return p.found(dst, v, found, q.Decode, true)
	case fromCapture:
		return p.found(dst, q.Captures[p.at], once, q.Decode, false)
	case fromHeader:
		v, found := field(q.Fields, p.name)
		return p.found(dst, v, found, false, false)
	case fromCookie:
		v, found := cookie(q.Fields, p.name)
		return p.found(dst, v, found, false, false)
	case fromPath:
		return p.found(dst, q.Path, once, q.Decode, false)
	case fromQuery:
		found := once
		if q.Query == nil {
			found = absent
		}
		return p.found(dst, q.Query, found, false, false)
	case fromURI:
		dst = append(dst, q.Path...)
		if q.Query != nil {
			dst = append(append(dst, '?'), q.Query...)
		}
		return dst, true
	}
	return appendHost(dst, q.Host), true
}

// occurrences is the number of values found for a name.
type occurrences uint8

const (
	absent occurrences = iota
	once               // or more often with the same value
	differs
)

// found appends the value that was found, or the default.
func (p *part) found(dst, v []byte, n occurrences, decode, plus bool) ([]byte, bool) {
	switch {
	case n == differs:
		return dst, false
	case n == absent:
		return dst, p.hasDefault
	case decode:
		return appendDecoded(dst, v, plus)
	}
	return append(dst, v...), true
}

// argument returns the value of an argument, not decoded. Names are compared decoded, as
// applications do.
func argument(query []byte, name string) (v []byte, n occurrences) {
	for len(query) > 0 {
		var a []byte
		a, query, _ = bytes.Cut(query, ampersand)
		k, value, _ := bytes.Cut(a, equals)
		if !nameIs(k, name) {
			continue
		}
		if n == once && !bytes.Equal(v, value) {
			return nil, differs
		}
		v, n = value, once
	}
	return v, n
}

// nameIs reports whether an argument's name, decoded, is name.
func nameIs(k []byte, name string) bool {
	if len(k) == len(name) {
		return string(k) == name
	}
	if len(k) < len(name) || bytes.IndexByte(k, '%') < 0 {
		return false
	}
	i := 0
	for len(k) > 0 {
		c, size := unescape(k)
		if i == len(name) || c != name[i] {
			return false
		}
		k, i = k[max(size, 1):], i+1
	}
	return i == len(name)
}

// field returns the value of a header field.
func field(fields http1.Fields, name string) (v []byte, n occurrences) {
	for i := range fields {
		if !fields[i].Is(name) {
			continue
		}
		if n == once && !bytes.Equal(v, fields[i].Value) {
			return nil, differs
		}
		v, n = fields[i].Value, once
	}
	return v, n
}

// cookie returns the value of a cookie.
func cookie(fields http1.Fields, name string) (v []byte, n occurrences) {
	for i := range fields {
		if !fields[i].Is("cookie") {
			continue
		}
		for left := fields[i].Value; len(left) > 0; {
			pair, after, _ := bytes.Cut(left, semicolon)
			left = after
			k, value, ok := bytes.Cut(bytes.TrimLeft(pair, " \t"), equals)
			if !ok || string(k) != name {
				continue
			}
			if n == once && !bytes.Equal(v, value) {
				return nil, differs
			}
			v, n = value, once
		}
	}
	return v, n
}

var ampersand, semicolon, equals = []byte("&"), []byte(";"), []byte("=")

// appendHost appends a host in lower case without its port.
func appendHost(dst, host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		host = host[:i]
	}
	return ascii.AppendLower(dst, host)
}
