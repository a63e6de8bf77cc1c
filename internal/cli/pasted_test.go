package cli

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

// pages returns the documentation by file name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

var (
	// commandLine is a command in an indented block, without the explanation beside it.
	commandLine = regexp.MustCompile(`(?m)^    kasoku ((?:purge|drain) --.*?)(?:\s{2,}.*)?$`)
	// adminRequest is a request to the admin API with curl, over several lines.
	adminRequest = regexp.MustCompile(`(?m)^    curl [^\n]*http://127\.0\.0\.1:9090(/\S+)[^']*'Content-Type: application/json'[^']*-d '([^']*)'`)
	// word is a word of a shell command, with or without quotes.
	word = regexp.MustCompile(`'([^']*)'|\S+`)
)

// words splits a command line as a shell without variables does. Patterns of zsh must be
// quoted.
func words(t *testing.T, line string) (args []string) {
	t.Helper()
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		if m[0][0] == '\'' {
			args = append(args, m[1])
			continue
		}
		if strings.ContainsAny(m[0], "?*[]{}\"$") {
			t.Errorf("%s: %s is not in quotes", line, m[0])
		}
		args = append(args, m[0])
	}
	return args
}

// TestPastedCommands runs every command of the documentation, and sends its requests to the admin
// API.
func TestPastedCommands(t *testing.T) {
	one, two, values := newRelax(t, "one"), newRelax(t, "two"), memcachedtest.Start(t, true)
	r := run(t, head+orders+`
  site: {type: http, listen: 127.0.0.1:0, origins: ["http://10.0.0.1:8080", "http://10.0.0.2:8080"]}
  tweets: {type: couchdb, listen: 127.0.0.1:0, nodes: ["`+one.URL+`", "`+two.URL+`"]}
  counts:
    type: memcached
    listen: 127.0.0.1:0
    servers: ["`+values.Address()+`"]
    timeout: 1m
    first_byte_timeout: 1m
    locations: [{path: /count, key: "${arg.user_id}::${arg.entry_id}"}]
`)
	base := "http://" + r.AdminAddr().String()
	commands, requests := 0, 0
	texts := pages(t)
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		text := strings.ReplaceAll(texts[page], "http://127.0.0.1:5984", one.URL)
		for _, m := range commandLine.FindAllStringSubmatch(text, -1) {
			commands++
			var out, errs strings.Builder
			args := append(words(t, m[1]), "--admin", base)
			if code := Main(args, Environment{Stdout: &out, Stderr: &errs, Lookup: os.LookupEnv}); code != codeOK {
				t.Errorf("%s: kasoku %s: exit code %d: %s", page, m[1], code, errs.String())
			}
		}
		for _, m := range adminRequest.FindAllStringSubmatch(text, -1) {
			requests++
			if resp, body := post(t, http.DefaultClient, base+m[1], "application/json", m[2]); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s of %s: %d %s", page, m[1], m[2], resp.StatusCode, body)
			}
		}
	}
	if commands < 15 || requests < 4 {
		t.Errorf("got only %d commands and %d requests", commands, requests)
	}
}
