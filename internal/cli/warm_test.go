package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// warmCommandLine runs kasoku warm with a list on standard input.
func warmCommandLine(r *running, list string, args ...string) (code int, out, errs string) {
	var stdout, stderr strings.Builder
	args = append([]string{"warm", "--admin", "http://" + r.AdminAddr().String()}, args...)
	code = Main(args, Environment{Stdin: strings.NewReader(list), Stdout: &stdout, Stderr: &stderr, Lookup: os.LookupEnv})
	return code, stdout.String(), stderr.String()
}

// TestWarmCommand fills the caches of services of all types from lists.
func TestWarmCommand(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/private":
			w.Header().Set("Cache-Control", "private")
		case "/missing":
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(404)
		default:
			w.Header().Set("Cache-Control", "max-age=60")
		}
		io.WriteString(w, r.Host+" "+r.Header.Get("User-Agent"))
	}))
	defer origin.Close()
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:`+t.TempDir()+`", auth: {mode: none}}
  site: {type: http, listen: "127.0.0.1:0", proxy_protocol: true, origins: ["`+origin.URL+`"]}
  counts: {type: memcached, listen: "127.0.0.1:0", servers: ["127.0.0.1:1"], locations: [{path: /count, key: "${arg.id}", fallback: ["`+origin.URL+`"]}]}
`)
	f := func(wantCode int, want, wantErrors, list string, args ...string) {
		t.Helper()
		code, out, errs := warmCommandLine(r, list, args...)
		if code != wantCode || out != want || errs != wantErrors {
			t.Errorf("%q: %d %q\n%s\nwant %d %q\n%s", args, code, out, errs, wantCode, want, wantErrors)
		}
	}
	if _, err := r.api("orders", "CreateTable", `{"TableName":"tab","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`); err != nil {
		t.Fatal(err)
	}
	const items = `# the hottest
tab {"id":{"S":"1"}}
tab id=2

tab n=3
Scan {"TableName":"tab"}
oops id=4
tab id=1
`
	f(codeInput, "orders: 3 filled, 1 already there, 0 not cacheable, 2 failed\n",
		`standard input:5: {"n":{"S":"3"}} is not the key of an item of table tab: it needs exactly id (S)`+"\nstandard input:7: the origin of service orders has no table oops\n",
		items, "orders", "--from", "-", "--rate", "9")
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("tab id=1\r\ntab id=2"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(codeOK, `{"filled":0,"present":2,"uncacheable":0,"failed":0}`+"\n", "", "", "orders", "--from", file, "--json")

	f(codeInput, "site: 1 filled, 1 already there, 1 not cacheable, 4 failed\n", `standard input:3: the answer is 404 Not Found
standard input:5: "/a" is not a URL as clients request it, for example http://shop.example/a
standard input:6: clients speak http to the service; write http://shop.example/a
standard input:7: "http://user@shop.example/" is not a URL as clients request it, for example http://shop.example/a
`, "http://shop.example/a?b=1\nhttp://shop.example/private\nhttp://shop.example/missing\nhttp://shop.example/a?b=1\n/a\nhttps://shop.example/a\nhttp://user@shop.example/\n",
		"site", "--from", "-", "--rate", "9")
	f(codeInput, "counts: 0 filled, 0 already there, 1 not cacheable, 1 failed\n", `standard input:2: "count" is not a path, for example /a, or a URL`+"\n",
		"/count?id=1\ncount\n", "counts", "--from", "-")

	f(codeInput, "", "kasoku: open nowhere: no such file or directory\n", "", "orders", "--from", "nowhere")
	f(codeInput, "", "kasoku: refused by http://"+r.AdminAddr().String()+" with status 404: there is no service \"x\"; there are: orders, site, counts\n", "a", "x", "--from", "-")
	f(codeInput, "", "kasoku: refused by http://"+r.AdminAddr().String()+" with status 404: this Kasoku is in no cluster: its configuration has no section cluster\n", "", "orders", "--peer", "b")
	for _, args := range [][]string{{}, {"--from", "-", "--peer", "b"}, {"--from", "-", "--rate=-1"}, {"--from", "-", "--keys", "3"}} {
		if code, _, errs := warmCommandLine(r, "", append([]string{"orders"}, args...)...); code != codeUsage {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}

	r.mu.Lock()
	r.cluster = &fakeCluster{}
	r.mu.Unlock()
	f(codeOK, "orders: 5 filled, 2 already there, 0 not cacheable, 0 failed\n", "", "", "orders", "--peer", "b", "--keys", "5")
	f(codeInput, `{"filled":13,"present":2,"uncacheable":0,"failed":0,"bytes":130,"error":"b does not reply"}`+"\n", "kasoku: b does not reply\n",
		"", "orders", "--peer", "b", "--keys", "13", "--json")
	f(codeInput, "", "kasoku: refused by http://"+r.AdminAddr().String()+" with status 400: bad request: there is no other member x\n", "", "orders", "--peer", "x")
}

// A signal ends the command with what was done until then.
func TestWarmIsInterrupted(t *testing.T) {
	signals := make(chan os.Signal, 2)
	var entries int
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if entries++; entries == 3 {
			signals <- syscall.SIGHUP
			signals <- os.Interrupt
		}
		io.WriteString(w, `{"results":[{"outcome":"filled"}]}`)
	}))
	defer api.Close()
	var stdout, stderr strings.Builder
	list := strings.NewReader(strings.Repeat("tab id=1\n", 1000))
	code := Main([]string{"warm", "orders", "--from", "-", "--rate", "9", "--admin", api.URL}, Environment{
		Stdin: list, Stdout: &stdout, Stderr: &stderr, Signals: signals, Lookup: os.LookupEnv,
	})
	if code != codeInput || stderr.String() != "kasoku: interrupted\n" || !strings.HasPrefix(stdout.String(), "orders: ") {
		t.Errorf("%d %q %q", code, stdout.String(), stderr.String())
	}
	if entries > 5 {
		t.Errorf("%d entries were sent", entries)
	}
}

// Entries are sent at the rate, in requests that are not too long.
func TestWarmRate(t *testing.T) {
	const entries = 400
	for _, c := range []struct {
		rate  int
		line  string
		takes time.Duration // of a request
		want  time.Duration
	}{
		{100, "t id=1", 0, 4 * time.Second},
		{100, "t id=1", 100 * time.Millisecond, 4 * time.Second},
		{100, "t id=1", time.Second, 20 * time.Second},
		{1, "t id=1", 0, 400 * time.Second},
		{1_000_000, "t id=1", time.Second, 4 * time.Second},
		{1_000_000, strings.Repeat("x", maxEntry-10), time.Second, 80 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			run := warmRun{service: "orders", bar: &progressBar{}, errors: io.Discard}
			run.send = func(_ context.Context, request *admin.WarmRequest) (result admin.WarmResult, err error) {
				sent += len(request.Entries)
				time.Sleep(c.takes)
				for range request.Entries {
					result.Results = append(result.Results, admin.WarmedEntry{Outcome: admin.WarmFilled})
				}
				return result, nil
			}
			start := time.Now()
			list := newEntryReader(strings.NewReader(strings.Repeat(c.line+"\n", entries)), "keys")
			if err := run.fromList(t.Context(), list, 0, c.rate); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != c.want || sent != entries || run.totals.Filled != entries {
				t.Errorf("%d per second: %d entries in %s, want %s", c.rate, sent, took, c.want)
			}
		})
	}
}

// An answer without a result for each entry, or an error, ends the command.
func TestWarmFails(t *testing.T) {
	for _, c := range []struct {
		result admin.WarmResult
		err    error
		want   string
	}{
		{admin.WarmResult{}, nil, "has not answered for all entries"},
		{admin.WarmResult{}, errors.New("no answer"), "no answer"},
	} {
		run := warmRun{bar: &progressBar{}, errors: io.Discard}
		run.send = func(context.Context, *admin.WarmRequest) (admin.WarmResult, error) { return c.result, c.err }
		err := run.fromList(t.Context(), newEntryReader(strings.NewReader("t id=1"), "keys"), 0, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
