package accel

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/glob"
)

// principal is a client's key and what it may do. It is immutable.
type principal struct {
	id     string
	tables []string
	every  bool // tables holds "*"
	allow  uint8
	ask    func(x *edge.Exchange) // see Admit
}

// anybody may do everything: auth mode none.
var anybody = &principal{id: "anonymous", every: true, allow: 0xff}

func newPrincipal(k Key) *principal {
	p := &principal{id: k.ID, tables: k.Tables}
	for _, t := range k.Tables {
		p.every = p.every || t == "*"
	}
	for _, a := range k.Allow {
		p.allow |= 1 << a
	}
	return p
}

// may tells whether the principal has the access on the table. An empty name is
// "can't be told" or "none": only for those who may use every table.
func (p *principal) may(access wire.Access, table []byte) bool {
	if p.allow&(1<<access) == 0 {
		return false
	}
	if p.every {
		return true
	}
	if len(table) == 0 {
		return false
	}
	for _, pattern := range p.tables {
		if glob.Match(pattern, table) {
			return true
		}
	}
	return false
}
