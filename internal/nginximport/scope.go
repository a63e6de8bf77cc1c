package nginximport

import (
	"strings"

	"github.com/kasoku/kasoku/internal/nginxconf"
)

// scope is a block with those that it stands in, the outermost first.
type scope []nginxconf.Block

func (s scope) in(b nginxconf.Block) scope { return append(s[:len(s):len(s)], b) }

// own is the innermost block.
func (s scope) own() nginxconf.Block { return s[len(s)-1] }

// last is the directive of that name that holds in the scope: nginx takes the innermost.
func (s scope) last(name string) *nginxconf.Directive {
	for i := len(s) - 1; i >= 0; i-- {
		if d := s[i].Last(name); d != nil {
			return d
		}
	}
	return nil
}

// all lists directives of which one more adds to others: those of the innermost block that
// has any.
func (s scope) all(name string) []*nginxconf.Directive {
	for i := len(s) - 1; i >= 0; i-- {
		if list := s[i].Named(name); len(list) > 0 {
			return list
		}
	}
	return nil
}

// variables are what set gives names to, the dollar left out. A block's own come last.
func (s scope) variables() map[string]*nginxconf.Directive {
	vars := map[string]*nginxconf.Directive{}
	for _, b := range s {
		for _, d := range b.Named("set") {
			vars[strings.TrimPrefix(d.Arg(0), "$")] = d
		}
	}
	return vars
}

// on tells whether a directive that is on or off is on.
func (s scope) on(name string) bool {
	d := s.last(name)
	return d != nil && d.Arg(0) == "on"
}
