package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// wrapping is a node with a service of each type that wraps answers. Each has a path with an answer
// in JSON and a missing path.
type wrapping struct {
	*running
	t      *testing.T
	config func(jsonp string) string
}

// places are the services with their paths. The fallback answers a miss of memcached.
var places = []struct{ service, path, missing string }{
	{"plain", "/Status", "/DescribeTable/none"},
	{"site", "/a", "/missing"},
	{"tweets", "/db/a", "/db/missing"},
	{"counts", "/count?k=a", "/count?k=missing"},
	{"counts", "/count?k=b", "/count?k=missing"},
}

func newWrapping(t *testing.T) *wrapping {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		if strings.Contains(r.RequestURI, "missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `{"asked":%q}`, r.RequestURI)
	}))
	t.Cleanup(origin.Close)
	values := memcachedtest.Start(t, true)
	values.Set("a", `{"n":1}`, 0, 0)
	w := &wrapping{t: t, config: func(jsonp string) string {
		dynamo := strings.ReplaceAll(jsonp, "strip: [_], ", "")
		return `
admin: {listen: 127.0.0.1:0}
services:
  plain: {type: dynamodb, listen: 127.0.0.1:0, origin: "embedded:./data", auth: {mode: none}, plain_json: true, jsonp: {` + dynamo + `}}
  site: {type: http, listen: 127.0.0.1:0, origins: ["` + origin.URL + `"], jsonp: {` + jsonp + `}}
  tweets: {type: couchdb, listen: 127.0.0.1:0, nodes: ["` + newRelax(t, "one").URL + `"], jsonp: {` + jsonp + `}}
  counts:
    type: memcached
    listen: 127.0.0.1:0
    servers: ["` + values.Address() + `"]
    timeout: 1m
    first_byte_timeout: 1m
    fallback: ` + origin.URL + `
    locations: [{path: /count, key: "${arg.k}", content_type: application/json, jsonp: {` + jsonp + `}}]
`
	}}
	return w
}

// run starts the services with a configuration of jsonp.
func (w *wrapping) run(jsonp string) { w.running = run(w.t, w.config(jsonp)) }

// got is an answer.
type got struct {
	status int
	head   http.Header
	body   string
}

func (w *wrapping) get(service, path, query string, fields ...string) got {
	w.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.ServiceAddr(service).String()+path+sep+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return got{resp.StatusCode, resp.Header, string(body)}
}

// wantAll checks the answers of all services to the JSON path, or to the missing one.
func (w *wrapping) wantAll(missing bool, query string, check func(g got) bool, fields ...string) {
	w.t.Helper()
	for _, p := range places {
		path := p.path
		if missing {
			path = p.missing
		}
		if g := w.get(p.service, path, query, fields...); !check(g) {
			w.t.Errorf("%s%s with %s: %d %v\n%s", p.service, path, query, g.status, g.head, g.body)
		}
	}
}

func (g got) begins(status int, text string) bool {
	return g.status == status && strings.HasPrefix(g.body, text)
}

// Every key of jsonp has its effect on services of all types.
func TestJSONPOfAllServices(t *testing.T) {
	w := newWrapping(t)
	w.run("")
	w.wantAll(false, "callback=app.f[1]", func(g got) bool {
		return g.begins(200, "/**/app.f[1]({") && strings.HasSuffix(g.body, "});") && g.head.Get("Content-Length") == fmt.Sprint(len(g.body)) &&
			g.head.Get("Content-Type") == "application/javascript; charset=utf-8" && g.head.Get("X-Content-Type-Options") == "nosniff" &&
			g.head.Get("Content-Disposition") == "" && strings.Contains(g.head.Get("Cache-Status"), "; jsonp=wrapped")
	})
	w.wantAll(false, "callback=f", func(g got) bool {
		return g.begins(200, "{") && g.head.Get("Cache-Control") != "" && strings.Contains(strings.Join(g.head["Cache-Control"], ","), "private")
	}, "Cookie", "a=b")
	w.wantAll(false, "callback=a-b", func(g got) bool { return g.begins(400, "{") && !strings.Contains(g.body, "a-b") })
	w.wantAll(false, "callback=f&callback=g", func(g got) bool { return g.begins(400, "{") })
	w.wantAll(false, "callback=f&callback=f", func(g got) bool { return g.begins(200, "/**/f({") })
	w.wantAll(true, "callback=f", func(g got) bool { return g.status >= 400 && !strings.Contains(g.body, "f(") })

	w.run(`param: cb, aliases: [jp], strip: [_], mode: strict, names: [ok], prefix: "/*k*/", guard: true, newline: true, content_type: text/javascript, ` +
		`attachment: true, cross_origin: true, cdn_no_store: true, script_only: true, public: true, errors: envelope`)
	call := func(g got) bool {
		return g.begins(200, "/*k*/ typeof okay === 'function' && okay({") && strings.HasSuffix(g.body, "});\n") &&
			g.head.Get("Content-Type") == "text/javascript; charset=utf-8" && g.head.Get("Content-Disposition") == "attachment; filename=f.txt" &&
			strings.Join(g.head["Cross-Origin-Resource-Policy"], "|") == "cross-origin" &&
			g.head.Get("CDN-Cache-Control") == "no-store" && g.head.Get("Surrogate-Control") == "no-store"
	}
	w.wantAll(false, "cb=okay&_=1", call)
	w.wantAll(false, "jp=okay", call, "Cookie", "a=b", "Sec-Fetch-Dest", "script")
	w.wantAll(false, "jp=okay", func(g got) bool { return g.begins(403, "{") }, "Sec-Fetch-Dest", "iframe")
	w.wantAll(false, "cb=other", func(g got) bool { return g.begins(400, "{") })
	w.wantAll(false, "cb=ok.a", func(g got) bool { return g.begins(400, "{") })
	w.wantAll(false, "callback=f", func(g got) bool { return g.begins(200, "{") })
	w.wantAll(true, "cb=okay", func(g got) bool {
		return g.begins(200, "/*k*/ typeof okay === 'function' && okay({\"status\":4") && strings.HasPrefix(g.head.Get("X-Status"), "4")
	})
	if g := w.get("site", "/a", "x=1&cb=okay&_=2&y"); !strings.Contains(g.body, `"/a?x=1&y"`) {
		t.Errorf("the origin received the query %s", g.body)
	}

	w.run("invalid: passthrough, errors: as-is, types: [text/plain]") // the node's term for its errors
	w.wantAll(false, "callback=a-b", func(g got) bool {
		return g.begins(200, "{") && strings.Contains(g.head.Get("Cache-Status"), "; jsonp=bad-name-passed")
	})
	w.wantAll(true, "callback=f", func(g got) bool { return g.status >= 400 && strings.Contains(g.body, "f({") })

	w.run("mode: legacy, types: [application/json]")
	w.wantAll(false, "callback=1f", func(g got) bool {
		return g.begins(200, "1f({") && g.head.Get("Content-Type") == "application/json" && g.head.Get("X-Content-Type-Options") == ""
	})
}
