package fluent

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// childDir is set in the process that TestKill kills: the directory it spills to.
const childDir = "KASOKU_FLUENT_KILL_DIR"

// TestMain also serves as the main function of TestKill's process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, postForever(dir))
		return
	}
	m.Run()
}

// postForever posts the numbers from 0 on, with no server to send them to, and prints how many of
// them Flush has confirmed.
func postForever(dir string) error {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errAway }
	l, err := New(nil, WithDial(refuse), WithSpill(dir, SpillOptions{Sync: SyncNever}), WithMemory(1<<20), WithFlushInterval(0))
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := l.Post("a", map[string]any{"n": n}); err != nil {
			return err
		}
		if n%1000 != 999 {
			continue
		}
		if err := l.Flush(context.Background()); err != nil {
			return err
		}
		fmt.Println(n + 1)
	}
}

// TestKill kills a process without warning while it posts: all that its Flush
// had confirmed is sent by the next Logger on the directory.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	confirmed := 0
	for lines := bufio.NewScanner(out); lines.Scan() && confirmed < 20_000; {
		if _, err := fmt.Sscan(lines.Text(), &confirmed); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
	}
	child.Process.Kill()
	child.Wait() // its error is the signal
	if confirmed < 20_000 {
		t.Fatalf("the process ended after %d records", confirmed)
	}

	server := forwardtest.New(t, forwardtest.Options{})
	l, err := New([]string{server.Address()}, WithSpill(dir, SpillOptions{}), WithCloseTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	server.Wait(t, confirmed)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for n, e := range server.Events() {
		if e.Record["n"] != int64(n) {
			t.Fatalf("event %d is  %v", n, e.Record)
		}
	}
	s := expectSum(t, l)
	expect(t, "at least what was confirmed", s.Replayed >= uint64(confirmed), true)
	expect(t, "delivered", s.Delivered, s.Replayed)
}
