package jsonp

import (
	"testing"
)

// with returns a filter with the defaults of a mode, changed by set.
func with(t testing.TB, m Mode, set func(*Config)) *Filter {
	t.Helper()
	cfg := Defaults(m)
	if set != nil {
		set(&cfg)
	}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// scan reads a body in pieces of some bytes; 0: in one.
func scan(f *Filter, body string, piece int) Body {
	s := f.NewScanner()
	inPieces(body, piece, func(p []byte) { _, _ = s.Write(p) })
	return s.Body()
}

// inPieces passes body to f in pieces, in memory that is overwritten when f returns.
func inPieces(body string, piece int, f func(p []byte)) {
	if piece <= 0 {
		piece = len(body)
	}
	for len(body) > 0 {
		p := []byte(body[:min(piece, len(body))])
		body = body[len(p):]
		f(p)
		for i := range p {
			p[i] = '!'
		}
	}
}

// wrap returns the body as wrapped for an answer from the store.
func wrap(f *Filter, name, body string) string {
	c := f.Call([]byte(name), Wrapped, 200)
	b := scan(f, body, 0)
	return string(c.Append(nil, []byte(body), &b))
}
