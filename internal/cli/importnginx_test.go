package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

const nginx2009 = `
upstream counts { server ONE; server TWO; server THREE; memcached_hash ketama_points=150; keepalive 16; }
server {
    listen 10080;
    location = /count {
        set $memcached_namespace "testapp::";
        set $memcached_key "$arg_user_id::$arg_entry_id";
        default_type text/javascript;
        jsonp_callback callback;
        jsonp_callback_types text/javascript;
        memcached_pass counts;
        error_page 404 405 502 504 = @fallback;
    }
    location @fallback { proxy_pass BACKEND; }
}
`

// TestImportedNginxServes runs a configuration converted from nginx: a value is answered
// byte for byte as by nginx and its modules, from the server where its writer stored it, and
// a miss by the backend.
func TestImportedNginxServes(t *testing.T) {
	servers := map[string]*memcachedtest.Server{}
	conf := nginx2009
	for _, name := range []string{"ONE", "TWO", "THREE"} {
		m := memcachedtest.Start(t, true)
		servers[m.Address()] = m
		conf = strings.Replace(conf, name, m.Address(), 1)
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, `{"for":"`+r.URL.RequestURI()+`"}`)
	}))
	t.Cleanup(backend.Close)
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte(strings.Replace(conf, "BACKEND", backend.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var made, errs bytes.Buffer
	if code := Main([]string{"import", "nginx", file}, Environment{Stdout: &made, Stderr: &errs, Lookup: noVariables}); code != codeOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	text := strings.NewReplacer("127.0.0.1:9090", "127.0.0.1:0", ":10080", "127.0.0.1:0").Replace(made.String())
	r := run(t, text)
	cfg, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLocator(cfg.Service("counts").Memcached)
	if err != nil {
		t.Fatal(err)
	}
	place, _ := l.find("100::100")
	servers[place.Server].Set(place.Sent, `{"status":"success", "count":1000}`, 0, 0)
	f := func(query, want string) {
		t.Helper()
		if got := r.fetch("counts", "/count?"+query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	f("user_id=100&entry_id=100&callback=cb_func_hoge", `cb_func_hoge({"status":"success", "count":1000});`)
	f("user_id=100&entry_id=100", `{"status":"success", "count":1000}`)
	f("user_id=100&entry_id=7&callback=cb", `cb({"for":"/count?user_id=100&entry_id=7"});`)
}
