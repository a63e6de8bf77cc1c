package httpcache

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// Explain tells how a request would be answered now. Its path is a path, for which
// a header Host is needed, or a whole URL.
func (s *Service) Explain(_ context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	url := r.Path
	var fields http1.Fields
	for name, value := range r.Headers {
		if !http1.IsToken([]byte(name)) || !http1.ValidValue([]byte(value)) {
			return admin.Explanation{}, fmt.Errorf("%w: header %q is not a valid field", admin.ErrInput, name)
		}
		if strings.EqualFold(name, "Host") && strings.HasPrefix(url, "/") {
			url = "http://" + value + url
		}
		fields = append(fields, http1.Field{Name: []byte(name), Value: []byte(value)})
	}
	key, err := ParseURL(url)
	if err != nil {
		return admin.Explanation{}, fmt.Errorf("%w: path must be a URL such as http://host/path, or a path with a header Host", admin.ErrInput)
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	return s.explain(key, r.Method, fields, time.Now().Unix()), nil
}

func (s *Service) explain(key []byte, method string, fields http1.Fields, now int64) admin.Explanation {
	var e admin.Explanation
	step := func(what, value, note string) {
		e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
	}
	decide := func(why policy.Reason) {
		i := why.Info()
		e.Decision = i.Decision.String()
		step("decision", i.Name, i.Help)
	}
	o := &s.settings.Load().options
	var req policy.Request
	policy.ParseRequest(&req, []byte(method), fields, o)
	step("key", string(key), "scheme, host, path and query")
	if !req.Reading() {
		decide(policy.NotReading)
		return e
	}
	found := s.store.Find(&Query{Key: key, Fields: keyed(fields, key, o), Now: now, Options: o})
	if found.Object == nil {
		step("stored", "nothing", map[Miss]string{
			MissURI: "never fetched, not storable, or evicted", MissVary: "only variants for other requests are",
			MissRemoved: "a write or a purge has put it out of reach",
		}[found.Miss])
		if found.Marked {
			step("marked", "yes", "lately an answer could not be shared: requests don't wait for each other")
		}
		decide(policy.Absent(&req, found.Miss == MissVary, o).Reason)
		return e
	}
	r := &found.Object.Head.Response
	d := policy.Decide(&req, r, found.Object.Mark(), now, o)
	step("stored", fmt.Sprintf("status %d, %d bytes", r.Status, found.Object.Body.Len()), fmt.Sprintf("varies by %s", orNothing(r.Vary)))
	step("freshness", fmt.Sprintf("%ds", r.Lifetime), fmt.Sprintf("age %ds, %ds left", d.Age, d.TTL))
	decide(d.Reason)
	return e
}

// keyed adds what an origin would be told by default where everything is taken to vary
// by that.
func keyed(fields http1.Fields, key []byte, o *policy.Options) http1.Fields {
	scheme, rest, _ := strings.Cut(string(key), "://")
	host, _ := splitHost(rest)
	for _, name := range o.Keyed {
		if fields.Get(name) == nil {
			value := map[string]string{"x-forwarded-host": host, "x-forwarded-proto": scheme}[name]
			fields = append(fields, http1.Field{Name: []byte(name), Value: []byte(value)})
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
