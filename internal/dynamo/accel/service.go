package accel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/scope"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// Service is a dynamodb service. It is an edge.Handler.
type Service struct {
	name     string
	space    *cache.Space
	cache    *cache.Cache
	log      *slog.Logger
	registry *telemetry.Registry
	metrics  *metrics
	keys     *hotkeys.Keys
	tables   *tables
	failures origin.FailureLog
	calls    sync.Pool
	feeds    *feeds
	ledger   *ledger.Ledger // nil if requests aren't accounted for
	changes  Changes        // nil if changes aren't counted
	shapes   shapes
	verify   *verifier
	unshare  func() // ends the answers to other nodes
	settings atomic.Pointer[settings]
}

var _ edge.Handler = (*Service)(nil)

// New returns a service that stores its entries in space. It doesn't contact the origin yet.
func New(cfg Config, space *cache.Space, registry *telemetry.Registry, log *slog.Logger) (*Service, error) {
	s := &Service{
		name: cfg.Name, space: space, cache: space.Cache(), registry: registry, tables: newTables(), ledger: cfg.Ledger, changes: cfg.Changes, keys: cfg.HotKeys,
		log:     log.With(slog.String("service", cfg.Name)),
		metrics: newMetrics(registry, cfg.Name),
	}
	s.calls.New = func() any { return new(call) }
	set, err := s.prepare(cfg)
	if err != nil {
		return nil, err
	}
	s.feeds, s.verify = newFeeds(s), newVerifier(s)
	s.settings.Store(set)
	s.verify.configure(cfg.Verify)
	s.exposeLag()
	if s.changes != nil {
		space.OnEviction(s.evicted)
	}
	noFetch, noWarm := s.cache.OnFetch(s.name, s.answerPeer), s.cache.OnWarm(s.name, warmer{s})
	s.unshare = func() { noFetch(); noWarm() }
	return s, nil
}

// Reconfigure applies a new configuration to requests that begin from now on. Entries
// survive unless the origin changes. After an error the old configuration remains in use.
func (s *Service) Reconfigure(cfg Config) error {
	old := s.settings.Load()
	set, err := s.prepare(cfg)
	if err != nil {
		return err
	}
	s.settings.Store(set)
	s.verify.configure(cfg.Verify)
	s.applyRules(set)
	if old.tag != set.tag {
		s.dropTables()
	}
	old.close(set)
	return nil
}

// Close closes the connections to the origin.
func (s *Service) Close() {
	s.unshare()
	s.verify.close()
	s.feeds.close()
	s.settings.Load().close(nil)
}

func (s *Service) prepare(cfg Config) (*settings, error) {
	set := &settings{cfg: cfg, tag: originTag(&cfg), anonymous: s.withServe(anonymous)}
	if !cfg.Open {
		keys := make([]sigv4.Key, len(cfg.Keys))
		set.byID = make(map[string]*principal, len(keys))
		for i, k := range cfg.Keys {
			keys[i] = sigv4.Key{ID: k.ID, Secret: k.Secret}
			p := s.withServe(newPrincipal(k))
			set.principals = append(set.principals, p)
			if set.byID[k.ID] == nil {
				set.byID[k.ID] = p
			}
		}
		set.verifier = sigv4.NewVerifier(cfg.Region, "dynamodb", keys)
	}
	oc := cfg.Origin
	oc.Name = cfg.Name
	oc.Metrics = s.registry
	oc.Classify = classify
	oc.OnRefusal = s.refused
	oc.OnBreakerChange = s.breakerChanged
	oc.Prepare = sigv4.NewSigner(cfg.Credentials, cfg.Region, "dynamodb").Sign
	if err := set.connect(oc); err != nil {
		return nil, fmt.Errorf("service %s: %w", cfg.Name, err)
	}
	return set, nil
}

// Serve serves one exchange.
func (s *Service) Serve(x *edge.Exchange) {
	c := s.calls.Get().(*call)
	c.begin(s, x)
	defer c.finish()
	c.serve()
	x.Unauthenticated = c.unauthenticated()
	c.encode()
	c.allowOrigin()
}

// finish returns the call to the pool. It recovers from a panic in the cache: an unanswered
// request is forwarded to the origin, unless its permission hasn't been checked yet or it is
// a write that may have reached the origin.
func (c *call) finish() {
	s := c.svc
	if p := recover(); p != nil {
		c.handlePanic(p)
		return // a call that panicked is not reused
	}
	c.release()
	s.calls.Put(c)
}

func (c *call) handlePanic(p any) {
	s := c.svc
	s.metrics.faults.Inc()
	s.log.Error("a fault inside the accelerator", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	x := c.x
	x.Reply = edge.Reply{}
	if !c.permitted || c.writeSent {
		c.fail("InternalServerError", "Internal server error")
		return
	}
	if c.op.Access == wire.Read {
		c.passRead(telemetry.CacheFault)
		return
	}
	c.passWrite(telemetry.CacheFault, c.set.tag)
}

// serve makes the checks in DynamoDB's order: path, syntax, operation, signature; then
// Kasoku's own check of permissions. A signature covers the bytes as they were sent. A body
// with a Content-Encoding, or an empty one, is therefore checked after the signature.
func (c *call) serve() {
	x := c.x
	if string(x.Request.Method) != http.MethodPost || string(x.Request.Path) != "/" {
		c.otherPath()
		return
	}
	if len(x.Body) > 0 && !isJSON(x.Request.Get("Content-Type")) {
		c.notFound()
		return
	}
	late := len(x.Request.Get("Content-Encoding")) > 0 || len(x.Body) == 0
	deep := false
	if !late {
		var ok bool
		if deep, ok = c.checkBody(); !ok {
			return
		}
	}
	op, known := wire.FindOperation(x.Request.Get("X-Amz-Target"))
	if !known {
		c.fail("UnknownOperationException", "")
		return
	}
	c.op = op
	x.Record.Operation = op.Name
	if c.principal == nil && !(c.authenticate() && c.wellFormed()) {
		return
	}
	if late {
		if !c.decode() {
			return
		}
		var ok bool
		if deep, ok = c.checkBody(); !ok {
			return
		}
	}
	if deep {
		e := wire.NestingError()
		c.fail(e.Type, e.Message)
		return
	}
	c.dispatch()
}

// checkBody checks that the body is a JSON object. It reports false if it has answered with
// an error. deep reports that the body nests too deep to be parsed.
func (c *call) checkBody() (deep, ok bool) {
	body := c.x.Body
	if wire.Valid(body, wire.MaxDepth) && wire.Kind(bytes.TrimLeft(body, " \t\r\n")) == '{' {
		return false, true
	}
	if wire.TooDeep(body) {
		return true, true
	}
	c.fail("SerializationException", "")
	return false, false
}

func isJSON(contentType []byte) bool { return hasType(contentType, jsonType) || isGeneric(contentType) }

// isGeneric reports whether a content type is plain JSON.
func isGeneric(contentType []byte) bool { return hasType(contentType, "application/json") }

// hasType reports whether a content type, without its parameters, equals typ.
func hasType(contentType []byte, typ string) bool {
	ct, _, _ := bytes.Cut(contentType, []byte(";"))
	ct = bytes.TrimSpace(ct)
	return string(ct) == typ || bytes.EqualFold(ct, []byte(typ))
}

// unauthenticated reports whether the service requires a signature and the request has no
// verified one. The request may have been rejected before the check.
func (c *call) unauthenticated() bool { return c.principal == nil && c.set.verifier != nil }

// authenticate verifies the signature. It reports false if it has answered with an error.
func (c *call) authenticate() bool {
	if c.set.verifier == nil {
		c.principal = c.set.anonymous
		return true
	}
	i, err := c.set.verifier.Verify(&c.x.Request, c.x.Body, c.x.Now())
	if err != nil {
		c.failAuthentication(err)
		return false
	}
	c.principal = c.set.principals[i]
	return true
}

// wellFormed checks the signature of a request that needs none. If there is one, it must be
// complete and, for a local store, have the right form for any key. It reports false if it
// has answered with an error.
func (c *call) wellFormed() bool {
	if c.set.verifier != nil {
		return true
	}
	check := sigv4.CheckParts
	if c.set.cfg.Local {
		check = sigv4.CheckForm
	}
	if err := check(&c.x.Request); err != nil {
		c.failAuthentication(err)
		return false
	}
	return true
}

// failAuthentication answers a request whose signature is not accepted.
func (c *call) failAuthentication(err *sigv4.Error) {
	c.svc.metrics.denied.Inc()
	c.x.Record.Reason = reasonAuthentication
	c.fail(err.Type, err.Message)
}

func (c *call) dispatch() {
	if c.set.cfg.Namespaced {
		c.passNamespaced()
		return
	}
	switch c.op.Kind {
	case wire.GetItem:
		c.getItem()
	case wire.BatchGetItem:
		c.batchGetItem()
	case wire.Query, wire.Scan:
		c.query()
	case wire.PutItem, wire.UpdateItem, wire.DeleteItem:
		c.writeItem()
	case wire.BatchWriteItem:
		c.batchWriteItem()
	case wire.TransactWriteItems:
		c.transactWriteItems()
	case wire.ExecuteStatement, wire.BatchExecuteStatement, wire.ExecuteTransaction:
		c.partiql()
	case wire.CreateTable, wire.UpdateTable, wire.DeleteTable, wire.UpdateTimeToLive, wire.OtherAdmin, wire.OtherWrite:
		c.tableOperation()
	default: // DescribeTable, TransactGetItems, OtherRead
		c.otherRead()
	}
}

// authorize checks the permission for the only table of a request. It reports false if it
// has answered with an error.
func (c *call) authorize(access wire.Access, table []byte) bool {
	c.permitted = c.checkPermission(access, table)
	return c.permitted
}

// checkPermission checks the permission for one of the tables of a request. It reports false
// if it has answered with an error. After the last check, the caller must set permitted.
func (c *call) checkPermission(access wire.Access, table []byte) bool {
	if c.principal.allows(access, table) {
		return true
	}
	c.deny(table)
	return false
}

func (c *call) deny(table []byte) {
	c.svc.metrics.denied.Inc()
	resource := "*"
	if len(table) > 0 {
		resource = fmt.Sprintf("arn:aws:dynamodb:%s:000000000000:table/%s", c.set.cfg.Region, table)
	}
	c.fail("AccessDeniedException", fmt.Sprintf("User: arn:aws:iam::000000000000:user/%s is not authorized to perform: dynamodb:%s on resource: %s",
		c.principal.id, c.op.Name, resource))
}

// failFill answers after a failed fill. After a panic in the cache, the request is forwarded
// to the origin.
func (c *call) failFill(err error, d telemetry.Decision) {
	if !errors.Is(err, cache.ErrFillPanicked) {
		c.failOrigin(err, d)
		return
	}
	c.svc.metrics.faults.Inc()
	c.svc.log.Error("a fault inside the accelerator", slog.Any("error", err))
	c.passRead(telemetry.CacheFault)
}

// passRead forwards a read unchanged.
func (c *call) passRead(d telemetry.Decision) {
	resp, err := c.forwardRead(c.x.Body)
	if err != nil {
		c.failOrigin(err, d)
		return
	}
	c.relay(resp, d)
}

// forwardRead forwards a read whose response isn't cached. A local store builds its response
// in the reply's buffer.
func (c *call) forwardRead(body []byte) (*origin.Response, error) {
	ctx, cancel := c.deadline()
	defer cancel()
	reply := &c.x.Reply
	if !c.set.cfg.Local {
		return c.forward(ctx, body, nil, nil)
	}
	resp, err := c.forward(ctx, body, reply.Buf, nil)
	if err == nil {
		reply.Build(resp.Body)
	}
	return resp, err
}

// passWrite forwards a write unchanged and drops everything that depends on tags.
func (c *call) passWrite(d telemetry.Decision, tags ...cache.Tag) {
	c.passWriteAs(d, cache.ByWrite, tags...)
}

func (c *call) passWriteAs(d telemetry.Decision, cause cache.Cause, tags ...cache.Tag) {
	ctx, cancel := c.writeDeadline()
	defer cancel()
	cw := c.beginWrite(ctx, d, tags, nil)
	if cw == nil {
		return
	}
	defer cw.Unknown()
	resp, err := c.forwardWrite(ctx, cw, c.x.Body)
	if outcomeUnknown(resp, err) {
		cw.Unknown()
		cause = cache.ByUnknown
	} else if !c.commitWrite(ctx, cw, cache.Change{Cause: cause}, d) {
		return
	}
	if cause == cache.ByUnknown || err == nil && resp.Class == origin.Good {
		c.passedChange(cause)
	}
	if err != nil {
		c.failOrigin(err, d)
		return
	}
	c.relay(resp, d)
}

// writeDeadline returns the context of a write. It continues after the client disconnects,
// because the outcome should be known if possible. Only the request timeout and the client's
// own deadline end it; its outcome is then unknown.
func (c *call) writeDeadline() (context.Context, context.CancelFunc) {
	if c.set.cfg.Local && !c.svc.cache.Coordinated() {
		return context.Background(), func() {}
	}
	whole := scope.WithDeadline(context.Background(), c.x.Deadline(), nil)
	ctx, cancel := c.until(whole)
	return ctx, func() { cancel(); whole.Cancel() }
}

// beginWrite declares a write in the cache, before it is forwarded. It returns nil if it has
// answered with an error: the write must not be forwarded.
func (c *call) beginWrite(ctx context.Context, d telemetry.Decision, tags, watch []cache.Tag, unsure ...cache.Tag) *cache.Write {
	cw, err := c.svc.cache.Begin(ctx, tags, watch, unsure...)
	if err != nil {
		c.failIsolated(err, d)
		return nil
	}
	c.svc.verify.noteWrite(c, tags)
	return cw
}

// commitWrite ends a write with a known outcome. It reports false if it has answered with an
// error: another member of the cluster may still serve what was cached before.
func (c *call) commitWrite(ctx context.Context, cw *cache.Write, ch cache.Change, d telemetry.Decision) bool {
	if _, err := cw.Commit(ctx, ch); err != nil {
		c.failUncertain(err, d)
		return false
	}
	return true
}

// forwardWrite forwards a write within ctx, which writeDeadline has returned.
func (c *call) forwardWrite(ctx context.Context, cw *cache.Write, body []byte) (*origin.Response, error) {
	return c.forward(ctx, body, nil, cw)
}

// breakerChanged logs a state change of the origin's circuit breaker.
func (s *Service) breakerChanged(from, to string) {
	level := slog.LevelInfo
	if to == "open" {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "the origin's circuit breaker moved", slog.String("from", from), slog.String("to", to))
}
