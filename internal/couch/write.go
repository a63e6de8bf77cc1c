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

// maxWriteBody is the maximum size of a write's body that is buffered, to find the documents
// in it and to send it to another node.
const maxWriteBody = 1 << 20

// touchesDocuments are the bits of Touch for writes of documents.
const touchesDocuments = api.TouchDocument | api.TouchBody | api.TouchDestination | api.TouchDocuments

// writing is a write in flight. It is owned by the goroutine that serves the exchange.
type writing struct {
	*call
	write         *cache.Write
	member        int  // the node that answered; -1 if there was no request
	securityTaken bool // a node has accepted the _security, whatever the others answer
}

// write sends a request that changes something to a node. The affected copies are out of
// reach before it is sent and before the client is answered.
func (c *call) write() {
	if c.writesSecurity() && !c.readSecurityBody() {
		return
	}
	if c.route.Touch&touchesDocuments != 0 || c.repeatable() {
		body, err := c.x.ReadBody(maxWriteBody)
		if bodyFailed(err) {
			return // the server answers
		}
		if err == nil && c.x.BodyLength() != 0 {
			c.body = body
		}
	}
	w := &writing{call: c, member: -1}
	if db := c.followedDatabase(); db != nil {
		db.BeginWrite()
		defer db.EndWrite()
	}
	var err error
	if w.write, err = c.svc.cache.Begin(c.x.Context(), c.writeTags(), nil); err != nil {
		c.handedOver = true
		c.svc.engine.RefuseWrite(c.x, notExecuted(err))
		return
	}
	defer w.write.Unknown()
	c.handedOver = true
	ask := w.ask
	if c.writesSecurity() {
		ask = w.secure
	}
	c.svc.engine.Pass(c.x, &httpcache.PassThrough{Why: policy.NotReading, Ask: ask, Finished: w.finish})
}

// writeTags returns the tags that the write moves.
func (c *call) writeTags() []cache.Tag {
	ids, ok := api.WriteIDs(&c.route, c.body, string(c.x.Request.Get("Destination")))
	if !ok {
		ids = nil
	}
	tags := c.svc.tagger.AppendWrites(nil, &c.route, ids)
	return c.settings.auth.AppendWrites(tags, &c.route, auth.Identify(c.x.Request.Fields))
}

// repeatable reports whether the write may be executed twice, on two nodes: the same body
// with the same parent is the same revision everywhere.
func (c *call) repeatable() bool {
	m := string(c.x.Request.Method)
	if m != http.MethodPut && m != http.MethodDelete {
		return false
	}
	return c.route.Touch&^api.TouchUsers == api.TouchDocument || c.route.Touch == api.TouchSecurity
}

// ask sends the write to its node.
func (w *writing) ask(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	setBody(q, w.body)
	q.Repeatable, q.HeadTimeout = w.repeatable(), w.settings.cfg.headTimeout(&w.route)
	q.Once = !q.Repeatable // a GET may run an update function
	q.Guard = w.write.Guard()
	choice := w.svc.security.choice(w.settings.fleet, w.name, w.writeOrder())
	choice.Member = &w.member
	return w.svc.engine.Ask(ctx, q, choice)
}

// finish ends the write according to its result. The client is answered after that, with the
// Refusal if there is one.
func (w *writing) finish(s httpcache.WriteOutcome) *httpcache.Refusal {
	if s.Fault != nil && !w.securityTaken && (s.Fault.Aborted || !s.Fault.Reached) {
		// The node did not get the whole request.
		if r := w.commit(cache.Change{}); r != nil || s.Fault.Kind != origin.Withheld {
			return r
		}
		return notExecuted(s.Fault)
	}
	stored, ok := w.outcome(&s)
	ctx, cancel := w.lasting()
	defer cancel()
	err := w.svc.publish(ctx, w.written(&s, stored, ok))
	if !ok && !isStored(&s) {
		return nil // the deferred Unknown ends it
	}
	change := cache.Change{Cause: cache.ByWrite}
	for _, rev := range stored {
		change.Tags = append(change.Tags, w.svc.tagger.Document(w.name, rev.ID))
	}
	if len(stored) > 0 {
		change.Tags = append(change.Tags, w.svc.tagger.Results(w.name))
	}
	if err != nil {
		w.write.Unknown(change.Tags...)
		return unconfirmed(err)
	}
	return w.commit(change)
}

// lasting returns a context that outlives the client, but not the request timeout.
func (w *writing) lasting() (context.Context, context.CancelFunc) {
	if until := w.x.Deadline(); w.svc.cache.Coordinated() && !until.IsZero() {
		return context.WithDeadline(w.x.Lasting(), until)
	}
	return w.x.Lasting(), func() {}
}

// commit ends a write with a known outcome.
func (w *writing) commit(change cache.Change) *httpcache.Refusal {
	ctx, cancel := w.lasting()
	defer cancel()
	if _, err := w.write.Commit(ctx, change); err != nil {
		return unconfirmed(err)
	}
	return nil
}

// unconfirmed is the answer to a write that was executed, and that the other members of the
// cluster have not acknowledged.
func unconfirmed(err error) *httpcache.Refusal {
	return refusal(http.StatusInternalServerError, "internal_server_error",
		"This instance has lost contact with its cluster; reads may not show the write for a while.", err)
}

// notExecuted is the answer to a write that was not sent, because this node is not in contact
// with its cluster.
func notExecuted(err error) *httpcache.Refusal {
	return refusal(http.StatusServiceUnavailable, "service_unavailable",
		"This instance is not in contact with its cluster. The write was not executed.", err)
}

// refusal is an error in CouchDB's format.
func refusal(status int, name, reason string, err error) *httpcache.Refusal {
	return &httpcache.Refusal{Status: status, ContentType: "application/json", Err: err,
		Body: `{"error":"` + name + `","reason":"` + reason + `"}` + "\n"}
}

// written returns the result of the write. ok is false if the stored revisions are unknown.
func (w *writing) written(s *httpcache.WriteOutcome, stored []api.Revision, ok bool) *written {
	r := &written{
		Database: w.name, Client: w.clientHash(), Existence: w.route.Touch&api.TouchDatabaseList != 0 && !refused(s),
		Accepted: s.Status >= 200 && s.Status < 300 || len(stored) > 0,
	}
	if w.member >= 0 {
		r.Node = w.settings.fleet.urls[w.member]
	}
	if ok {
		r.Stored = stored
	} else {
		r.Unknown = isStored(s) && s.Status != http.StatusAccepted
	}
	return r
}

// isStored reports whether the node has accepted the write. With status 202 it stores the
// write later, and its feed announces it like a write from elsewhere; until then the node
// itself does not return it either.
func isStored(s *httpcache.WriteOutcome) bool {
	return s.Fault == nil && s.Status >= 200 && s.Status < 300 && s.Whole
}

// refused reports whether the node has answered that it changed nothing.
func refused(s *httpcache.WriteOutcome) bool {
	return s.Fault == nil && s.Status >= 300 && s.Status < 500
}

// outcome returns the stored revisions. ok is false if they are unknown.
func (w *writing) outcome(s *httpcache.WriteOutcome) (stored []api.Revision, ok bool) {
	switch {
	case s.Fault != nil:
		return nil, false
	case w.route.Touch&touchesDocuments == 0:
		return nil, s.Status < 500
	}
	get := func(name string) string { return string(s.Header.Get(name)) }
	stored, ok = api.StoredRevisions(s.Status, s.Body, get("X-Couch-Update-NewRev"), get("X-Couch-Id"))
	if !ok && s.Status < 300 && string(bytes.TrimSpace(s.Body)) == "[]" {
		return api.SentRevisions(w.body)
	}
	return stored, ok
}
