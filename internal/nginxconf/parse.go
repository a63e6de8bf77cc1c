// Package nginxconf reads nginx's configuration files into directives. It knows nginx's
// grammar and none of its directives, so that what is written in a file can be told with
// its line whether or not anybody understands it.
package nginxconf

import "fmt"

// Directive is one directive of a file.
type Directive struct {
	Line  int // where its name stands, from 1
	Name  string
	Args  []string // without quotes and with escapes undone
	Block Block    // what stands in braces behind it; nil if it ends with a semicolon
	// Raw is what stands in the braces of a *_by_lua_block, which is not nginx's grammar.
	Raw string
}

// Block is a list of directives. A block without any is empty and not nil.
type Block []*Directive

// Arg is the argument of that index, or "" if there is none.
func (d *Directive) Arg(i int) string {
	if i >= 0 && i < len(d.Args) {
		return d.Args[i]
	}
	return ""
}

// Named lists b's own directives with one of the names, in their order.
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

// Last is b's own last directive of that name, or nil.
func (b Block) Last(name string) *Directive {
	list := b.Named(name)
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// Error is a mistake in a file.
type Error struct {
	File string
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// deepest bounds how deep blocks may stand in each other.
const deepest = 32

// parser reads directives off a scanner.
type parser struct {
	scanner
	file string
}

// Parse reads a file, or a part of one. The error is an *Error.
func Parse(file string, data []byte) (Block, error) {
	p := &parser{scanner: scanner{text: string(data), line: 1}, file: file}
	return p.block(0, 0)
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &Error{p.file, line, fmt.Sprintf(format, args...)}
}

// block reads directives until the brace that ends it or, outside of any, the file's end.
// opened is the line of the brace that began it.
func (p *parser) block(depth, opened int) (Block, error) {
	if depth > deepest {
		return nil, p.fail(opened, "blocks stand more than %d deep in each other", deepest)
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

// directive reads what follows a directive's name.
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
