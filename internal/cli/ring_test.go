package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ringFile writes a configuration with the service of the walk-through.
func ringFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	text := `
services:
  counts:
    type: memcached
    listen: 127.0.0.1:10080
    servers: ["127.0.0.1:20000", "127.0.0.1:20001", "127.0.0.1:20002"]
    distribution: {name: cmf-ketama, points: 150}
    locations: [{path: /, key: a}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func noVariables(string) (string, bool) { return "", false }

// TestRingAnswersLineByLine writes a key only after the answer to the previous one, as a
// program with a pipe to ring does.
func TestRingAnswersLineByLine(t *testing.T) {
	in, ask := io.Pipe()
	stdout, out := io.Pipe()
	file, code := ringFile(t), make(chan int, 1)
	go func() {
		defer out.Close()
		defer in.Close()
		code <- Main([]string{"ring", "-c", file, "-"}, Environment{Stdin: in, Stdout: out, Stderr: io.Discard, Lookup: noVariables})
	}()
	answers := bufio.NewReader(stdout)
	for _, key := range []string{"a", "b", "100::100"} {
		if _, err := io.WriteString(ask, key+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, key+"\t") {
			t.Fatalf("server of %s: got %q, %v", key, line, err)
		}
	}
	ask.Close()
	if got := <-code; got != codeOK {
		t.Errorf("exit code %d", got)
	}
}

// TestRingOfManyKeys checks that there is a line for each of many keys, in their order.
func TestRingOfManyKeys(t *testing.T) {
	const many = 50_000
	var in, out, errs bytes.Buffer
	for i := range many {
		fmt.Fprintf(&in, "user::%d\n", i)
	}
	if code := Main([]string{"ring", "-c", ringFile(t), "-"}, Environment{Stdin: &in, Stdout: &out, Stderr: &errs, Lookup: noVariables}); code != codeOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	servers, i := map[string]int{}, 0
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 || fields[0] != fmt.Sprintf("user::%d", i) {
			t.Fatalf("got line %d: %q", i, line)
		}
		servers[fields[3]]++
		i++
	}
	if i != many || len(servers) != 3 {
		t.Errorf("got %d lines, servers %v", i, servers)
	}
}

// TestRingRefusesEndlessLines also checks that earlier keys are answered.
func TestRingRefusesEndlessLines(t *testing.T) {
	var out, errs bytes.Buffer
	in := strings.NewReader("a\n" + strings.Repeat("x", maxLine+1))
	code := Main([]string{"ring", "-c", ringFile(t), "-"}, Environment{Stdin: in, Stdout: &out, Stderr: &errs, Lookup: noVariables})
	if code != codeInput || !strings.HasPrefix(out.String(), "a\t") || !strings.Contains(errs.String(), "line 2 of standard input is longer") {
		t.Errorf("got exit code %d, output %q, errors %q", code, out.String(), errs.String())
	}
}
