package accel

import (
	"context"
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// Client is somebody who may ask, for fronts that speak another protocol and find out on
// their own who asks. It is a value, and good for one request: what its key may do is what
// the settings said when it was made.
type Client struct {
	svc       *Service
	principal *principal
}

// AllowsAnonymous tells whether everybody is let in.
func (s *Service) AllowsAnonymous() bool { return s.settings.Load().verifier == nil }

// Client finds the client with an access key's id, whatever id is if the service is open.
// It allocates nothing.
func (s *Service) Client(id []byte) (c Client, ok bool) {
	set := s.settings.Load()
	if set.verifier == nil {
		return Client{s, set.anonymous}, true
	}
	who := set.byID[string(id)]
	return Client{s, who}, who != nil
}

// Serve answers x, which says what is asked in DynamoDB's own protocol as Serve wants it, but
// for a signature. It checks what the client may do, and writes x.Record as Serve does.
func (c Client) Serve(x *edge.Exchange) { c.principal.serve(x) }

// Allowed tells whether the client has an access on a table, which is named or given by its ARN.
func (c Client) Allowed(access wire.Access, table []byte) bool {
	return c.principal.allows(access, tableOf(table))
}

// MayWrite tells whether the client may change items of any table.
func (c Client) MayWrite() bool { return c.principal.allow&(1<<wire.Write) != 0 }

// Schema is the key of a table.
type Schema struct{ Hash, Range KeyAttribute }

// KeyAttribute is an attribute of a key and its type: 'S', 'N' or 'B'. Range's name is ""
// in a table without a sort key.
type KeyAttribute struct {
	Name string
	Type byte
}

// What Schema fails with.
var (
	ErrNoTable      = errNoTable
	ErrUnknownTable = errors.New("the origin could not tell about the table")
)

// CachedSchema returns the key of a table if it is known, now, without asking anybody. It
// allocates nothing, but what it has found may be being learnt anew.
func (c Client) CachedSchema(name []byte, now time.Time) (*Schema, bool) {
	t := c.svc.peek(name)
	if t == nil || !t.known {
		return nil, false
	}
	c.svc.refreshIfStale(t, c.svc.cache.At(now))
	return &t.schema, true
}

// Schema returns the key of a table, after asking the origin if need be.
func (c Client) Schema(ctx context.Context, name []byte) (*Schema, error) {
	t := c.svc.table(ctx, name)
	switch {
	case t.known:
		return &t.schema, nil
	case t.missing:
		return nil, ErrNoTable
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, ErrUnknownTable
}
