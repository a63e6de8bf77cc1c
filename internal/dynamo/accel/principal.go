package accel

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/glob"
)

// principal is a client's key and what it may do. It is immutable.
type principal struct {
	id        string
	tables    []string
	allTables bool // tables holds "*"
	allow     uint8
	serve     func(x *edge.Exchange) // see Admit
}

// anonymous may do everything: auth mode none.
var anonymous = &principal{id: "anonymous", allTables: true, allow: 0xff}

func newPrincipal(k Key) *principal {
	p := &principal{id: k.ID, tables: k.Tables}
	for _, t := range k.Tables {
		p.allTables = p.allTables || t == "*"
	}
	for _, a := range k.Allow {
		p.allow |= 1 << a
	}
	return p
}

// allows tells whether the principal has the access on the table. An empty name is
// "can't be told" or "none": only for those who may use every table.
func (p *principal) allows(access wire.Access, table []byte) bool {
	if p.allow&(1<<access) == 0 {
		return false
	}
	if p.allTables {
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
