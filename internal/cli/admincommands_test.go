package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// command runs a command line with environment variables, given as NAME=VALUE.
func command(t *testing.T, args []string, env ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = Main(args, Environment{Stdout: &stdout, Stderr: &stderr, Lookup: func(name string) (string, bool) {
		for _, e := range env {
			if n, value, _ := strings.Cut(e, "="); n == name {
				return value, true
			}
		}
		return "", false
	}})
	return code, stdout.String(), stderr.String()
}

// TestPurgeOfNothing purges entries that can't exist. That is an error, so that a misspelt name
// in a script is detected.
func TestPurgeOfNothing(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer origin.Close()
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:`+t.TempDir()+`", auth: {mode: none}}
  away: {type: dynamodb, listen: "127.0.0.1:0", origin: "http://127.0.0.1:1", region: local, auth: {mode: none}, retry: {attempts: 1}}
  site: {type: http, listen: "127.0.0.1:0", origins: ["`+origin.URL+`"]}
  counts: {type: memcached, listen: "127.0.0.1:0", servers: ["127.0.0.1:1"], locations: [{path: /count, key: "${arg.id}"}]}
`)
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		code, out, errs := command(t, append([]string{"purge", "--admin", "http://" + r.AdminAddr().String(), "--service"}, args...))
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%q: %d %q %q; want %d and %q", args, code, out, errs, wantCode, want)
		}
	}
	f(codeInput, "nothing was dropped: the origin of service orders has no table typo", "orders", "--table", "typo")
	f(codeInput, "has no table typo", "orders", "--table", "typo", "--partition", "a")
	f(codeInput, "has no table typo", "orders", "--table", "typo", "--key", `{"id":{"S":"1"}}`)
	if _, err := r.api("orders", "CreateTable", `{"TableName":"tab","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`); err != nil {
		t.Fatal(err)
	}
	f(codeOK, "everything of table tab", "orders", "--table", "tab")
	f(codeOK, "everything of table tab", "away", "--table", "tab") // the table may exist
	f(codeOK, "http://shop.example/a", "site", "--url", "http://shop.example/a")
	f(codeOK, "all that begins with /a", "site", "--prefix", "/a")
	for _, flag := range []string{"--url", "--prefix", "--pattern"} {
		f(codeInput, "no request matches https://shop.example/a, because clients speak http to service site; write http://shop.example/a", "site", flag, "https://shop.example/a")
	}
	f(codeInput, "no location has the path", "counts", "--url", "/other?id=1")
	f(codeInput, "there is no service", "unknown")
}

// api sends an operation to a service of type dynamodb.
func (r *running) api(service, operation, body string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+r.ServiceAddr(service).String(), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", resp.StatusCode, answer)
	}
	return string(answer), err
}

// TestAdminOfTheFile has commands find the admin API by the configuration file beside them.
func TestAdminOfTheFile(t *testing.T) {
	t.Setenv("ADMIN_TOKEN", "sesame")
	origin := newStore(t)
	r := run(t, "admin: {listen: \"127.0.0.1:0\", token_env: ADMIN_TOKEN}\nservices:\n"+fmt.Sprintf(orders, origin.URL))
	admin := r.AdminAddr().String()
	t.Chdir(t.TempDir())
	file := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := func(wantCode int, want string, args []string, env ...string) {
		t.Helper()
		code, out, errs := command(t, args, env...)
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%q with %q: %d %q %q; want %d and %q", args, env, code, out, errs, wantCode, want)
		}
	}
	purge := []string{"purge", "--service", "orders"}
	// Its services are not checked, so that secrets of the server are not needed here.
	content := "admin: {listen: " + admin + ", token_env: ADMIN_TOKEN}\nservices:\n  orders: {type: dynamodb, listen: ${NOT_SET}, auth: {keys: [{id: A, secret_env: NOT_SET}]}}\n"
	content = strings.Replace(content, "${NOT_SET}", `"${NOT_SET}"`, 1)
	file("kasoku.yaml", content)
	f(codeOK, "orders: dropped", purge, "ADMIN_TOKEN=sesame")
	f(codeOK, "orders: dropped", purge, "KASOKU_ADMIN_TOKEN=sesame")
	f(codeOK, "orders: dropped", append(purge, "--token-env", "MINE"), "MINE=sesame")
	f(codeInput, "status 401", append(purge, "--token-env", "MINE"), "MINE=wrong", "ADMIN_TOKEN=sesame")
	f(codeInput, "admin.token_env: the environment variable ADMIN_TOKEN is not set", purge)
	f(codeInput, "has no origins that could be drained", []string{"drain", "--service", "orders", "--origin", "http://127.0.0.1:1"}, "ADMIN_TOKEN=sesame")
	// A flag takes precedence, and the file's token is not sent to another address.
	f(codeInput, "status 401", append(purge, "--admin", "http://"+admin), "ADMIN_TOKEN=sesame")
	f(codeOK, "orders: dropped", append(purge, "--admin", "http://"+admin), "KASOKU_ADMIN_TOKEN=sesame")
	f(codeInput, "connection refused", append(purge, "--admin", "http://127.0.0.1:1"), "ADMIN_TOKEN=sesame")

	file("other.yaml", content)
	file("kasoku.yaml", "admin: {listen: \"127.0.0.1:1\"}\n")
	f(codeInput, "connection refused", purge, "ADMIN_TOKEN=sesame")
	f(codeOK, "orders: dropped", append(purge, "-c", "other.yaml"), "ADMIN_TOKEN=sesame")
	f(codeInput, "missing.yaml", append(purge, "-c", "missing.yaml"))
	file("bad.yaml", "admin: {listen: 127}\n")
	f(codeInput, `admin.listen: "127" is no address`, append(purge, "-c", "bad.yaml"))
	file("bad.yaml", "admin: {listen: \"127.0.0.1:0\"}\n")
	f(codeInput, "has no port", append(purge, "-c", "bad.yaml"))
	file("bad.yaml", "admin: {listen: \"x\n")
	f(codeInput, "YAML syntax", append(purge, "-c", "bad.yaml"))
}

// TestExplainCommand explains hits and misses of all types of services.
func TestExplainCommand(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.Header().Set("Vary", "Accept-Language")
		io.WriteString(w, "hello")
	}))
	defer origin.Close()
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:`+t.TempDir()+`", auth: {mode: none}}
  site: {type: http, listen: "127.0.0.1:0", origins: ["`+origin.URL+`"]}
`)
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		code, out, errs := command(t, append([]string{"explain", "--admin", "http://" + r.AdminAddr().String()}, args...))
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%q: %d\n%s%s\nwant %d and\n%s", args, code, out, errs, wantCode, want)
		}
	}
	for _, request := range [][2]string{
		{"CreateTable", `{"TableName":"tab","KeySchema":[{"AttributeName":"id","KeyType":"HASH"},{"AttributeName":"n","KeyType":"RANGE"}],` +
			`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"n","AttributeType":"N"}],"BillingMode":"PAY_PER_REQUEST"}`},
		{"PutItem", `{"TableName":"tab","Item":{"id":{"S":"é"},"n":{"N":"1.50"}}}`},
		{"GetItem", `{"TableName":"tab","Key":{"id":{"S":"é"},"n":{"N":"1.5"}}}`},
		{"GetItem", `{"TableName":"tab","Key":{"id":{"S":"é"},"n":{"N":"1.5"}}}`},
	} {
		if _, err := r.api("orders", request[0], request[1]); err != nil {
			t.Fatal(err)
		}
	}
	const readable = `tab {"id":{"S":"é"},"n":{"N":"1.5"}}`
	f(codeOK, readable, "GetItem", "tab", `{"id":{"S":"é"},"n":{"N":"1.50"}}`)
	f(codeOK, "GetItem tab: hit\n  operation  GetItem\n", "GetItem", "tab", "id=é,n:N=1.5")
	f(codeOK, readable, "PutItem", "tab", "id=é,n:N=1.5")
	f(codeOK, `tab "id" = {"S":"é"}`, "Query", "tab", "id=é")
	f(codeOK, "Scan tab: miss", "Scan", "tab")
	f(codeOK, "GetItem: hit", "GetItem", "--body", `{"TableName":"tab","Key":{"id":{"S":"é"},"n":{"N":"1.5"}}}`)
	f(codeOK, readable, "BatchGetItem", "tab", "id=é,n:N=1.5")
	f(codeOK, `"decision":"hit"`, "--json", "GetItem", "tab", "id=é,n:N=1.5")
	f(codeOK, "forwarded unchanged", "MakeTea", "t")
	f(codeInput, "neither an object", "GetItem", "tab", "7")
	f(codeUsage, "needs a table, or --body", "GetItem")

	r.fetch("site", "/a")
	url := "http://" + r.ServiceAddr("site").String() + "/a"
	f(codeOK, url+": hit\n", url)
	f(codeOK, "only variants for other requests are", url, "-H", "Accept-Language: ja")
	f(codeOK, "miss\n", "http://elsewhere/a")
	f(codeUsage, "takes no table", url, "t")
	f(codeInput, "there is no service", "--service", "unknown", url)

	r.mustReload(head + `  site: {type: http, listen: "127.0.0.1:0", origins: ["` + origin.URL + `"]}
  other: {type: http, listen: "127.0.0.1:0", origins: ["` + origin.URL + `"]}
`)
	f(codeInput, "choose a service that has URLs with --service: site, other", url)
	f(codeInput, "choose a service that has operations of DynamoDB with --service: there is none", "Scan", "tab")
	f(codeOK, "miss", "--service", "other", url)
}
