package feed

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Client is a client of a live feed.
type Client struct {
	// DB is the database's name, unescaped.
	DB string
	// Nodes are the nodes whose feeds the client may get, in order: each is used only if the
	// ones before it can't be reached. The first should be the same for all clients that
	// follow a database, and for all other requests that return positions in it.
	Nodes []int
	// MayRead reports whether the client may read the database. The client's goroutine calls
	// it at the start and then every Config.Recheck. A client that loses the permission is
	// cut.
	MayRead func(ctx context.Context) bool
}

// maxBody is the maximum size of a POST's body, with document ids or a selector, of a shared
// feed.
const maxBody = 64 << 10

// Serve answers a request for a live _changes feed from a shared feed, and returns when the
// feed has ended. It returns false, and has sent nothing, if the client should get a feed of
// its own: the request can't be shared, the node refuses it, or the client may not read the
// database.
func (f *Feeds) Serve(x *edge.Exchange, c Client) bool {
	arrived := time.Now()
	r := &x.Request
	q, ok := ParseQuery(string(r.RawQuery), string(r.Fields.Get("Last-Event-ID")))
	if !ok {
		return false
	}
	s := source{db: c.DB, shared: q.shared, design: q.design, filtered: q.filtered, method: string(r.Method)}
	switch s.method {
	case http.MethodGet:
	case http.MethodPost:
		if r.Fields.Get("X-HTTP-Method-Override") != nil {
			return false
		}
		body, err := x.ReadBody(maxBody)
		if err != nil {
			return false
		}
		s.body = body
	default:
		return false
	}
	s.ownCredentials = f.cfg.OwnCredentials && !q.filterSeesRequest
	if s.header, ok = sharedHeader(r.Fields, s.method, q.filterSeesRequest, s.ownCredentials); !ok {
		return false
	}
	ctx := x.Context()
	if !c.MayRead(ctx) {
		return false
	}
	for _, s.node = range c.Nodes {
		n := &session{feeds: f, query: &q, out: &answer{x: x}, mayRead: c.MayRead, arrived: arrived}
		switch f.serveFrom(ctx, x.Stopping(), n, &s) {
		case served:
			return true
		case unavailable:
			x.Reply.Status, x.Record.Decision, x.Record.Reason = http.StatusServiceUnavailable, telemetry.Local, "busy"
			return true
		case passOn:
			return false
		}
	}
	return false
}

// maxAttempts is how often a design document may change while a client joins.
const maxAttempts = 3

// serveFrom serves n from the feed of s until it ends.
func (f *Feeds) serveFrom(ctx context.Context, stopping <-chan struct{}, n *session, s *source) sessionResult {
	for range maxAttempts {
		if n.group = f.join(s); n.group == nil {
			return passOn
		}
		o := n.run(ctx, stopping)
		if o == filterChanged {
			f.retire(n.group)
		}
		f.leave(n.group)
		if o != filterChanged {
			return o
		}
	}
	return passOn
}

// answer is an outlet that writes to an exchange.
type answer struct {
	x *edge.Exchange
	*edge.Outgoing
}

func (a *answer) begin(f Form, header http1.Fields) (err error) {
	r := &a.x.Reply
	r.Status = http.StatusOK
	for i := range header {
		if h := &header[i]; !isOwnField(h.Name) {
			r.FieldBytes(string(h.Name), h.Value)
		}
	}
	switch {
	case f == Eventsource:
		r.Field("Content-Type", "text/event-stream")
		r.Field("Cache-Control", "no-cache")
	case acceptsJSON(a.x.Request.Fields):
		r.Field("Content-Type", "application/json")
		r.Field("Cache-Control", "must-revalidate")
	default:
		r.Field("Content-Type", "text/plain; charset=utf-8")
		r.Field("Cache-Control", "must-revalidate")
	}
	a.x.Record.Decision, a.x.Record.Reason = telemetry.Coalesced, "feed"
	r.Field("Cache-Status", "kasoku; "+telemetry.Coalesced.CacheStatus())
	a.Outgoing, err = a.x.Stream(-1)
	return err
}

// isOwnField reports whether a field of the node's answer applies to that answer only, or is
// written by other code here.
func isOwnField(name []byte) bool {
	return slices.Contains([]string{
		"connection", "keep-alive", "transfer-encoding", "content-length", "trailer", "upgrade", "te", "proxy-connection", "date",
		"content-type", "cache-control", "cache-status", "set-cookie", "etag", "x-couch-request-id", "x-couchdb-body-time", "x-request-id",
	}, strings.ToLower(string(name)))
}

// acceptsJSON reports whether CouchDB would label its answer as JSON.
func acceptsJSON(h http1.Fields) bool {
	accept := string(h.Get("Accept"))
	return accept == "" || slices.ContainsFunc([]string{"application/json", "*/*", "application/*"}, func(kind string) bool {
		return strings.Contains(accept, kind)
	})
}

// sharedHeader returns the sorted fields of a request that may affect the content of its
// feed: the credentials, unless the feed is read with Kasoku's; Origin; and, if the filter
// sees the request, all fields that don't concern the connection or the client's position.
// ok is false if the request can't be shared, because a proxy in front vouches for its user.
func sharedHeader(h http1.Fields, method string, all, ours bool) (kept http1.Fields, ok bool) {
	kept = http1.FieldsOf("Accept", "application/json")
	if accept := h.Get("Accept"); all && accept != nil {
		kept[0].Value = accept
	}
	if method == http.MethodPost {
		kept = append(kept, http1.Field{Name: []byte("Content-Type"), Value: h.Get("Content-Type")})
	}
	for i := range h {
		name := strings.ToLower(string(h[i].Name))
		credential := name == "authorization" || name == "cookie"
		switch {
		case strings.HasPrefix(name, "x-auth-couchdb-") && !ours:
			return nil, false
		case name == "origin", credential && !ours, all && !credential && !isIrrelevant(name):
			kept = append(kept, h[i])
		}
	}
	slices.SortStableFunc(kept[1:], func(a, b http1.Field) int {
		return strings.Compare(strings.ToLower(string(a.Name)), strings.ToLower(string(b.Name)))
	})
	return kept, true
}

// isIrrelevant reports whether a filter has no use for a field: it concerns the connection,
// the route through proxies, or the client's position.
func isIrrelevant(name string) bool {
	switch name {
	case "host", "accept", "content-type", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade", "expect",
		"last-event-id", "accept-encoding", "cache-control", "pragma", "if-none-match", "range", "if-range", "via", "forwarded",
		"x-http-method-override", "x-http-method", "x-method-override", "x-request-id", "x-couch-request-id", "traceparent", "tracestate":
		return true
	}
	return strings.HasPrefix(name, "x-forwarded-") || strings.HasPrefix(name, "proxy-")
}
