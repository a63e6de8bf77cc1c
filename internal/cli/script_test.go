package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kasoku": func() { os.Exit(Main(os.Args[1:], System())) },
		// status runs the rest of its line and prints the exit code.
		"status": status,
		"curl":   curl,
		"rpc":    rpc,
	})
}

// brief is a setting of the race detector: it delays the exit of a program by 50 ms instead of a
// second. The scripts start more than a hundred programs.
const brief = "atexit_sleep_ms=50"

// TestScripts runs testdata/script. $TAKEN is an address with a listener that never answers.
func TestScripts(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() }) // the scripts run after this function
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TAKEN", ln.Addr().String())
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Setenv("GORACE", brief)
			e.Setenv("SOCKET", filepath.Join(e.WorkDir, "s"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// example writes one of the examples, with sockets for its admin server
			// and then for its service: $SOCKET.
			"example": func(ts *testscript.TestScript, _ bool, args []string) {
				text, err := os.ReadFile(filepath.Join("../../examples", args[0]))
				ts.Check(err)
				text = daxLine.ReplaceAll(text, nil) // it can't be a socket
				sockets := []string{ts.Getenv("SOCKET") + "-admin", ts.Getenv("SOCKET")}
				text = portOf.ReplaceAllFunc(text, func([]byte) []byte {
					next := sockets[0]
					sockets = sockets[1:]
					return []byte("listen: unix:" + next)
				})
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
			},
			// json compares JSON, with numbers as text.
			"json": func(ts *testscript.TestScript, neg bool, args []string) {
				got, want := canonicalJSON(ts, args[0]), canonicalJSON(ts, args[1])
				if (got == want) == neg {
					ts.Fatalf("%s is %s\n%s is %s", args[0], got, args[1], want)
				}
			},
			"awaitready": awaitReady,
			"gzip":       gzipFile,
			// envsubst puts the environment into a file.
			"envsubst": func(ts *testscript.TestScript, _ bool, args []string) {
				file := ts.MkAbs(args[0])
				ts.Check(os.WriteFile(file, []byte(os.Expand(ts.ReadFile(file), ts.Getenv)), 0o600))
			},
		},
	})
}

// gzipFile compresses a file, which keeps its name.
func gzipFile(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(errors.Join(err, z.Close()))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// awaitReady waits for a ready file and sets $READY to the address of a service, and $ADMIN to the
// URL of the admin API.
func awaitReady(ts *testscript.TestScript, _ bool, args []string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil {
			var r ready
			ts.Check(json.Unmarshal(data, &r))
			ts.Setenv("READY", r.Services[args[1]].Address)
			ts.Setenv("ADMIN", "http://"+r.Admin)
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("%s was not written within a minute", args[0])
		}
	}
}

// daxLine matches a listener for DAX clients.
var daxLine = regexp.MustCompile(`(?m)^ +dax: .*\n`)

// canonicalJSON returns the JSON of a file in canonical form.
func canonicalJSON(ts *testscript.TestScript, file string) string {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	text, err := json.Marshal(v)
	ts.Check(err)
	return string(text)
}
