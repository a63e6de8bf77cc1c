package accel

import (
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/glob"
)

// principal is a client's key and its permissions. It is immutable.
type principal struct {
	id        string
	tables    []string
	allTables bool // tables contains "*"
	allow     uint8
	serve     func(x *edge.Exchange) // see Admit
}

// anonymous has all permissions: auth mode none.
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

// allows reports whether the principal has the access to the table. An empty name, for an
// unknown table or none, requires access to all tables.
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
