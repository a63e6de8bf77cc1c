package memcached

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// backed is a site with a fallback and a listener.
type backed struct {
	*site
	url  string
	back *httptest.Server

	mu     sync.Mutex
	asked  []string // the requests to the fallback: method, target and recordedFields
	script http.HandlerFunc
}

// newBacked starts a site whose fallback answers with script.
func newBacked(t testing.TB, script http.HandlerFunc, locations ...Location) *backed {
	t.Helper()
	b := &backed{script: script}
	b.back = httptest.NewServer(http.HandlerFunc(b.answer))
	t.Cleanup(b.back.Close)
	b.site = newSite(t, 1, locations...)
	for i := range b.cfg.Locations {
		b.cfg.Locations[i].Fallback = 0
	}
	b.cfg.Fallback, b.cfg.Fallbacks = 0, []httpcache.Config{fallbackOf(b.back.URL)}
	return b
}

// fallbackOf returns a configuration with these origins.
func fallbackOf(urls ...string) httpcache.Config {
	h := httpcache.Config{Group: balance.Config{Ejection: balance.Ejection{Disabled: true}}}
	h.Group.Breaker.Disabled = true
	for _, u := range urls {
		h.Group.Members = append(h.Group.Members, balance.Member{URL: u})
	}
	return h
}

// listen starts the service and listens.
func (b *backed) listen() *backed {
	b.t.Helper()
	b.start()
	server, err := edge.Listen(edge.Config{Name: "counts", Listen: "127.0.0.1:0", Streaming: true, Handler: b.svc, Metrics: b.registry})
	if err != nil {
		b.t.Fatal(err)
	}
	b.url = "http://" + server.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	b.t.Cleanup(func() {
		now, stop := context.WithCancel(context.Background())
		stop()
		server.Shutdown(now)
		if err := <-served; err != nil {
			b.t.Error(err)
		}
	})
	return b
}

// recordedFields are the fields that are recorded of requests to the fallback.
var recordedFields = []string{"Authorization", "Cookie", "Accept-Encoding", "Range", "If-None-Match", "X-A"}

func (b *backed) answer(w http.ResponseWriter, r *http.Request) {
	line := r.Method + " " + r.RequestURI
	for _, name := range recordedFields {
		if v := r.Header.Get(name); v != "" {
			line += " " + name + "=" + v
		}
	}
	b.mu.Lock()
	b.asked = append(b.asked, line)
	b.mu.Unlock()
	b.script(w, r)
}

// requests returns the requests to the fallback so far.
func (b *backed) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.asked...)
}

// always returns a fallback with a constant answer. fields are names and values in turn.
func always(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var plainClient = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// String returns the status, the body, and Cache-Status without the parts that depend on the
// clock.
func (r *reply) String() string {
	how := strings.TrimPrefix(r.header.Get("Cache-Status"), "kasoku; ")
	return fmt.Sprintf("%d %q %s", r.status, r.body, clocked.ReplaceAllString(how, ""))
}

var clocked = regexp.MustCompile("; ttl=-?[0-9]+")

// get sends a request over a connection. what is a method and a target, or a target for GET.
func (b *backed) get(what string, fields ...string) *reply {
	b.t.Helper()
	method, target, found := strings.Cut(what, " ")
	if !found {
		method, target = http.MethodGet, what
	}
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("posted")
	}
	q, err := http.NewRequest(method, b.url+target, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		q.Header.Add(fields[i], fields[i+1])
	}
	r, err := plainClient.Do(q)
	if err != nil {
		b.t.Error(err)
		return &reply{header: http.Header{}}
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	return &reply{r.StatusCode, r.Header, string(text)}
}

// waitIdle waits until all flights have ended and their answers are stored.
func (b *backed) waitIdle() {
	b.t.Helper()
	engine := b.svc.settings.Load().fallbacks[0]
	if !await.Until(b.t, func() bool { return engine.Stats().Running == 0 }) {
		b.t.FailNow()
	}
}

// stored returns the value in memcached under a key, or "nothing".
func (b *backed) stored(key string) string {
	it, ok := b.server(key).Item(key)
	if !ok {
		return "nothing"
	}
	return it.Value
}

func (b *backed) expect(what, want string, r *reply) {
	b.t.Helper()
	if r.String() != want {
		b.t.Errorf("%s: got %s, want %s", what, r, want)
	}
}

// count returns the value of a counter of the service.
func (b *backed) count(name, label, value string) uint64 {
	return b.registry.Counter(name, helpOf(b.t, b, name), "service", "counts", label, value).Value()
}

func helpOf(t testing.TB, b *backed, name string) string {
	for _, f := range b.registry.Families() {
		if f.Name == name {
			return f.Help
		}
	}
	t.Errorf("no metric has the name %s", name)
	return ""
}

// minute returns a location that stores values for a minute.
func minute(change ...func(*Location)) Location {
	l := Location{
		Path: "/a", Key: "${arg.k}", ContentType: "text/plain", ETag: true, NegativeTTL: time.Hour,
		Store: &Store{TTL: time.Minute, MaxSize: 1 << 20},
	}
	for _, f := range change {
		f(&l)
	}
	return l
}
