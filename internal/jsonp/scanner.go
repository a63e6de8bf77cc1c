package jsonp

// Body is the result of scanning a whole body. It is valid for filters of one mode (see
// Filter.Alike). The zero Body is an empty one.
type Body struct {
	// From and To bound the part that is put into the call.
	From, To int64
	// Separators is the number of U+2028 and U+2029 in that part. Without any, the wrapped
	// body consists of three slices.
	Separators int64
	Kind       Kind
}

// Kind classifies a body by its beginning.
type Kind uint8

const (
	// Unseen is a body that was not scanned. It is treated as JSON.
	Unseen Kind = iota
	// Empty is a body of white space only.
	Empty
	// JSON is a body that begins as JSON does.
	JSON
	// Other is any other body.
	Other
)

// empty reports whether there is nothing in it to wrap.
func (b *Body) empty() bool { return b.Kind == Empty || b.wrapped() == 0 }

// wrapped returns the body's length within a call.
func (b *Body) wrapped() int64 { return b.To - b.From + growth*b.Separators }

// Scanner scans a body in pieces. It never fails, and belongs to one goroutine.
type Scanner struct {
	clean  cleaner
	total  int64
	prefix prefix
}

// NewScanner returns a scanner for one body.
func (f *Filter) NewScanner() *Scanner {
	s := f.scanner()
	return &s
}

func (f *Filter) scanner() Scanner { return Scanner{clean: cleaner{verbatim: f.cfg.Mode == Legacy}} }

// Scan scans a whole body.
func (f *Filter) Scan(body []byte) Body {
	s := f.NewScanner()
	_, _ = s.Write(body) // it never fails
	return s.Body()
}

// Reset begins another body.
func (s *Scanner) Reset() { *s = Scanner{clean: cleaner{verbatim: s.clean.verbatim}} }

// Write scans the next piece.
func (s *Scanner) Write(p []byte) (int, error) {
	s.total += int64(len(p))
	return len(p), s.clean.clean(p, &s.prefix)
}

// Body returns the result for all pieces. Nothing can be written after it.
func (s *Scanner) Body() Body {
	space, _ := s.clean.finish(&s.prefix) // it never fails
	b := Body{To: s.total - int64(len(space)), Separators: s.clean.separators, Kind: s.prefix.kind()}
	if s.clean.verbatim && s.total > 0 {
		b.Kind = JSON
	}
	if s.clean.hasMark() {
		b.From = int64(len(mark))
	}
	return b
}

// Look classifies a body by its beginning: all of it, or its leading white space and more
// than 16 bytes.
func (f *Filter) Look(start []byte) Kind {
	body := f.Scan(start)
	return body.Kind
}

// prefix has the first bytes of a body behind its leading white space.
type prefix struct {
	b [len("false") + 1]byte
	n int
}

func (b *prefix) write(p []byte) error {
	if b.n == len(b.b) {
		return nil
	}
	for b.n == 0 && len(p) > 0 && isSpace(p[0]) {
		p = p[1:]
	}
	b.n += copy(b.b[b.n:], p)
	return nil
}

func (b *prefix) kind() Kind {
	if b.n == 0 {
		return Empty
	}
	switch c := b.b[0]; {
	case c == '{' || c == '[' || c == '"' || c == '-' || isDigit(c):
		return JSON
	case c == 't' && b.is("true"), c == 'f' && b.is("false"), c == 'n' && b.is("null"):
		return JSON
	}
	return Other
}

// is reports whether the body is that word, followed only by white space.
func (b *prefix) is(word string) bool {
	n := len(word)
	return b.n >= n && string(b.b[:n]) == word && (b.n == n || isSpace(b.b[n]))
}
