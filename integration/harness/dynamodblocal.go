package harness

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// dynamoDBLocal is the server shared by the tests of a process.
type dynamoDBLocal struct {
	once  sync.Once
	url   string
	err   error
	proc  *process
	stdin io.Closer
}

var local dynamoDBLocal

// DynamoDBLocal starts DynamoDB Local, unless it is already running, and returns its URL.
// All tests of a package share it and its tables, whatever their keys and regions, so each
// must use its own table names.
func DynamoDBLocal(t testing.TB) string {
	t.Helper()
	local.once.Do(local.start)
	if local.err != nil {
		t.Fatalf("DynamoDB Local: %v", local.err)
	}
	return local.url
}

func (d *dynamoDBLocal) start() {
	addr, err := StablePort()
	if err != nil {
		d.err = err
		return
	}
	home := filepath.Join(Tools(), "dynamodb-local")
	port := addr[strings.LastIndexByte(addr, ':')+1:]
	// It runs for too short a time for the second compiler.
	cmd := exec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(home, "classes")+":"+filepath.Join(home, "lib", "*"),
		"LoopbackDynamoDB", "-inMemory", "-sharedDb", "-disableTelemetry", "-port", port)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	// It exits at the end of its input, at the latest when this process ends.
	if d.stdin, d.err = cmd.StdinPipe(); d.err != nil {
		return
	}
	if d.proc, d.err = start(cmd); d.err != nil {
		return
	}
	d.url = "http://" + addr
	if err := awaitUp(d.proc.ended, answers(d.url, func(int) bool { return true })); err != nil {
		d.proc.kill()
		d.err = fmt.Errorf("%w; is it installed (make tools)? its output:\n%s", err, &output)
	}
}

func (d *dynamoDBLocal) stop() {
	if d.proc != nil {
		d.stdin.Close()
		d.proc.kill()
	}
}
