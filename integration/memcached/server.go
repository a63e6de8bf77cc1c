// Package memcached tests services of type memcached with real memcached servers, and
// with the clients that write to them.
package memcached

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
)

// Server is a memcached process, or what speaks its text protocol, on loopback.
type Server struct {
	// Addr is host:port, the same through restarts.
	Addr string

	log     string
	args    []string // program first
	program *harness.Program
}

// Start starts a memcached that the test owns.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return launch(t, func(addr string) []string {
		host, port, _ := net.SplitHostPort(addr)
		own := []string{tool("memcached"), "-l", host, "-p", port, "-U", "0", "-m", "64", "-c", "4096", "-t", "2"}
		if os.Geteuid() == 0 {
			own = append(own, "-u", "root") // which it wants to be told
		}
		return append(own, args...)
	}, own)
}

// StartMany starts so many of them.
func StartMany(t testing.TB, n int) []*Server {
	t.Helper()
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = Start(t)
	}
	return servers
}

// tool is the path of a script that scripts/setup-memcached.sh has made.
func tool(name string) string { return filepath.Join(harness.Tools(), "memcached", "bin", name) }

// own says whether the server at an address is the process of that number, and not
// somebody who was faster to take the port.
func own(addr string, pid int) bool {
	stats, err := (&Server{Addr: addr}).stats()
	return err == nil && stats["pid"] == strconv.Itoa(pid)
}

// attempts is how often a port may turn out to be taken.
const attempts = 20

// launch starts a server with the arguments that are made for an address.
func launch(t testing.TB, args func(addr string) []string, serves func(addr string, pid int) bool) *Server {
	t.Helper()
	s := &Server{log: filepath.Join(t.TempDir(), "log")}
	var err error
	for range attempts {
		if s.Addr, err = harness.StablePort(); err != nil {
			break
		}
		s.args = args(s.Addr)
		if err = s.start(serves); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("%s: %v; its output:\n%s", filepath.Base(s.args[0]), err, s.output())
	}
	t.Cleanup(func() { s.program.Kill() })
	return s
}

func (s *Server) start(serves func(addr string, pid int) bool) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	s.program, err = harness.RunUntil(cmd, func() bool { return serves(s.Addr, cmd.Process.Pid) })
	return err
}

func (s *Server) output() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}

// Kill ends the server at once, as kill -9 does. What it held is lost.
func (s *Server) Kill() { s.program.Kill() }

// Restart starts it again after Kill, empty, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(own); err != nil {
		t.Fatalf("memcached: %v; its output:\n%s", err, s.output())
	}
}

// Addrs are the addresses of servers, as a list of a configuration has them.
func Addrs(servers []*Server) (list []string) {
	for _, s := range servers {
		list = append(list, strconv.Quote(s.Addr))
	}
	return list
}

// Await polls until done says so. It fails the test if that takes a minute, which only
// what will never happen does.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(time.Minute); !done(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
