package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
)

const keysHead = "admin: {listen: \"127.0.0.1:0\", token_env: KASOKU_TEST_TOKEN, keys_token_env: KASOKU_TEST_KEYS}\nservices:\n"

// runKeys runs a node with both tokens, whose embedded store has the table orders.
func runKeys(t *testing.T, options string) *running {
	t.Setenv("KASOKU_TEST_TOKEN", "all")
	t.Setenv("KASOKU_TEST_KEYS", "keys")
	r := run(t, keysHead+`  shop: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}`+options+"}\n")
	r.ask("shop", "CreateTable", strings.Replace(createT, `"tab"`, `"orders"`, 1))
	return r
}

// command runs a command with the file's address and returns its output.
func (r *running) command(args ...string) (out, errs string, code int) {
	var o, e strings.Builder
	code = Main(append(args, "-c", r.file, "--admin", "http://"+r.AdminAddr().String()), Environment{Stdout: &o, Stderr: &e, Lookup: os.LookupEnv})
	return o.String(), e.String(), code
}

// hotKeys returns the answer to a request with a token.
func (r *running) hotKeys(token, query string) (status int, keys admin.KeysJSON, text string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+r.AdminAddr().String()+"/api/v1/keys?"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &keys); err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	return resp.StatusCode, keys, string(body)
}

// reads reads alice n times.
func (r *running) reads(n int) {
	for range n {
		_, _ = r.api("shop", "GetItem", `{"TableName":"orders","Key":{"id":{"S":"alice"}}}`)
	}
	r.settle("shop")
}

// Throttled reads of a table that is not cached are explained, and the keys of their requests are
// shown only with the token for them.
func TestHotKeys(t *testing.T) {
	r := runKeys(t, `, item_ttl: 0`)
	r.reads(1) // so that the table is known
	if _, errs, code := r.command("fault", "add", "--operation", "GetItem", "--count", "3", "--error", "ProvisionedThroughputExceededException"); code != codeOK {
		t.Fatal(errs)
	}
	r.reads(12)
	status, keys, text := r.hotKeys("keys", "table=orders")
	if status != http.StatusOK || !keys.Shown || len(keys.Tables) != 1 || len(keys.Tables[0].Top) != 4 || len(keys.Tables[0].Throttles) != 1 {
		t.Fatalf("got %d %s", status, text)
	}
	const key = `{"id":{"S":"alice"}}`
	first, row := keys.Tables[0].Top["misses"][0], keys.Tables[0].Throttles[0]
	if first.Key != key || first.Count != 13 || first.Error != 0 || len(first.Hash) != 16 {
		t.Errorf("the first key is %+v", first)
	}
	const advised = "100 % of its reads are misses because item_ttl is 0: set item_ttl for table orders"
	if row.Reason != "TableReadProvisionedThroughputExceeded" || row.Partition != "alice" || row.Key != key || row.Hash != first.Hash ||
		row.Count != 3 || row.Recent != 3 || row.Advice != advised || !strings.HasSuffix(row.Resource, ":table/orders") {
		t.Errorf("the throttled requests are %+v", row)
	}
	if status, keys, text := r.hotKeys("all", ""); status != http.StatusOK || keys.Shown || strings.Contains(text, "alice") || keys.Tables[0].Top["misses"][0].Hash != first.Hash {
		t.Errorf("without the right: %d %s", status, text)
	}
	if status, _, text := r.hotKeys("wrong", ""); status != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %d %s", status, text)
	}
	for query, want := range map[string]string{"by=size": "by is one of", "n=51": "n is a number", "n=x": "n is a number", "since=yesterday": "since is start", "service=x": "there is no service"} {
		if status, _, text := r.hotKeys("all", query); status < 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	out, errs, code := r.command("keys", "orders", "--by", "misses")
	if want := "orders, partition alice: TableReadProvisionedThroughputExceeded 3 times in 5 min; " + advised + "\n"; code != codeOK || errs != "" || !strings.HasSuffix(out, want) ||
		!regexp.MustCompile(`(?m)^13      0   100\.0 %  `+first.Hash+`  \{"id":\{"S":"alice"\}\}$`).MatchString(out) {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	o := r.overview()
	if page := string(o.Text()); !regexp.MustCompile(`(?m)^orders     shop     3         .* TableReadProvisionedThroughputExceeded$`).MatchString(page) || strings.Contains(page, "alice") {
		t.Errorf("the report is\n%s", page)
	}
}

// Rows of kasoku top have the keys of their table, by the token that shows them.
func TestTopKeys(t *testing.T) {
	r := runKeys(t, "")
	r.reads(2)
	f := func(token, service, table, want string) {
		t.Helper()
		s := &topSource{&adminClient{address: "http://" + r.AdminAddr().String(), token: token}}
		keys, err := s.Keys(t.Context(), service, table)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case keys != nil:
			got = fmt.Sprint(keys.Top["requests"][0].Key, keys.Top["requests"][0].Count)
		}
		if got != want && !(err != nil && strings.Contains(got, want)) {
			t.Errorf("%s, %s, %s: got %q, want %q", token, service, table, got, want)
		}
	}
	f("keys", "shop", "orders", `{"id":{"S":"alice"}}2`)
	f("all", "shop", "orders", "2")
	f("keys", "shop", "users", "")
	f("keys", "shop", "", "")
	f("wrong", "shop", "orders", "401")
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	if err := os.WriteFile(file, []byte(`admin: {listen: "127.0.0.1:9090", keys_token_env: KASOKU_TEST_KEYS}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := topCommand{Config: file}
	all, err := c.sources(&Environment{Lookup: os.LookupEnv})
	if err != nil || len(all) != 1 || all[0].(*topSource).token != "keys" {
		t.Errorf("sources %v, %v", all, err)
	}
}

// The command uses the token that shows keys only if it can be read.
func TestKeysTokens(t *testing.T) {
	r := runKeys(t, "")
	r.reads(2)
	if err := os.Unsetenv("KASOKU_TEST_KEYS"); err != nil {
		t.Fatal(err)
	}
	out, errs, code := r.command("keys")
	if code != codeOK || strings.Contains(out, "alice") || !strings.Contains(out, "orders (service shop) since ") || !strings.Contains(errs, "keys are hashes") {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	t.Setenv("KASOKU_TEST_KEYS", "keys")
	if out, errs, code := r.command("keys", "--json", "--start"); code != codeOK || !strings.Contains(out, `"key": "{\"id\":{\"S\":\"alice\"}}"`) {
		t.Errorf("code %d, %s\n%s", code, errs, out)
	}
	if _, errs, code := r.command("keys", "-n", "51"); code != codeUsage || !strings.Contains(errs, "--number must be from 1 to 50") {
		t.Errorf("code %d, %s", code, errs)
	}
	if _, errs, code := r.command("keys", "none"); code != codeOK || !strings.Contains(errs, "no requests with a key were counted") {
		t.Errorf("code %d, %s", code, errs)
	}
}

// The commands of the section about hot keys work as they are printed.
func TestHotKeysPage(t *testing.T) {
	_, section, _ := strings.Cut(pages(t)["observability.md"], "\n## Which key is hot?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	r := runKeys(t, "")
	r.reads(2)
	commands := regexp.MustCompile(`(?m)^    kasoku (.*?) *(?:#.*)?$`).FindAllStringSubmatch(section, -1)
	for _, m := range commands {
		if out, errs, code := r.command(words(t, m[1])...); code != codeOK || !strings.Contains(out, "orders (service shop)") {
			t.Errorf("%s: code %d, %s\n%s", m[1], code, errs, out)
		}
	}
	if len(commands) != 4 {
		t.Errorf("%d commands", len(commands))
	}
}

// Text of clients has no effect on a terminal.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{`{"a":{"S":"é b"}}`: `{"a":{"S":"é b"}}`, "a\x1b[31m\n": `a\x1b[31m\n`, "": ""} {
		if got := printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Recommendations depend on the reason and on the share of misses.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		a    advice
		want string
	}{
		{advice{reason: "TableWriteKeyRangeThroughputExceeded", table: "t"}, "writes always reach the origin: distribute them over more partition keys, or raise the write capacity of table t"},
		{advice{reason: "r", table: "t", reads: 100, misses: 93}, "93 % of its reads are misses because item_ttl is 0: set item_ttl for table t"},
		{advice{reason: "r", table: "t", reads: 100, misses: 93, query: true, item: 1}, "93 % of its reads are misses because query_ttl is 0: set query_ttl for table t"},
		{advice{reason: "r", table: "t", reads: 100, misses: 5, whole: true, item: 60e9}, "5 % of the table's reads are misses: distribute the reads over more partition keys, or raise the read capacity of table t"},
		{advice{reason: "r", reads: 3, misses: 2, item: 60e9}, "67 % of its reads are misses with item_ttl 1m0s: a longer one, or refresh_ahead, makes them fewer"},
		{advice{reason: "r"}, "items are not cached because item_ttl is 0: set it for the table"},
		{advice{reason: "r", item: 1}, ""},
	} {
		if got := c.a.text(); got != c.want {
			t.Errorf("%s: got %q, want %q", fmt.Sprint(c.a), got, c.want)
		}
	}
}
