package memcached

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// counts returns the service of 2009: nginx with memcached_hash and jsonp_callback. Its data
// was written by Perl.
func counts(fallback string, more ...string) []string {
	return append([]string{
		"distribution: {name: cmf-ketama, points: 150}",
		`namespace: "testapp::"`,
		"locations:",
		"  - path: /count",
		`    key: "${arg.user_id}::${arg.entry_id}"`,
		"    content_type: text/javascript",
		"    jsonp: {param: callback, types: [text/javascript], mode: legacy}",
		"    fallback: " + fallback,
	}, more...)
}

const (
	countPath  = "/count?user_id=100&entry_id=100&callback=cb_func_hoge"
	countValue = `{"status":"success", "count":1000}`
)

// TestWalkThrough repeats the steps of an article of 2009 with three servers: it requests a value
// written by Perl with a callback, sends many requests with ab, and requests a missing value, which
// the backend answers.
func TestWalkThrough(t *testing.T) {
	servers := StartMany(t, 3)
	var list []string
	for _, s := range servers {
		list = append(list, s.Addr)
	}
	WritePerl(t, Options{"servers": list, "ketama_points": 150, "namespace": "testapp::"}, map[string]string{"100::100": countValue})
	var asked []string
	backend := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.URL.Query().Get("user_id")+" "+r.URL.Query().Get("entry_id"))
		w.Header().Set("Content-Type", "text/javascript")
		w.Write([]byte(`{"status":"success", "count":0}`))
	}))
	node := startKasoku(t, servers, counts(backend)...)

	f := func(path, contentType, body string) {
		t.Helper()
		got := mustAsk(t, "GET", node.URL+path)
		if got.status != http.StatusOK || got.header.Get("Content-Type") != contentType || got.body != body {
			t.Errorf("%s: got %+v, want %s as %s", path, got, body, contentType)
		}
	}
	f(countPath, "text/javascript", `cb_func_hoge({"status":"success", "count":1000});`)
	f("/count?user_id=100&entry_id=100", "text/javascript", countValue)
	if len(asked) > 0 {
		t.Errorf("hits: the backend received requests for %q, want none", asked)
	}
	f("/count?user_id=7&entry_id=100&callback=cb_func_hoge", "text/javascript", `cb_func_hoge({"status":"success", "count":0});`)
	if want := []string{"/count 7 100"}; strings.Join(asked, ",") != strings.Join(want, ",") {
		t.Errorf("miss: the backend received requests for %q, want %q", asked, want)
	}
	runAB(t, node.URL+countPath)
}

// runAB runs ab as the article did, with as many requests if KASOKU_BLOG=full. No request may fail.
func runAB(t *testing.T, url string) {
	t.Helper()
	requests := 2000
	if os.Getenv("KASOKU_BLOG") == "full" {
		requests = 100_000
	}
	l, err := harness.AB(t.Context(), url, requests, 100)
	if err != nil {
		t.Fatal(err)
	}
	if l.Failed != 0 || l.Non2xx != 0 {
		t.Errorf("%d of %d requests failed, %d had another status than 2xx", l.Failed, l.Complete, l.Non2xx)
	}
	t.Logf("%d requests: %.0f/s", l.Complete, l.Rate)
}
