// Package nginxconf parses nginx's configuration files into directives. It implements
// nginx's grammar and none of its directives, so that a caller can report any directive of a
// file with its line.
package nginxconf

import "fmt"

// Directive is one directive of a file.
type Directive struct {
	Line  int // of its name, from 1
	Name  string
	Args  []string // with quotes removed and escapes decoded
	Block Block    // the directives in its braces; nil if it ends with a semicolon
	// Raw is the text in the braces of a *_by_lua_block, which is not nginx's grammar.
	Raw string
}

// Block is a list of directives. A block without directives is empty and not nil.
type Block []*Directive

// Arg returns the i-th argument, or "" if there is none.
func (d *Directive) Arg(i int) string {
	if i >= 0 && i < len(d.Args) {
		return d.Args[i]
	}
	return ""
}

// Named returns the directives of b itself that have one of the names, in order.
func (b Block) Named(names ...string) (list []*Directive) {
	for _, d := range b {
		for _, name := range names {
			if d.Name == name {
				list = append(list, d)
			}
		}
	}
	return list
}

// Last returns the last directive of b itself with the name, or nil.
func (b Block) Last(name string) *Directive {
	list := b.Named(name)
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// Error is a syntax error in a file.
type Error struct {
	File string
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// maxDepth is how deep blocks may be nested.
const maxDepth = 32

// parser builds directives from the tokens of a scanner.
type parser struct {
	scanner
	file string
}

// Parse parses a file or a part of one. The error is an *Error.
func Parse(file string, data []byte) (Block, error) {
	p := &parser{scanner: scanner{text: string(data), line: 1}, file: file}
	return p.block(0, 0)
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &Error{p.file, line, fmt.Sprintf(format, args...)}
}

// block parses directives up to the closing brace or, at depth 0, the end of the file.
// opened is the line of the opening brace.
func (p *parser) block(depth, opened int) (Block, error) {
	if depth > maxDepth {
		return nil, p.fail(opened, "blocks are nested more than %d deep", maxDepth)
	}
	list := Block{}
	for {
		t, err := p.next()
		if err != nil {
			return nil, p.fail(t.line, "%v", err)
		}
		switch {
		case t.kind == end && depth > 0:
			return nil, p.fail(opened, "the block that begins here does not end")
		case t.kind == end:
			return list, nil
		case t.kind == closing && depth > 0:
			return list, nil
		case t.kind != word:
			return nil, p.fail(t.line, "%q where a directive should begin", t.text)
		}
		d, err := p.directive(t, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
}

// directive parses the rest of a directive after its name.
func (p *parser) directive(name token, depth int) (*Directive, error) {
	d := &Directive{Line: name.line, Name: name.text}
	for {
		t, err := p.next()
		if err != nil {
			return nil, p.fail(t.line, "%v", err)
		}
		switch t.kind {
		case word:
			d.Args = append(d.Args, t.text)
		case semicolon:
			return d, nil
		case opening:
			if isLua(d.Name) {
				if d.Raw, err = p.raw(); err != nil {
					return nil, p.fail(t.line, "%v", err)
				}
				return d, nil
			}
			d.Block, err = p.block(depth+1, t.line)
			return d, err
		default:
			return nil, p.fail(d.Line, "%s ends neither with a semicolon nor with a block", d.Name)
		}
	}
}
