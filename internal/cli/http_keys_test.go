package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answer is an answer of a service.
type answer struct {
	status int
	header http.Header
	body   string
}

// request makes a request with fields, given in pairs.
func (r *running) request(service, method, path string, pairs ...string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.ServiceAddr(service).String()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		req.Header.Set(pairs[i], pairs[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// ttl returns the remaining lifetime in Cache-Status.
func (a answer) ttl() (n int) {
	_, text, _ := strings.Cut(a.header.Get("Cache-Status"), "ttl=")
	fmt.Sscan(text, &n)
	return n
}

// The keys for choices that the standards allow have their described effects.
func TestHTTPServiceKeys(t *testing.T) {
	var r *running
	f := func(name, keys string, check func(t *testing.T), handlers ...http.HandlerFunc) {
		t.Run(name, func(t *testing.T) {
			var urls []string
			for _, h := range handlers {
				s := httptest.NewServer(h)
				t.Cleanup(s.Close)
				urls = append(urls, `"`+s.URL+`"`)
			}
			r = run(t, strings.ReplaceAll(web1, `"ORIGIN"`, strings.Join(urls, ", "))+"    "+keys+"\n")
			check(t)
		})
	}
	old := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", time.Now().Add(-4000*time.Second).UTC().Format(http.TimeFormat))
	}
	fresh := func(low, high int) func(*testing.T) {
		return func(t *testing.T) {
			a := r.request("site", "GET", "/")
			if n := a.ttl(); n < low || n > high {
				t.Errorf("fresh for %d s: %q; want %d to %d", n, a.header.Get("Cache-Status"), low, high)
			}
		}
	}
	f("heuristic", "heuristic: 0.5", fresh(1900, 2001), old)
	f("no heuristic", "heuristic: 0", fresh(0, 0), old)
	f("longest heuristic", "heuristic_max: 100s", fresh(50, 100), old)

	var asked atomic.Int64
	negotiated := func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Vary", "Accept-Encoding, Accept-Language")
		w.Header().Set("Content-Language", "de")
		fmt.Fprintf(w, "%d: %s", n, r.Header.Get("Accept-Encoding"))
	}
	each := func(name string, pairs ...string) func(*testing.T) {
		return func(t *testing.T) {
			asked.Store(0)
			for i := 0; i < len(pairs); i += 2 {
				if a := r.request("site", "GET", "/", "Accept-Encoding", "x", name, pairs[i]); a.body != pairs[i+1] {
					t.Errorf("%s: %s: got %q, want %q", name, pairs[i], a.body, pairs[i+1])
				}
			}
		}
	}
	f("languages", "match_language: true", each("Accept-Language", "de", "1: x", "de, en;q=0.5", "1: x"), negotiated)
	f("the same languages", "match_language: false",
		each("Accept-Language", "de", "1: x", "de, en;q=0.5", "2: x", "de,en;q=0.5", "2: x"), negotiated)
	f("encodings", "accept_encodings: [br, gzip]", each("Accept-Encoding", "gzip, deflate, br, zstd", "1: br,gzip", "br;q=0.5, GZIP", "1: br,gzip",
		"gzip", "2: gzip", "zstd", "3: identity", "br;q=0", "3: identity"), negotiated)

	tagged := func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		for name, value := range map[string]string{"Surrogate-Control": "max-age=60+10", "Surrogate-Key": "a", "Cache-Tag": "b", "Cache-Control": "no-store"} {
			w.Header().Set(name, value)
		}
		fmt.Fprint(w, "hello")
	}
	// got checks which of the named fields two answers have, and that the origin received n
	// requests.
	got := func(n int64, names ...string) func(*testing.T) {
		return func(t *testing.T) {
			asked.Store(0)
			for range 2 {
				a := r.request("site", "GET", "/")
				for _, name := range []string{"Surrogate-Control", "Surrogate-Key", "Cache-Tag"} {
					if has := a.header.Get(name) != ""; has != slices.Contains(names, name) {
						t.Errorf("%s: %t", name, has)
					}
				}
			}
			if asked.Load() != n {
				t.Errorf("got %d requests, want %d", asked.Load(), n)
			}
		}
	}
	f("fields for caches", "stale_if_error: 1s", got(2, "Surrogate-Control", "Surrogate-Key", "Cache-Tag"), tagged)
	f("Surrogate-Control", "targets: [Surrogate-Control]", got(1, "Surrogate-Key", "Cache-Tag"), tagged)
	f("without their fields", "strip_fields: [surrogate-key, Cache-Tag]", got(2, "Surrogate-Control"), tagged)
	f("hits without them", "strip_fields: [Cache-Tag]\n    targets: [Surrogate-Control]", got(1, "Surrogate-Key"), tagged)

	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	statuses := func(method string, want ...int) func(t *testing.T) {
		return func(t *testing.T) {
			got := map[int]int{}
			for range 8 {
				got[r.request("site", method, "/").status]++
			}
			for _, code := range want {
				if got[code] == 0 {
					t.Errorf("got statuses %v, want some %d", got, code)
				}
				delete(got, code)
			}
			if len(got) > 0 {
				t.Errorf("got also statuses %v", got)
			}
		}
	}
	success := status(200)
	f("another origin", "retry_statuses: [503]", statuses("GET", 200), success, status(503))
	f("no other origin", "retry_statuses: [502]", statuses("GET", 200, 503), success, status(503))
	f("no other origin for writes", "retry_statuses: [503]", statuses("POST", 200, 503), success, status(503))
}

// An origin may listen on a Unix socket.
func TestHTTPServiceOverUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "kasoku") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ln, err := net.Listen("unix", dir+"/app.sock")
	if err != nil {
		t.Fatal(err)
	}
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s at %s", r.URL, r.Host)
	}))
	app.Listener.Close()
	app.Listener = ln
	app.Start()
	defer app.Close()
	config := strings.ReplaceAll(web1, "ORIGIN", "unix://"+dir+"/app.sock")
	r := run(t, config+"    host: origin\n")
	if a := r.request("site", "GET", "/a?b"); a.body != "/a?b at localhost" {
		t.Errorf("%d %q", a.status, a.body)
	}
	if page := r.page("/api/v1/report"); !strings.Contains(page, "unix://"+dir+"/app.sock") {
		t.Errorf("the report does not have the socket:\n%s", page)
	}
}
