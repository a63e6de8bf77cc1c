package memcached

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// Options are options of Cache::Memcached::Fast by their names, for example servers,
// namespace, ketama_points, hash_namespace or compress_threshold.
type Options map[string]any

// Weighted is a server with its weight, for Options.
type Weighted struct {
	Address string  `json:"address"`
	Weight  float64 `json:"weight"`
}

// WritePerl stores items with Perl's Cache::Memcached::Fast. All of them must be stored.
func WritePerl(t testing.TB, client Options, items map[string]string) {
	t.Helper()
	list := make([][2]string, 0, len(items))
	for key, value := range items {
		list = append(list, [2]string{key, value})
	}
	var job bytes.Buffer
	e := json.NewEncoder(&job)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"client": client, "items": list}); err != nil {
		t.Fatal(err)
	}
	if stored := runWriter(t, &job, "perl", "perl/write.pl"); stored != strconv.Itoa(len(items)) {
		t.Fatalf("Cache::Memcached::Fast has stored %s of %d values", stored, len(items))
	}
}

// runWriter runs a script of this folder with a program of .tools/memcached, and returns its
// output.
func runWriter(t testing.TB, input *bytes.Buffer, program, script string, args ...string) string {
	t.Helper()
	path := filepath.Join(harness.Root(), "integration", "memcached", filepath.FromSlash(script))
	cmd := exec.CommandContext(t.Context(), tool(program), append([]string{path}, args...)...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = input, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, script, err, &errs)
	}
	return string(out)
}
