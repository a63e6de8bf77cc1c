package accel

import (
	"context"
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
)

// Client is an authenticated client of a front that speaks another protocol. It is a value
// for one request: its permissions are those of the settings at its creation.
type Client struct {
	svc       *Service
	principal *principal
}

// Client returns the client with the given access key ID. If signatures aren't required, any
// ID is accepted. It doesn't allocate.
func (s *Service) Client(id []byte) (c Client, ok bool) {
	set := s.settings.Load()
	if set.verifier == nil {
		return Client{s, set.anonymous}, true
	}
	p := set.byID[string(id)]
	return Client{s, p}, p != nil
}

// Serve answers x, a request in DynamoDB's own protocol as for Service.Serve, but without a
// signature. It checks the client's permissions and fills x.Record.
func (c Client) Serve(x *edge.Exchange) { c.principal.serve(x) }

// Allowed reports whether the client has an access to a table, given by name or ARN.
func (c Client) Allowed(access wire.Access, table []byte) bool {
	return c.principal.allows(access, tableOf(table))
}

// MayWrite reports whether the client may change items of at least one table.
func (c Client) MayWrite() bool { return c.principal.allow&(1<<wire.Write) != 0 }

// Schema is the key schema of a table.
type Schema struct{ Hash, Range KeyAttribute }

// KeyAttribute is a key attribute and its type: 'S', 'N' or 'B'. In a table without a sort
// key, Range has the name "".
type KeyAttribute struct {
	Name string
	Type byte
}

// Errors returned by Schema.
var (
	ErrNoTable      = errNoTable
	ErrUnknownTable = errors.New("the origin could not describe the table")
)

// CachedSchema returns the schema of a table if it is cached. It doesn't wait and doesn't
// allocate; a stale schema is refreshed in the background.
func (c Client) CachedSchema(name []byte, now time.Time) (*Schema, bool) {
	t := c.svc.peek(name)
	if t == nil || !t.known {
		return nil, false
	}
	c.svc.refreshIfStale(t, c.svc.cache.At(now))
	return &t.schema, true
}

// Schema returns the schema of a table. It fetches the schema if necessary.
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
