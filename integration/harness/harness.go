// Package harness starts the servers of integration tests: DynamoDB Local, the kasoku
// binary, and origins made for a test. All of them listen on free loopback ports and end
// with the test, even if the test fails, panics or is killed.
package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Root returns the repository's root.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Tools returns the directory where the set-up scripts install programs.
func Tools() string { return filepath.Join(Root(), ".tools") }

// Main runs a test package and then stops the servers shared by its tests. It must be called
// from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	local.stop()
	os.RemoveAll(builds.dir)
	os.Exit(code)
}

// Origin serves h on loopback until the test ends, and returns its URL.
func Origin(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// StablePort returns a loopback address below the ports that the kernel assigns to outgoing
// connections, so that none of these uses it while its server is down.
func StablePort() (string, error) {
	ports, err := stablePorts(1)
	if err != nil {
		return "", err
	}
	return ports[0], nil
}

// stablePorts returns n different such addresses. The process gets others for a long time after.
func stablePorts(n int) (ports []string, err error) {
	stable.Lock()
	defer stable.Unlock()
	if stable.guard == nil {
		if err := stable.claim(); err != nil {
			return nil, err
		}
	}
	for range portsOfProcess {
		stable.next = stable.next%(portsOfProcess-1) + 1
		l, err := listenOn(stable.first + stable.next)
		if err != nil {
			continue
		}
		defer l.Close() // keeps the port until all are found
		if ports = append(ports, l.Addr().String()); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errNoPort
}

// stable is the range of ports that this process assigns one after the other. Other processes don't
// use it: between the choice of a port and its use by a server nothing else would keep them from it.
var stable portRange

type portRange struct {
	sync.Mutex
	guard net.Listener // on the first port; the process that has it owns the range
	first int
	next  int // offset of the last assigned port
}

const (
	firstPort      = 20000
	portsOfProcess = 1000
	portRanges     = 12
)

var errNoPort = errors.New("no free port")

// claim claims a range.
func (r *portRange) claim() error {
	for _, i := range rand.Perm(portRanges) {
		first := firstPort + i*portsOfProcess
		if l, err := listenOn(first); err == nil {
			r.guard, r.first = l, first
			return nil
		}
	}
	return errNoPort
}

func listenOn(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

// errNotUp is returned if a server isn't ready in time.
var errNotUp = errors.New("not ready in time")

// answers returns a function that reports whether will accepts the status of url.
func answers(url string, will func(status int) bool) func() bool {
	client := &http.Client{Timeout: 2 * time.Second}
	return func() bool {
		resp, err := client.Get(url)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return will(resp.StatusCode)
	}
}

// awaitUp polls ready until it returns true. It returns an error when ended is closed,
// because the server then can't become ready.
func awaitUp(ended <-chan struct{}, ready func() bool) error {
	deadline := time.After(60 * time.Second)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if ready() {
			return nil
		}
		select {
		case <-ended:
			return errors.New("ended while starting")
		case <-deadline:
			return errNotUp
		case <-poll.C:
		}
	}
}

// process is a child process that ends with this one.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed after Wait
	err   error         // result of Wait; valid after ended
}

func start(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop interrupts the process, and kills it if it doesn't end within the time allowed for
// draining.
func (p *process) stop() error { return p.signal(os.Interrupt) }

// terminate is like stop, with the signal that service managers send.
func (p *process) terminate() error { return p.signal(syscall.SIGTERM) }

func (p *process) signal(s os.Signal) error {
	p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
		return p.err
	case <-time.After(40 * time.Second):
		p.kill()
		return errors.New("did not end within 40 s of the signal; killed")
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// builds holds the binaries built for this test process.
var builds = struct {
	mu   sync.Mutex
	dir  string
	done map[string]error
}{done: map[string]error{}}

// Binary builds cmd/kasoku with the race detector and the given build tags, once for all
// tests of a package, and returns its path. If KASOKU_RACE is set, it is the path of a
// binary without tags that has already been built for all packages, as by make test.
func Binary(tags string) (string, error) {
	if path := os.Getenv("KASOKU_RACE"); path != "" && tags == "" {
		return path, nil
	}
	return built(tags, "-race")
}

// PlainBinary is like Binary, without the race detector.
func PlainBinary(tags string) (string, error) { return built(tags) }

// built builds cmd/kasoku with the given build tags and flags, once.
func built(tags string, flags ...string) (string, error) {
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "kasoku-build-")
		if err != nil {
			return "", err
		}
		builds.dir = dir
	}
	path := filepath.Join(builds.dir, "kasoku-"+tags+strings.Join(flags, ""))
	err, done := builds.done[path]
	if !done {
		err = build(path, tags, flags)
		builds.done[path] = err
	}
	return path, err
}

func build(path, tags string, flags []string) error {
	args := append([]string{"build", "-ldflags", "-s -w", "-tags", tags, "-o", path}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/kasoku")...)
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/kasoku: %w\n%s", err, out)
	}
	return nil
}
