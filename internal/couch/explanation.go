package couch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/couch/auth"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// explanation is an explanation under construction. Its call is never answered.
type explanation struct {
	admin.Explanation
	*call
	request *admin.ExplainRequest
	now     int64 // on the cache's clock
}

// Explain describes how a request would be answered now. The request's path is a URL, or a
// path together with a header Host.
func (s *Service) Explain(_ context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	path, query, err := splitURL(r.Path)
	if err != nil {
		return admin.Explanation{}, err
	}
	fields, err := httpcache.FieldsOf(&r)
	if err != nil {
		return admin.Explanation{}, err
	}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	x := &edge.Exchange{Body: r.Body}
	x.Request.Method, x.Request.Path, x.Request.RawQuery, x.Request.Fields = []byte(r.Method), path, query, fields
	if x.Request.Host, x.Record.TLS = hostOf(r.Path, fields.Get("Host")); len(x.Request.Host) == 0 {
		return admin.Explanation{}, fmt.Errorf("%w: path must be a URL such as http://host/database/document, or a path with a header Host, which is part of the cache key", admin.ErrInput)
	}
	e := explanation{call: newCall(s), request: &r, now: s.cache.At(time.Now())}
	e.begin(x)
	e.explain()
	return e.Explanation, nil
}

// hostOf returns the host of a URL, or otherwise the field Host, and reports whether the URL
// uses TLS.
func hostOf(url string, field []byte) (host []byte, secure bool) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return field, false
	}
	name, _, _ := strings.Cut(rest, "/")
	return []byte(name), strings.EqualFold(scheme, "https")
}

func (e *explanation) step(what, value, note string) {
	e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
}

func (e *explanation) setDecision(why policy.Reason) {
	i := why.Info()
	e.Decision = i.Decision.String()
	e.step("decision", i.Name, i.Help)
}

// explain mirrors call.serve.
func (e *explanation) explain() {
	rt := &e.route
	e.step("class", rt.Class.String(), "of "+rt.Kind.String()+", for node: "+rt.Node.String())
	switch rt.Class {
	case api.Read, api.ReadByBody:
		e.read()
	case api.Write:
		e.setDecision(policy.NotReading)
	case api.Static:
		e.step("static", "file", "cached as its header fields specify, as with type http")
		e.setDecision(policy.URIMiss)
	case api.Stream:
		if e.shareable() {
			e.step("feed", "shared", "with all clients of the same feed, except for the feeds that couchdb.md lists as passed on")
			e.Decision = telemetry.Coalesced.String()
			return
		}
		e.setDecision(policy.ProtocolPassed)
	default:
		e.setDecision(policy.ProtocolPassed)
	}
}

// read mirrors call.read.
func (e *explanation) read() {
	switch {
	case e.settings.table() == nil:
		e.step("database", string(e.name), "databases are not cached: follow_changes is off")
	case e.cacheable() && !e.fromReplicator():
		if e.explainAuth() {
			e.explainCopy()
		}
		return
	}
	e.setDecision(policy.ProtocolPassed)
}

// explainAuth reports whether the client may get copies, as far as that is cached.
func (e *explanation) explainAuth() bool {
	e.identity = auth.Identify(e.x.Request.Fields)
	e.db = e.settings.table().Find(e.name)
	v, _ := e.settings.auth.Lookup(e.identity, e.name, e.now)
	note := "from the node's last answer for these credentials"
	if v == auth.Unknown {
		note = "a node would be asked first whether these credentials may read the database; the next steps assume that they may"
	}
	e.step("rights", v.String(), note)
	if v == auth.Denied {
		e.setDecision(policy.NotAllowed)
		return false
	}
	if e.db == nil {
		e.step("database", string(e.name), "not in use: the next permitted read begins to follow it")
		e.setDecision(policy.URIMiss)
		return false
	}
	return true
}

// explainCopy describes the state of the database and its copy.
func (e *explanation) explainCopy() {
	good := e.db.Servable(e.now)
	e.step("database", string(e.name), fmt.Sprintf("followed; copies may be served: %v", good))
	for node, url := range e.settings.cfg.Nodes {
		st := e.db.ReplicaState(node, e.now)
		e.step("node", url, fmt.Sprintf("out: %v, to be compared: %v, lacks %d changes, for %v", st.Out, st.Unsynced, st.Lacks, st.Lag.Round(time.Millisecond)))
	}
	for _, tag := range e.svc.cache.Generations(e.svc.tagger.AppendReads(nil, &e.route)...) {
		e.step("depends on", tag, "")
	}
	if e.body = e.x.Body; !e.makeKey() {
		e.setDecision(policy.ProtocolPassed)
		return
	}
	p := &httpcache.Plan{Key: e.key, Valid: good, Options: cachePolicy}
	if good {
		e.setPeers()
		p.Peers = &e.peering
	}
	if e.route.Class == api.ReadByBody {
		p.Body = e.body
	}
	answer := e.svc.engine.ExplainPlan(e.request, e.x.Request.Fields, p)
	e.Steps, e.Decision = append(e.Steps, answer.Steps...), answer.Decision
}
