package embedded

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Environment of the process that will be killed: its directory, and the progress of each
// worker.
const (
	envStormDir  = "KASOKU_STORM_DIR"
	envStormDone = "KASOKU_STORM_DONE"
	// envKills is the number of processes that TestKill kills.
	envKills = "KASOKU_KILLS"
)

const defaultKills = 10

func TestMain(m *testing.M) {
	if dir := os.Getenv(envStormDir); dir != "" {
		os.Exit(writeUntilKilled(dir, os.Getenv(envStormDone)))
	}
	os.Exit(m.Run())
}

// childT replaces testing.T in the process that will be killed.
type childT struct {
	testing.TB
	failed bool
}

func (c *childT) Helper() {}

func (c *childT) Context() context.Context { return context.Background() }

func (c *childT) Errorf(format string, args ...any) {
	c.failed = true
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (c *childT) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	os.Exit(1)
}

func (c *childT) Fatal(args ...any) { c.Fatalf("%s", fmt.Sprint(args...)) }

// writeUntilKilled runs in the process that will be killed. It writes one byte, the worker's
// number, for each acknowledged operation.
func writeUntilKilled(dir, text string) int {
	t := &childT{}
	var done [stormWorkers]int
	for i, field := range strings.Split(text, ",") {
		done[i], _ = strconv.Atoi(field)
	}
	s, err := openForProcess(dir)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	s.runStorm(t, done, func(int, int) bool { return !t.failed }, func(worker int) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := os.Stdout.Write([]byte{'0' + byte(worker)}); err != nil {
			t.Fatal(err)
		}
	})
	return 1
}

// TestKill kills a process at random moments of a storm. No acknowledged write may be lost, and
// none be visible in part: in the items, indexes and counters of each worker, in the
// transactions' total, and in the stream.
func TestKill(t *testing.T) {
	kills := defaultKills
	if text := os.Getenv(envKills); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", envKills, err)
		}
		kills = n
	}
	dir := t.TempDir()
	s := openStore(t, onDisk{Dir: dir})
	s.mustSend(t, "CreateTable", stormTable)
	s.Close()
	var done [stormWorkers]int
	var replayed stormReplay
	for i := range kills {
		killOnce(t, dir, &done, 1+rand.IntN(800))
		s := openStore(t, onDisk{Dir: dir})
		s.checkStorm(t, &done, &replayed)
		s.Close()
		if t.Failed() {
			t.Fatalf("failed after kill %d; operations per worker: %v", i+1, done)
		}
	}
	t.Logf("%d kills, %d operations, %d records in the stream", kills, sum(done[:]), replayed.count)
}

func sum(list []int) (n int) {
	for _, i := range list {
		n += i
	}
	return n
}

// killOnce starts a process and kills it after that many acknowledgements, which it adds to
// done.
func killOnce(t *testing.T, dir string, done *[stormWorkers]int, after int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, n := range done {
		fields = append(fields, strconv.Itoa(n))
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envStormDir+"="+dir, envStormDone+"="+strings.Join(fields, ","))
	var output strings.Builder
	cmd.Stderr = &output
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := bufio.NewReader(out)
	for seen := 0; ; seen++ {
		if seen == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		worker, err := acknowledged.ReadByte() // until the pipe is empty
		if err == io.EOF {
			break
		}
		if err != nil || worker < '0' || worker >= '0'+stormWorkers {
			t.Fatalf("read %q: %v", worker, err)
		}
		done[worker-'0']++
	}
	cmd.Wait() // returns an error because it was killed
	if output.Len() > 0 {
		t.Fatalf("output of the process:\n%s", output.String())
	}
}
