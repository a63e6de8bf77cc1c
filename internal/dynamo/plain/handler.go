package plain

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// Service is the dynamodb service behind the routes.
type Service interface {
	// Serve serves requests that match no route: DynamoDB's own protocol.
	edge.Handler
	// Admit authenticates the sender of x. It returns a function that serves exchanges on
	// behalf of that client, or nil if it has answered x with an error.
	Admit(x *edge.Exchange) (serve func(x *edge.Exchange))
}

// Config configures the conversion of plain items.
type Config struct {
	// Lists keeps an array of only numbers or only strings a list. If false, it becomes a
	// set, as in bbpd.
	Lists bool
	// Tables are exceptions for tables by pattern; the first match applies.
	Tables []TableRule
	// JSONP wraps replies to GET and HEAD in callbacks; nil disables it.
	JSONP *jsonp.Filter
}

// TableRule is an exception for some tables. Nil fields inherit the service's value.
type TableRule struct {
	Pattern string
	Lists   *bool
}

// lists reports whether arrays of scalars are kept as lists in a table.
func (c *Config) lists(table []byte) bool {
	for i := range c.Tables {
		if t := &c.Tables[i]; glob.Match(t.Pattern, table) {
			if t.Lists != nil {
				return *t.Lists
			}
			break
		}
	}
	return c.Lists
}

// Handler serves bbpd's routes. It is an edge.Handler.
type Handler struct {
	name    string
	service Service
	cfg     atomic.Pointer[Config]
	stats   *stats
	routes  *routeTable
}

var _ edge.Handler = (*Handler)(nil)

// New returns a handler with the routes of the service called name.
func New(name string, service Service, cfg Config) *Handler {
	h := &Handler{name: name, service: service, stats: newStats(), routes: newRouteTable()}
	h.Configure(cfg)
	return h
}

// Configure applies a new configuration to requests that begin from now on.
func (h *Handler) Configure(cfg Config) { h.cfg.Store(&cfg) }

// Serve serves one exchange.
func (h *Handler) Serve(x *edge.Exchange) {
	r, rest := h.routes.find(&x.Request)
	if r == nil {
		h.service.Serve(x)
		h.stats.record(x)
		return
	}
	t := tasks.Get().(*task)
	t.begin(h, x, r, rest)
	defer t.end()
	t.serve()
	h.stats.record(x)
}
