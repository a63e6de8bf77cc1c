// Package memcached tests services of type memcached with real memcached servers, and with
// client libraries that write to them.
package memcached

import (
	"crypto/tls"
	"crypto/x509"
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

// Server is a memcached process, or another one with memcached's text protocol.
type Server struct {
	// Addr is host:port, or unix: and the path of a socket. Restart keeps it.
	Addr string

	login   string      // "name password", or empty
	sasl    *login      // if not nil, the server accepts only the binary protocol
	env     []string    // in addition to the test's own
	tls     *tls.Config // or nil
	log     string
	args    []string // the program first
	program *harness.Program
}

// Start starts a memcached on the loopback interface with additional arguments. It ends with
// the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return new(Server).memcached(t, args...)
}

// StartMany starts n servers.
func StartMany(t testing.TB, n int) []*Server {
	t.Helper()
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = Start(t)
	}
	return servers
}

// StartSocket starts a memcached that listens on a Unix socket.
func StartSocket(t testing.TB) *Server {
	t.Helper()
	// The test's own folder may exceed the length allowed for a socket's path.
	dir, err := os.MkdirTemp("", "mc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	s := &Server{}
	s.launch(t, func() (string, error) { return "unix:" + path, nil }, func(string) []string { return program("-s", path) }, own)
	return s
}

// StartAuth starts a memcached that accepts commands only from the user.
func StartAuth(t testing.TB, name, password string) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte(name+":"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&Server{login: name + " " + password}).memcached(t, "-Y", file)
}

// StartTLS starts a memcached with TLS and a self-signed certificate for localhost.
func StartTLS(t testing.TB, cert, key string) *Server {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(text)
	s := &Server{tls: &tls.Config{RootCAs: trust, ServerName: "localhost"}}
	return s.memcached(t, "-Z", "-o", "ssl_chain_cert="+cert, "-o", "ssl_key="+key)
}

func (s *Server) memcached(t testing.TB, args ...string) *Server {
	t.Helper()
	s.launch(t, harness.StablePort, func(addr string) []string {
		host, port, _ := net.SplitHostPort(addr)
		return append(program("-l", host, "-p", port, "-U", "0"), args...)
	}, own)
	return s
}

// program returns the command line of memcached with arguments.
func program(args ...string) []string {
	args = append([]string{tool("memcached"), "-m", "64", "-c", "4096", "-t", "2"}, args...)
	if os.Geteuid() == 0 {
		args = append(args, "-u", "root") // required to run as root
	}
	return args
}

// tool returns the path of a script installed by scripts/setup-memcached.sh.
func tool(name string) string { return filepath.Join(harness.Tools(), "memcached", "bin", name) }

// own reports whether the process at a server's address is the one with that id, and not
// another process that has taken the port first.
func own(s *Server, pid int) bool {
	stats, err := s.stats()
	return err == nil && stats["pid"] == strconv.Itoa(pid)
}

// attempts is how often launch tries another port if one is in use.
const attempts = 20

// launch starts a server at an address returned by next, with the arguments that args
// returns for it.
func (s *Server) launch(t testing.TB, next func() (string, error), args func(addr string) []string, serves func(s *Server, pid int) bool) {
	t.Helper()
	s.log = filepath.Join(t.TempDir(), "log")
	var err error
	for range attempts {
		if s.Addr, err = next(); err != nil {
			break
		}
		s.args = args(s.Addr)
		if err = s.start(serves); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("%v; its output:\n%s", err, s.output())
	}
	t.Cleanup(func() { s.program.Kill() })
}

func (s *Server) start(serves func(s *Server, pid int) bool) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), s.env...)
	s.program, err = harness.RunUntil(cmd, func() bool { return serves(s, cmd.Process.Pid) })
	return err
}

func (s *Server) output() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}

// Kill ends the server immediately, as kill -9 does. Its values are lost.
func (s *Server) Kill() { s.program.Kill() }

// Restart starts the server again after Kill, empty and at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(own); err != nil {
		t.Fatalf("memcached: %v; its output:\n%s", err, s.output())
	}
}

// Addrs returns the addresses of servers for a list in a configuration.
func Addrs(servers []*Server) (list []string) {
	for _, s := range servers {
		list = append(list, strconv.Quote(s.Addr))
	}
	return list
}

// Await polls until done returns true. It fails the test after a minute, which is far longer
// than any correct run takes.
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
