package jsonp

// Body is what is to be known of a whole body before it is wrapped. It goes with one
// Filter's mode. The zero Body is an empty one.
type Body struct {
	// From and To bound what is put into the call.
	From, To int64
	// Separators is how many U+2028 and U+2029 are in there. Without any, the wrapped
	// body is made of three slices.
	Separators int64
	Kind       Kind
}

// Kind is what a body looks like from its beginning.
type Kind uint8

const (
	// Unseen is a body that nobody has looked at: it counts as JSON.
	Unseen Kind = iota
	// Empty is one that has nothing but white space.
	Empty
	// JSON is one that begins as JSON does.
	JSON
	// Other is what begins as no JSON does.
	Other
)

// empty tells whether there is nothing in it that means something.
func (b *Body) empty() bool { return b.Kind == Empty || b.wrapped() == 0 }

// wrapped is how long the body gets in a call.
func (b *Body) wrapped() int64 { return b.To - b.From + growth*b.Separators }

// Scanner reads a body in pieces. It never fails, and belongs to one goroutine.
type Scanner struct {
	clean  cleaner
	total  int64
	prefix prefix
}

// NewScanner makes a scanner for one body.
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

// Write takes the next piece.
func (s *Scanner) Write(p []byte) (int, error) {
	s.total += int64(len(p))
	return len(p), s.clean.clean(p, &s.prefix)
}

// Body is what has come, as a whole: nothing can be written after it.
func (s *Scanner) Body() Body {
	space, _ := s.clean.finish(&s.prefix) // begin never fails
	b := Body{To: s.total - int64(len(space)), Separators: s.clean.separators, Kind: s.prefix.kind()}
	if s.clean.verbatim && s.total > 0 {
		b.Kind = JSON
	}
	if s.clean.hasMark() {
		b.From = int64(len(mark))
	}
	return b
}

// Look says what a body is by its beginning: all of it, or more than its leading white
// space and 16 bytes.
func (f *Filter) Look(start []byte) Kind {
	body := f.Scan(start)
	return body.Kind
}

// prefix remembers the first bytes that mean something.
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

// is tells whether the body is that word, with nothing but white space behind it.
func (b *prefix) is(word string) bool {
	n := len(word)
	return b.n >= n && string(b.b[:n]) == word && (b.n == n || isSpace(b.b[n]))
}
