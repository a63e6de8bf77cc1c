package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

// topNode returns a node with a store and requests for the tables of docs/observability.md.
func topNode(t *testing.T) *running {
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}}`+"\n")
	for _, name := range []string{"users", "sessions"} {
		r.ask("orders", "CreateTable", strings.Replace(createT, `"tab"`, `"`+name+`"`, 1))
		for range 3 {
			r.ask("orders", "GetItem", `{"TableName":"`+name+`","Key":{"id":{"S":"1"}}}`)
		}
	}
	r.settle("orders")
	return r
}

// heading matches the heading of a part of the screen.
var heading = regexp.MustCompile(`(?m)^  ([A-Z]+ .*)$`)

// headings returns the columns of each part of the screen.
func headings(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Join(strings.Fields(m[1]), " "))
	}
	return all
}

// TestTopInDocs runs the command of docs/observability.md, and compares the parts of the screen and
// the names of rows with those on the page.
func TestTopInDocs(t *testing.T) {
	r := topNode(t)
	page := pages(t)["observability.md"]
	m := regexp.MustCompile(`(?m)^    \$ kasoku (top .*)\n((?:(?:    .*)?\n)+)`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("docs/observability.md has no command")
	}
	example := strings.ReplaceAll("\n"+m[2], "\n    ", "\n")
	var out strings.Builder
	args := append(words(t, m[1]), "--interval", "100ms", "--admin", "http://"+r.AdminAddr().String())
	if code := Main(args, Environment{Stdout: &out, Stderr: &out, Lookup: noVariables}); code != codeOK {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	got, want := headings(out.String()), headings(example)
	if len(got) != 2 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nthe page has\n%s", &out, example)
	}
	for _, text := range []string{"\n  orders ", "\n  users ", "\n  sessions ", " requests/s  hit ", "  breakers ", "  up ", "  last "} {
		if !strings.Contains(out.String(), text) || !strings.Contains(example, text) {
			t.Errorf("%q is not in\n%s\nor not in\n%s", text, &out, example)
		}
	}
}

// TestTopErrors checks messages about a missing terminal, a wrong interval, and nodes that do not
// answer or refuse.
func TestTopErrors(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(other.Close)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		env := Environment{Stdin: null, Stdout: &out, Stderr: &errs, Lookup: noVariables}
		if got := Main(append([]string{"top"}, args...), env); got != code || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%q: exit code %d, %s%s; want %d, %s", args, got, &out, &errs, code, want)
		}
	}
	f(codeUsage, "kasoku top needs a terminal; kasoku top --once prints one screen as text")
	f(codeUsage, "--interval must be between 100ms and 1h0m0s", "--interval", "1ms")
	f(codeInput, "refused by "+refusing.URL+" with status 401", "--once", "--interval", "100ms", "--admin", refusing.URL)
	f(codeInput, "it does not answer like Kasoku's admin API", "--once", "--interval", "100ms", "--admin", other.URL, "--admin", refusing.URL)
	f(codeInput, "is no URL", "--once", "--interval", "100ms", "--admin", "localhost")
}

// TestTopExplain checks that the lines of the prompt are those of kasoku explain.
func TestTopExplain(t *testing.T) {
	s := &topSource{&adminClient{address: "http://" + topNode(t).AdminAddr().String()}}
	f := func(line, want string) {
		t.Helper()
		e, err := s.Explain(t.Context(), "orders", line)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", line, err, want)
			}
			return
		}
		if e.Decision != want {
			t.Errorf("%s: got %s, want %s", line, e.Decision, want)
		}
	}
	f("GetItem users id=1", "hit-negative")
	f(`GetItem  users  {"id": {"S": "2"}}`, "miss")
	f("GetItem", "an operation needs a table")
	f("GetItem users id", "id")
	f("DescribeTable users", "pass")
}
