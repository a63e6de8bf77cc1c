package couch

import (
	"bytes"
	"context"
	"net/http"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/origin"
)

// mostWritten is the longest body of a write that is held: to see which documents it
// names, and to send it to another node.
const mostWritten = 1 << 20

// documents are the things that a write of documents touches.
const documents = api.TouchDocument | api.TouchBody | api.TouchDestination | api.TouchDocuments

// writing is a write on its way. It is used by the goroutine that serves the exchange.
type writing struct {
	*call
	write  *cache.Write
	member int  // who answered, -1 if nobody was asked
	taken  bool // of _security: a node has taken it, whatever the others answer
}

// write gives a node a request that changes something, and puts out of reach what it
// changes before that is sent and before the client is told.
func (c *call) write() {
	if c.securing() && !c.holdSecurity() {
		return
	}
	if c.route.Touch&documents != 0 || c.repeatable() {
		body, err := c.x.ReadBody(mostWritten)
		if bodyFailed(err) {
			return // the server answers
		}
		if err == nil && c.x.BodyLength() != 0 {
			c.body = body
		}
	}
	w := &writing{call: c, member: -1}
	if db := c.followed(); db != nil {
		db.BeginWrite()
		defer db.EndWrite()
	}
	w.write = c.svc.cache.Begin(c.touched(), nil)
	defer w.write.Unknown()
	c.given = true
	ask := w.ask
	if c.securing() {
		ask = w.secure
	}
	c.svc.engine.Pass(c.x, &httpcache.Passage{Why: policy.NotReading, Ask: ask, Settle: w.settle})
}

// touched are the tags that the write moves.
func (c *call) touched() []cache.Tag {
	ids, ok := api.WriteIDs(&c.route, c.body, string(c.x.Request.Get("Destination")))
	if !ok {
		ids = nil
	}
	tags := c.svc.tagger.AppendWrites(nil, &c.route, ids)
	return c.set.gate.AppendWrites(tags, &c.route, auth.Identify(c.x.Request.Fields))
}

// repeatable tells whether the write may be executed twice, on two nodes: the same
// body on the same parent is the same revision everywhere.
func (c *call) repeatable() bool {
	m := string(c.x.Request.Method)
	if m != http.MethodPut && m != http.MethodDelete {
		return false
	}
	return c.route.Touch&^api.TouchUsers == api.TouchDocument || c.route.Touch == api.TouchSecurity
}

// ask sends the write to the node that takes it.
func (w *writing) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	hand(q, w.body)
	q.Repeatable, q.HeadTimeout = w.repeatable(), w.set.cfg.patience(&w.route)
	q.Once = !q.Repeatable // an update function may run by GET
	choice := w.svc.security.choice(w.set.fleet, w.name, w.writers())
	choice.Member = &w.member
	return w.svc.engine.Ask(ctx, q, choice)
}

// settle ends the write by what came of it. The client is answered after that.
func (w *writing) settle(s httpcache.Settled) {
	if s.Fault != nil && !w.taken && (s.Fault.Forgone || !s.Fault.Reached) {
		w.write.Commit(cache.Change{}) // nothing was sent, or not all of it
		return
	}
	stored, ok := w.outcome(&s)
	w.tell(&s, stored, ok)
	if !ok && !over(&s) {
		return // Unknown
	}
	change := cache.Change{Cause: cache.ByWrite}
	for _, rev := range stored {
		change.Tags = append(change.Tags, w.svc.tagger.Document(w.name, rev.ID))
	}
	if len(stored) > 0 {
		change.Tags = append(change.Tags, w.svc.tagger.Results(w.name))
	}
	w.write.Commit(change)
}

// tell tells of the outcome whoever has to know of it when the next request comes: the
// configuration may have been replaced since the write began, and again meanwhile.
func (w *writing) tell(s *httpcache.Settled, stored []api.Revision, ok bool) {
	var told *settings
	for set := w.svc.settings.Load(); set != told; set = w.svc.settings.Load() {
		w.inform(set, s, stored, ok)
		told = set
	}
}

// inform tells of the outcome what knows, in a configuration, which node has what.
func (w *writing) inform(set *settings, s *httpcache.Settled, stored []api.Revision, ok bool) {
	node := -1 // who answered, by its number there
	if w.member >= 0 {
		node = set.fleet.numbers(w.set.fleet)[w.member]
	}
	if node >= 0 && (s.Status >= 200 && s.Status < 300 || len(stored) > 0) {
		set.fleet.recent.wrote(w.hash(), node, w.x.Now().Unix())
	}
	if set.table() == nil {
		return
	}
	db := set.table().Find(w.name)
	if db == nil {
		return
	}
	if w.route.Touch&api.TouchNames != 0 && !refused(s) {
		set.fleet.doubt(db, node)
	}
	switch {
	case node < 0:
	case ok:
		now := w.svc.cache.Now()
		for _, rev := range stored {
			db.Wrote(node, rev.ID, rev.Rev, now)
		}
	case over(s) && s.Status != http.StatusAccepted:
		db.WroteUnknown(node)
	}
}

// over tells whether the node has said that it is done with the write, or (202) that it
// will do it some time: then its feed tells when, as if it was written past Kasoku, and a
// node that is asked before does not know of it either.
func over(s *httpcache.Settled) bool {
	return s.Fault == nil && s.Status >= 200 && s.Status < 300 && s.Whole
}

// refused tells whether the node has said that it changed nothing.
func refused(s *httpcache.Settled) bool {
	return s.Fault == nil && s.Status >= 300 && s.Status < 500
}

// outcome tells what was stored. ok is false if that is not known.
func (w *writing) outcome(s *httpcache.Settled) (stored []api.Revision, ok bool) {
	switch {
	case s.Fault != nil:
		return nil, false
	case w.route.Touch&documents == 0:
		return nil, s.Status < 500
	}
	get := func(name string) string { return string(s.Header.Get(name)) }
	stored, ok = api.StoredRevisions(s.Status, s.Body, get("X-Couch-Update-NewRev"), get("X-Couch-Id"))
	if !ok && s.Status < 300 && string(bytes.TrimSpace(s.Body)) == "[]" {
		return api.SentRevisions(w.body)
	}
	return stored, ok
}
