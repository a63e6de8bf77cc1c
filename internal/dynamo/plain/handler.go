package plain

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/glob"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// Service is the dynamodb service that the routes stand before.
type Service interface {
	// Serve answers what is no route: DynamoDB's own protocol.
	edge.Handler
	// Admit finds out who sent x and returns what answers exchanges in that
	// client's name; nil when it has answered x with a refusal.
	Admit(x *edge.Exchange) (ask func(x *edge.Exchange))
}

// Config says how plain items are read.
type Config struct {
	// Lists keeps an array of only numbers, or of only strings, a list. Otherwise
	// it becomes a set, as in bbpd.
	Lists bool
	// Tables are exceptions for tables by pattern; the first match counts.
	Tables []TableRule
	// JSONP wraps answers to GET and HEAD for callbacks; nil: none.
	JSONP *jsonp.Filter
}

// TableRule is an exception for some tables. Nil leaves the service's value.
type TableRule struct {
	Pattern string
	Lists   *bool
}

// lists tells whether arrays of scalars stay lists in a table.
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

// Handler answers bbpd's routes. It is an edge.Handler.
type Handler struct {
	name    string
	service Service
	cfg     atomic.Pointer[Config]
	stats   *stats
}

var _ edge.Handler = (*Handler)(nil)

// New makes the routes of the service that is called name.
func New(name string, service Service, cfg Config) *Handler {
	h := &Handler{name: name, service: service, stats: newStats()}
	h.Configure(cfg)
	return h
}

// Configure puts a new configuration in force for requests that begin from now on.
func (h *Handler) Configure(cfg Config) { h.cfg.Store(&cfg) }

// Serve answers one exchange.
func (h *Handler) Serve(x *edge.Exchange) {
	r, rest := findRoute(&x.Request)
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
