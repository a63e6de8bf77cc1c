package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// process is a kasoku in a process of its own.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	log            *lockedText
	service, admin string
}

// spawn starts a service of type http under a limit on open files, as the shell's ulimit
// sets it.
func spawn(t *testing.T, ulimit, origin string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	text := fmt.Sprintf("admin: {listen: \"127.0.0.1:0\"}\nservices:\n  site: {type: http, listen: \"127.0.0.1:0\", origins: [%q], limits: {connections_per_client: 16384}}\n", origin)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, log: &lockedText{}, cmd: exec.Command("sh", "-c", ulimit+" && exec kasoku serve -c "+file)}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Log(p.log)
		}
	})
	if !await.Until(t, func() bool { return p.listens() }) {
		t.Fatal("the process does not listen")
	}
	return p
}

// listens finds the addresses in the log, and reports whether both are there.
func (p *process) listens() bool {
	for line := range strings.Lines(p.log.String()) {
		_, address, _ := strings.Cut(line, " listen=")
		address, _, _ = strings.Cut(strings.TrimSpace(address), " ")
		switch {
		case strings.Contains(line, "msg=admin"):
			p.admin = address
		case strings.Contains(line, "msg=serving"):
			p.service = address
		}
	}
	return p.admin != "" && p.service != ""
}

// ask connects and requests a path. It returns the status, or 0 for a connection that was
// closed without an answer.
func (p *process) ask(address, path string) (int, net.Conn) {
	p.t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(nc, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return 0, nc
	}
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			p.t.Fatalf("%s: neither answered nor closed", path)
		}
		return 0, nc
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nc
}

// lowestFree returns the number that the next descriptor of the process will have.
func (p *process) lowestFree() int {
	p.t.Helper()
	for n := 0; ; n++ {
		if _, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", p.cmd.Process.Pid, n)); errors.Is(err, fs.ErrNotExist) {
			return n
		} else if err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestDescriptors runs a process that may open few files. The bound on connections is lowered,
// so that every accepted connection gets an answer from the origin, and the admin listener
// still answers when no more connections are accepted.
func TestDescriptors(t *testing.T) {
	const limit, asked = 256, 200
	release := make(chan struct{})
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.Header().Set("Cache-Control", "no-store")
	}))
	defer origin.Close()
	answer := sync.OnceFunc(func() { close(release) })
	defer answer()
	p := spawn(t, fmt.Sprintf("ulimit -n %d", limit), origin.URL)
	if log := p.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "key=services.site.limits.connections connections=16384 lowered_to=") {
		t.Error("the reduced bound is not logged")
	}
	statuses := make(chan int, asked)
	for i := range asked {
		nc, err := net.Dial("tcp", p.service)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		_, _ = fmt.Fprintf(nc, "GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n", i)
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err != nil {
				statuses <- 0
				return
			}
			resp.Body.Close()
			statuses <- resp.StatusCode
		}()
	}
	// Connections beyond the bound are refused while the others wait for the origin.
	if !await.Until(t, func() bool { return len(statuses) > 0 }) {
		t.Fatal("no connection was refused")
	}
	if status, _ := p.ask(p.admin, "/healthz"); status != 200 {
		t.Errorf("admin: got status %d", status)
	}
	answer()
	count := map[int]int{}
	for range asked {
		count[<-statuses]++
	}
	if count[200] < limit/8 || count[200]+count[503]+count[0] != asked {
		t.Errorf("statuses %v", count)
	}
}

// TestDescriptorsUsedUp leaves a running process no descriptors: connections are refused at once,
// and the admin listener answers with descriptors of its reserve.
func TestDescriptorsUsedUp(t *testing.T) {
	origin := httptest.NewServer(http.NotFoundHandler())
	defer origin.Close()
	p := spawn(t, "ulimit -n 1024", origin.URL)
	if status, _ := p.ask(p.service, "/"); status != 404 {
		t.Fatalf("before the limit: got status %d", status)
	}
	// Descriptors must be below the limit, including those of the reserve: connections take
	// all higher numbers.
	for n := 0; p.lowestFree() < 100; n++ {
		if status, _ := p.ask(p.service, "/"); status != 404 || n > 100 {
			t.Fatalf("connection %d: got status %d", n, status)
		}
	}
	var was unix.Rlimit
	pid := p.cmd.Process.Pid
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: uint64(p.lowestFree()), Max: was.Max}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &none, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if status, _ := p.ask(p.service, "/"); status != 503 && status != 0 {
			t.Errorf("a service without descriptors: got status %d", status)
		}
	}
	for range 3 {
		if status, _ := p.ask(p.admin, "/healthz"); status != 200 {
			t.Errorf("admin without descriptors: got status %d", status)
		}
	}
	if n := strings.Count(p.log.String(), "no file descriptor is left"); n == 0 || n > 2 {
		t.Errorf("got %d warnings", n)
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		t.Fatal(err)
	}
	if !await.Until(t, func() bool { status, _ := p.ask(p.service, "/"); return status == 404 }) {
		t.Error("the service does not answer after the limit was raised")
	}
}

// TestSoftLimit checks that a process raises its soft limit, which is the one that shells
// set.
func TestSoftLimit(t *testing.T) {
	origin := httptest.NewServer(http.NotFoundHandler())
	defer origin.Close()
	p := spawn(t, "ulimit -Sn 64", origin.URL)
	var now unix.Rlimit
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &now); err != nil {
		t.Fatal(err)
	}
	if now.Cur < now.Max-1 { // Go's runtime keeps one free
		t.Errorf("got a soft limit of %d open files, want %d", now.Cur, now.Max)
	}
}
