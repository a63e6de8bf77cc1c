package nginximport

import (
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// scope is a block and the blocks that enclose it, the outermost first.
type scope []nginxconf.Block

func (s scope) in(b nginxconf.Block) scope { return append(s[:len(s):len(s)], b) }

// own returns the innermost block.
func (s scope) own() nginxconf.Block { return s[len(s)-1] }

// last returns the directive of that name that applies in the scope: that of the innermost
// block with one.
func (s scope) last(name string) *nginxconf.Directive {
	for i := len(s) - 1; i >= 0; i-- {
		if d := s[i].Last(name); d != nil {
			return d
		}
	}
	return nil
}

// all returns the directives of a name that adds up within a block: those of the innermost
// block that has any.
func (s scope) all(name string) []*nginxconf.Directive {
	for i := len(s) - 1; i >= 0; i-- {
		if list := s[i].Named(name); len(list) > 0 {
			return list
		}
	}
	return nil
}

// variables returns the directives set by the name of their variable, without the dollar. A
// block overrides the blocks around it.
func (s scope) variables() map[string]*nginxconf.Directive {
	vars := map[string]*nginxconf.Directive{}
	for _, b := range s {
		for _, d := range b.Named("set") {
			vars[strings.TrimPrefix(d.Arg(0), "$")] = d
		}
	}
	return vars
}

// on reports whether an on/off directive is on.
func (s scope) on(name string) bool {
	d := s.last(name)
	return d != nil && d.Arg(0) == "on"
}
