package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// storeLine is a command about the data of a store in an indented block.
	storeLine = regexp.MustCompile(`(?m)^    kasoku (store (?:load|dump) .*?)(?: {2,}.*)?$`)
	// rulesBlock is the file of rules in docs/data.md.
	rulesBlock = regexp.MustCompile(`(?m)^    secret_env: .*\n(?:    .*\n)+`)
)

// TestStoreCommandsInDocs runs the commands about data in their order, page by page, with files of
// the names that the pages mention.
func TestStoreCommandsInDocs(t *testing.T) {
	texts := pages(t)
	store := "  store: {type: dynamodb, listen: 127.0.0.1:0, origin: \"embedded:data\", auth: {mode: none}}\n"
	other := run(t, head+store)
	elsewhere := "http://" + other.ServiceAddr("store").String()
	t.Setenv("ANONYMISE_SECRET", "0123456789abcdef")
	t.Chdir(t.TempDir())
	files := map[string]string{
		"music/Music.json": `{"TableName":"Music","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}],` +
			`"AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}]}`,
		"music/Music.items.json": `{"Artist":{"S":"Perfume"}}`,
		"music/Orders.json": `{"TableName":"Orders","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
			`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`,
		"people.json": `{"TableName":"people","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],` +
			`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`,
		"people.csv": "id,age,tags,vip\na,7,\"x,y\",true\n",
		"orders.csv": "id\na\n",
		"rules.yaml": strings.ReplaceAll("\n"+rulesBlock.FindString(texts["data.md"]), "\n    ", "\n"),
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	for _, page := range []string{"data.md", "cli.md"} {
		r := run(t, head+store)
		endpoint := "http://" + r.ServiceAddr("store").String()
		must := func(line string, args ...string) {
			t.Helper()
			var errs strings.Builder
			if code := Main(args, Environment{Stdout: &errs, Stderr: &errs, Lookup: os.LookupEnv}); code != codeOK {
				t.Errorf("%s: %s: exit code %d: %s", page, line, code, errs.String())
			}
		}
		must("set-up", "store", "load", "music", "--endpoint", elsewhere)
		for _, m := range storeLine.FindAllStringSubmatch(texts[page], -1) {
			if strings.Contains(m[1], "...") {
				continue
			}
			commands++
			line := regexp.MustCompile(`--from \S+`).ReplaceAllString(m[1], "--from "+elsewhere)
			must(m[1], append(words(t, line), "--endpoint", endpoint)...)
		}
	}
	if commands < 12 {
		t.Errorf("got only %d commands", commands)
	}
}
