package memcached

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/value"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// explanation is an explanation in progress.
type explanation struct {
	admin.Explanation
	svc  *Service
	set  *settings
	loc  *location
	name []byte // of the answer in a cluster; nil: it has none
}

func (e *explanation) step(what, value, note string) {
	e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
}

// is completes the explanation.
func (e *explanation) is(why Reason) admin.Explanation {
	if d := why.Info().Decision; d == telemetry.Miss || d == telemetry.Pass {
		e.fallback()
	}
	e.step("answer", why.String(), why.Info().Help)
	e.Decision = why.Info().Decision.String()
	return e.Explanation
}

// fallback adds the fallback that answers misses.
func (e *explanation) fallback() {
	i := e.set.cfg.Fallback
	if e.loc != nil {
		i = e.loc.Fallback
	}
	if i == None {
		e.step("fallback", "none", "")
		return
	}
	var urls []string
	for _, m := range e.set.cfg.Fallbacks[i].Group.Members {
		urls = append(urls, m.URL)
	}
	e.step("fallback", strings.Join(urls, " "), "it is not called for this")
	if owner := e.svc.space.Cache().Owner(e.name); e.name != nil && owner != "" {
		e.step("peer", owner, "owns the key, and is asked before the fallback")
	}
}

// Explain returns how a request would be answered now. Its path is a path or a whole URL.
// The value is fetched from memcached, which changes only its time of last access; the
// fallback is not called.
func (s *Service) Explain(_ context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	fields, err := httpcache.FieldsOf(&r)
	if err != nil {
		return admin.Explanation{}, err
	}
	e := &explanation{svc: s, set: s.settings.Load()}
	q, l, err := e.set.parse(r.Path)
	switch method := cmp.Or(r.Method, http.MethodGet); {
	case err != nil:
		e.step("location", "none", err.Error())
		return e.is(NoLocation), nil
	case method != http.MethodGet && method != http.MethodHead:
		e.loc = l
		e.step("location", l.Path, "")
		return e.is(OtherMethod), nil
	}
	e.loc, q.Fields = l, fields
	if len(q.Host) == 0 {
		q.Host = fields.Get("Host")
	}
	e.step("location", l.Path, "key "+l.Key)
	if e.callback(&r, fields) {
		return e.is(BadCallback), nil
	}
	return e.key(q), nil
}

// callback adds the decision on the callback that a request names, if it does. It reports
// whether the request would be refused.
func (e *explanation) callback(r *admin.ExplainRequest, fields http1.Fields) (refused bool) {
	target, _, _ := strings.Cut(r.Path, "#")
	_, query, _ := strings.Cut(target, "?")
	var s jsonp.Session
	does := s.Admit(e.loc.JSONP, &http1.Request{Method: []byte(cmp.Or(r.Method, http.MethodGet)), RawQuery: []byte(query), Fields: fields}, e.loc.keyed.credentials)
	if s.Reason() == jsonp.NoCallback {
		return false
	}
	e.step("callback", s.Reason().String(), s.Reason().Info().Help)
	return does == jsonp.RefuseIt
}

// key adds the key and its server.
func (e *explanation) key(q *key.Request) admin.Explanation {
	bare, ok := e.loc.template.Append(nil, q)
	if !ok {
		return e.is(NoKey)
	}
	wire, hashed, trouble := e.set.cfg.Rules.Wire(nil, bare)
	e.step("key", strconv.QuoteToASCII(string(wire)), "")
	e.name = e.loc.appendNear(nil, wire)
	if trouble != key.OK {
		return e.is(keyReasons[trouble])
	}
	if e.near(wire) {
		return e.is(FromNear)
	}
	p := e.set.ring.Explain(hashed)
	e.step("server", e.set.cfg.Client.Servers[p.Server].Address, fmt.Sprintf("hash %d, point %d of %s", p.Hash, p.Point, e.set.ring.Name()))
	server := e.set.place(hashed)
	switch {
	case server < 0:
		return e.is(ServerDown)
	case server != p.Server:
		e.step("failover", e.set.cfg.Client.Servers[server].Address, "the server before is down")
	}
	return e.value(server, wire)
}

// near reports whether a copy in this process answers.
func (e *explanation) near(wire []byte) bool {
	if e.loc.NearTTL == 0 {
		return false
	}
	now := e.svc.space.Cache().Now()
	entry, found := e.svc.space.Peek(e.loc.appendNear(nil, wire), now)
	if found == cache.Fresh {
		if age := time.Duration(now - entry.Value().(*object).born); age < e.loc.NearTTL {
			e.step("copy", "fresh", fmt.Sprintf("%s old, at most %s are allowed", age.Round(time.Millisecond), e.loc.NearTTL))
			return true
		}
	}
	e.step("copy", "none", "in this process")
	return false
}

// returnWin marks the value as stale again if this get has won its renewal, so that another
// client renews it.
func (e *explanation) returnWin(g *client.Call, server int, wire []byte) {
	if left, known := g.TTL(); g.Won() && known && left >= time.Second {
		x := client.NewCall()
		defer x.Release()
		e.set.client.MarkStale(x, server, wire, left, casOf(g)) // if it fails, another process does it later
	}
}

// value adds the value in memcached.
func (e *explanation) value(server int, wire []byte) admin.Explanation {
	g := client.NewCall()
	defer g.Release()
	if r := e.set.client.Get(g, server, wire, client.GetOptions{}); r != client.Hit {
		e.step("memcached", r.String(), "")
		return e.is(resultReasons[r])
	}
	e.returnWin(g, server, wire)
	note := fmt.Sprintf("%d bytes, flags %d", len(g.Value()), g.Flags())
	ttl, known := g.TTL()
	if known && ttl >= 0 {
		note += fmt.Sprintf(", %s to live", ttl)
	}
	e.step("memcached", "hit", note)
	v, unfit := e.set.cfg.Values.Inspect(g.Flags(), g.Value())
	if unfit != value.OK {
		return e.is(valueReasons[unfit])
	}
	if _, err := v.AppendPlain(nil, e.set.maxValue); err != nil {
		return e.is(valueReasons[value.ReasonOf(err)])
	}
	e.step("value", v.Coding.String(), "as written by "+e.set.cfg.Values.String())
	if l := e.loc.lifetimeOf(ttl, known); l.known && l.left < 0 || g.Won() || g.Waiting() || g.Stale() {
		return e.is(FromStale)
	}
	return e.is(FromMemcached)
}
