package cli

import (
	"net"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kasoku": func() { os.Exit(Main(os.Args[1:], System())) },
		// status runs the rest of its line and prints the exit code.
		"status": status,
	})
}

// TestScripts runs testdata/script. $TAKEN is an address that somebody listens
// on; nobody answers there.
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
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// envsubst puts the environment into a file.
			"envsubst": func(ts *testscript.TestScript, _ bool, args []string) {
				file := ts.MkAbs(args[0])
				ts.Check(os.WriteFile(file, []byte(os.Expand(ts.ReadFile(file), ts.Getenv)), 0o600))
			},
		},
	})
}
