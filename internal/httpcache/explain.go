package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// Explain reports how a request would be answered now. Its path is a whole URL, or a path
// with a header Host.
func (s *Service) Explain(_ context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	fields, err := FieldsOf(&r)
	if err != nil {
		return admin.Explanation{}, err
	}
	url := r.Path
	if host := fields.Get("Host"); len(host) > 0 && strings.HasPrefix(url, "/") {
		url = "http://" + string(host) + url
	}
	set := s.settings.Load()
	f := set.cfg.JSONP
	_, query, _ := strings.Cut(url, "?")
	url = bareURL(f, url)
	key, err := store.ParseURL(url)
	if err != nil {
		return admin.Explanation{}, fmt.Errorf("%w: path must be a URL such as http://host/path, or a path with a header Host", admin.ErrInput)
	}
	e := explanation{store: s.store, cache: s.space.Cache(), options: &set.options, now: clock(), at: s.space.Cache().Now()}
	e.step("key", string(key), "scheme, host, path and query")
	if e.callback(f, &set.cfg, &r, query, fields) {
		return e.Explanation, nil
	}
	e.explain(key, r.Method, keyed(fields, key, e.options))
	return e.Explanation, nil
}

// ExplainPlan reports how Read would answer a request with p now.
func (s *Service) ExplainPlan(r *admin.ExplainRequest, fields http1.Fields, p *Plan) admin.Explanation {
	e := explanation{store: s.store, cache: s.space.Cache(), options: p.Options, plan: p, now: clock(), at: s.space.Cache().Now()}
	cfg := &s.settings.Load().cfg
	_, query, _ := strings.Cut(r.Path, "?")
	if e.callback(cmp.Or(p.JSONP, cfg.JSONP), cfg, r, query, fields) {
		return e.Explanation
	}
	e.explain(p.Key, r.Method, fields)
	return e.Explanation
}

// FieldsOf returns the header fields of a request to explain.
func FieldsOf(r *admin.ExplainRequest) (fields http1.Fields, err error) {
	for name, value := range r.Headers {
		if !ascii.IsToken(name) || !http1.ValidValue([]byte(value)) {
			return nil, fmt.Errorf("%w: header %q is not a valid field", admin.ErrInput, name)
		}
		fields = append(fields, http1.Field{Name: []byte(name), Value: []byte(value)})
	}
	return fields, nil
}

// explanation is an explanation in progress.
type explanation struct {
	admin.Explanation
	store   *store.Store
	cache   *cache.Cache
	options *policy.Options
	plan    *Plan // nil for type http
	now     policy.Moment
	at      int64 // now on the cache's clock
}

func (e *explanation) step(what, value, note string) {
	e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
}

func (e *explanation) decide(why policy.Reason) {
	i := why.Info()
	e.Decision = i.Decision.String()
	e.step("decision", i.Name, i.Help)
}

// callback explains the callback that a request names, if any. It reports whether the
// request is refused for it.
func (e *explanation) callback(f *jsonp.Filter, cfg *Config, r *admin.ExplainRequest, query string, fields http1.Fields) (refused bool) {
	var s jsonp.Session
	does := s.Admit(f, &http1.Request{Method: []byte(cmp.Or(r.Method, http.MethodGet)), RawQuery: []byte(query), Fields: fields}, cfg.Credentials)
	why := s.Reason()
	if why == jsonp.NoCallback || why == jsonp.OtherMethod {
		return false
	}
	e.step("callback", why.String(), why.Info().Help)
	if refused = does == jsonp.RefuseIt; refused {
		e.decide(policy.Refused)
	}
	return refused
}

// explain makes the same decisions as call.read and call.planned.
func (e *explanation) explain(key []byte, method string, fields http1.Fields) {
	var req policy.Request
	policy.ParseRequest(&req, []byte(cmp.Or(method, http.MethodGet)), fields, e.options)
	if e.plan != nil {
		e.plan.stripConditions(&req)
	}
	if !req.Reading() {
		e.decide(policy.NotReading)
		return
	}
	found := e.store.Find(&store.Query{Key: key, Fields: fields, Now: e.now, At: e.at, Options: e.options})
	if found.Object == nil {
		e.explainMiss(key, &req, &found)
		return
	}
	d := policy.Decide(&req, &found.Object.Head.Response, found.Object.Mark(), e.now, e.options)
	e.explainObject(found.Object, &d)
	if e.plan != nil {
		d.Reason = e.plan.reason(&d)
	}
	e.decide(d.Reason)
}

func (e *explanation) explainMiss(key []byte, req *policy.Request, found *store.Found) {
	e.step("stored", "nothing", map[store.Miss]string{
		store.MissURI: "never fetched, not storable, or evicted", store.MissVary: "only variants for other requests are",
		store.MissRemoved: "a write or a purge has put it out of reach", store.MissIsolated: "this node is not in contact with its cluster",
	}[found.Miss])
	if found.Uncacheable {
		e.step("marked", "yes", "lately an answer could not be shared: requests don't wait for each other")
	}
	if e.plan != nil {
		key = nil
		if e.plan.Peers != nil {
			key = e.plan.Peers.Key
		}
	}
	if key != nil && !found.Uncacheable && found.Miss != store.MissIsolated {
		if owner := e.cache.Owner(key); owner != "" {
			e.step("peer", owner, "owns the key, and is asked before the origin")
		}
	}
	e.decide(forwardReason(found, decideMiss(req, found, e.options).Reason))
}

func (e *explanation) explainObject(o *store.Object, d *policy.Decision) {
	r := &o.Head.Response
	e.step("stored", fmt.Sprintf("status %d, %d bytes", r.Status, o.Body.Len()), fmt.Sprintf("varies by %s", orNothing(r.Vary)))
	if e.plan == nil {
		e.step("freshness", fmt.Sprintf("%ds", r.Lifetime), fmt.Sprintf("age %ds, %ds left", d.Age, d.TTL))
	}
}

// keyed adds the default values of the fields by which every answer varies.
func keyed(fields http1.Fields, key []byte, o *policy.Options) http1.Fields {
	scheme, rest, _ := strings.Cut(string(key), "://")
	host, _ := store.SplitHost(rest)
	for _, name := range o.Keyed {
		switch {
		case name == policy.ForwardedSite: // one more element
			fields = append(fields, http1.FieldsOf("Forwarded", `for=unknown;host="`+host+`";proto=`+scheme)...)
		case fields.Get(name) == nil:
			value := map[string]string{"x-forwarded-host": host, "x-forwarded-proto": scheme}[name]
			fields = append(fields, http1.FieldsOf(name, value)...)
		}
	}
	return fields
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
