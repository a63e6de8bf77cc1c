package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// A URL is requested of the service's own listener, whatever its host.
func TestWarmURLs(t *testing.T) {
	here := &net.TCPAddr{}
	site := newURLWarmer(&config.Service{HTTP: &config.HTTP{}}, here, true, false)
	couch := newURLWarmer(&config.Service{CouchDB: &config.CouchDB{}}, here, false, false)
	for _, c := range []struct {
		warmer      *urlWarmer
		entry, want string
	}{
		{site, "https://shop.example/a?b=c", "https://shop.example/a?b=c"},
		{site, "http://shop.example/a", "clients speak https to the service; write https://shop.example/a"},
		{site, "/a", `"/a" is not a URL`},
		{site, "https:///a", "is not a URL"},
		{site, "ftp://shop.example/a", "is not a URL"},
		{site, "https://shop.example/%zz", `invalid URL escape "%zz"`},
		{couch, "/db/doc?rev=1", "http://localhost/db/doc?rev=1"},
		{couch, "https://db.example/db", "http://db.example/db"},
		{couch, "db/doc", `"db/doc" is not a path`},
		{couch, "//db/doc", "is not a path"},
	} {
		u, err := c.warmer.url(c.entry)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = u.String()
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: got %s, want %s", c.entry, got, c.want)
		}
	}
}

// The command fills the cache of a service whose clients use TLS.
func TestWarmTLS(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, "hello")
	}))
	defer origin.Close()
	dir := t.TempDir()
	cert, key := certs.SelfSigned(t, 1)
	for name, content := range map[string][]byte{"cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(dir+"/"+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := run(t, head+`  site: {type: http, listen: "127.0.0.1:0", origins: ["`+origin.URL+`"], tls: {cert: `+dir+`/cert.pem, key: `+dir+`/key.pem}}`+"\n")
	code, out, errs := warmCommandLine(r, "https://shop.example/a\n", "site", "--from", "-")
	if code != codeOK || out != "site: 1 filled, 0 already there, 0 not cacheable, 0 failed\n" {
		t.Errorf("%d %q %q", code, out, errs)
	}
}

func TestOwnCacheStatus(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "map[]",
		"kasoku; hit; ttl=7":                "map[hit:true kasoku:true ttl=7:true]",
		"cdn; hit, kasoku; fwd=miss;stored": "map[fwd=miss:true kasoku:true stored:true]",
	} {
		h := http.Header{}
		if line != "" {
			h.Add("Cache-Status", "other; hit")
			h.Add("Cache-Status", line)
		}
		if got := fmt.Sprint(ownCacheStatus(h)); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
