package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// An origin is drained and put back into service while the node runs.
func TestDrain(t *testing.T) {
	entered, gate := make(chan struct{}, 1), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			entered <- struct{}{}
			<-gate
		}
		fmt.Fprint(w, "one")
	}))
	defer slow.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "two") }))
	defer other.Close()
	config := strings.ReplaceAll(web1, `"ORIGIN"`, `{url: "`+slow.URL+`", weight: 1000}, "`+other.URL+`"`)
	r := run(t, config)
	command := func(code int, want string, flags ...string) {
		t.Helper()
		args := append([]string{"drain", "--admin", "http://" + r.AdminAddr().String(), "--service"}, flags...)
		var out, errs strings.Builder
		if got := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Fatalf("%q: %d %q %q; want %d with %q", flags, got, out.String(), errs.String(), code, want)
		}
	}
	all := func(want string) {
		t.Helper()
		for range 4 {
			if got := r.fetch("site", "/"); got != want {
				t.Fatalf("%q; want %q", got, want)
			}
		}
	}
	waited := make(chan string)
	go func() { waited <- r.fetch("site", "/wait") }()
	<-entered
	command(codeOK, slow.URL+" is drained, 1 requests under way", "site", "--origin", slow.URL)
	command(codeInput, "but 1 are still under way", "site", "--origin", slow.URL+"/", "--wait", "1ms")
	all("two")
	close(gate)
	if got := <-waited; got != "one" {
		t.Errorf("the request in flight: got %q", got)
	}
	command(codeOK, `"state":"drained","in_flight":0`, "site", "--origin", slow.URL, "--wait", "1m", "--json")
	// It is still drained after a reload.
	r.mustReload(config + "    stale_if_error: 1m\n")
	all("two")
	for _, part := range []string{"site    drained  1000 ", "site: origin " + slow.URL + " is drained"} {
		if page := r.page("/api/v1/report"); !strings.Contains(page, part) {
			t.Errorf("the report lacks %q:\n%s", part, page)
		}
	}
	command(codeInput, "all other origins are drained already", "site", "--origin", other.URL)
	command(codeInput, "there is no origin", "site", "--origin", "http://other")
	command(codeInput, "there is no service", "shop", "--origin", slow.URL)
	command(codeUsage, "--undo", "site", "--origin", slow.URL, "--undo", "--wait", "1s")
	command(codeOK, slow.URL+" is up, 0 requests under way", "site", "--origin", slow.URL, "--undo")
	all("one")
	// A command does not undo a drain in the file.
	r.mustReload(strings.ReplaceAll(config, "weight: 1000", "drain: true"))
	all("two")
	command(codeInput, "drained by the configuration", "site", "--origin", slow.URL, "--undo")
	r.mustReload(config)
	all("one")
}
