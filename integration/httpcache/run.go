package httpcache

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/kasoku/kasoku/integration/harness"
)

// Test is one test of the suite with its result.
type Test struct {
	Suite   string
	Name    string
	Kind    string   // required, optimal or check
	Depends []string // tests that must pass for this one to be meaningful
	// Result is empty if the test passed; otherwise it is the kind of the failure and its
	// details.
	Result []string
}

// Report is the result of a run: every test by its id.
type Report map[string]Test

// Verdict returns the suite's verdict on a test: "pass" or "yes" if it passed, and otherwise
// "fail", "no", "dependency", "setup" or "retry".
func (r Report) Verdict(id string) string {
	t := r[id]
	for _, d := range t.Depends {
		if v := r.Verdict(d); v != "pass" && v != "yes" {
			return "dependency"
		}
	}
	switch {
	case len(t.Result) == 2 && t.Result[0] == "Setup" && t.Result[1] == "retry":
		return "retry"
	case len(t.Result) > 0 && t.Result[0] == "Setup":
		return "setup"
	case t.Kind == "check" && len(t.Result) > 0:
		return "no"
	case t.Kind == "check":
		return "yes"
	case len(t.Result) > 0:
		return "fail"
	}
	return "pass"
}

// Passed returns the ids of the tests of a kind that passed, in order.
func (r Report) Passed(kind string) (ids []string) {
	for id, t := range r {
		if t.Kind == kind && r.Verdict(id) == "pass" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func home() string { return filepath.Join(harness.Tools(), "node-httpcache") }

func script(name string) string {
	return filepath.Join(harness.Root(), "integration", "httpcache", "js", name)
}

// attempts is how often Origin tries another port if one is in use.
const attempts = 20

// Origin starts the suite's own origin server and returns its URL.
func Origin(t testing.TB) string {
	t.Helper()
	for range attempts {
		address, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := bytes.Cut([]byte(address), []byte{':'})
		var log bytes.Buffer
		cmd := exec.Command("node", script("origin.mjs"), home(), string(port))
		cmd.Stdout, cmd.Stderr = &log, &log
		p, err := harness.Run(cmd, "http://"+address, func(status int) bool { return status == 200 })
		if err == nil {
			p.StopWith(t)
			return "http://" + address
		}
		if !bytes.Contains(log.Bytes(), []byte("EADDRINUSE")) {
			t.Fatalf("the suite's origin: %v\n%s", err, log.Bytes())
		}
	}
	t.Fatal("no free port was found")
	return ""
}

// Run runs the suite's client against a URL, with atATime tests in parallel.
func Run(ctx context.Context, url string, atATime int) (Report, error) {
	cmd := exec.CommandContext(ctx, "node", "--no-warnings", script("run.mjs"), home(), url, strconv.Itoa(atATime))
	cmd.Env = append(os.Environ(), "NODE_OPTIONS=")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the suite's client: %w\n%s", err, errs.Bytes())
	}
	var r Report
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("the suite's client: %w\n%s", err, out)
	}
	return r, nil
}
