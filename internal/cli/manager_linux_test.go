package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// serviceManager receives notifications as systemd does.
type serviceManager struct {
	t    *testing.T
	conn *net.UnixConn
}

// next returns the next notification that begins with the prefix.
func (m *serviceManager) next(prefix string) string {
	m.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, err := m.conn.Read(buf)
		if err != nil {
			m.t.Fatal(err)
		}
		text := string(buf[:n])
		if strings.HasPrefix(text, prefix) {
			return text
		}
		if text != "WATCHDOG=1" {
			m.t.Fatalf("received %q, want %s", text, prefix)
		}
	}
}

// TestServiceManager runs serve with a service manager: it is notified of the start, reloads,
// the watchdog and the stop.
func TestServiceManager(t *testing.T) {
	t.Chdir(t.TempDir())
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	socket, err := filepath.Abs("notify")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "2000")
	m := &serviceManager{t, conn}
	const text = `
admin: {listen: "127.0.0.1:0"}
services:
  site: {type: http, listen: "127.0.0.1:0", origins: ["http://127.0.0.1:1"]}
`
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile("kasoku.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	signals := make(chan os.Signal)
	code := make(chan int, 1)
	env := Environment{Stdout: io.Discard, Stderr: io.Discard, Signals: signals, Lookup: os.LookupEnv}
	go func() { code <- Main([]string{"serve"}, env) }()

	if got, want := m.next("READY=1"), "READY=1\nSTATUS=serving, services: 1"; got != want {
		t.Errorf("after the start: %q, want %q", got, want)
	}
	m.next("WATCHDOG=1")
	if v, found := os.LookupEnv("NOTIFY_SOCKET"); found {
		t.Errorf("child processes inherit NOTIFY_SOCKET=%s", v)
	}
	signals <- syscall.SIGHUP
	m.next("RELOADING=1\nMONOTONIC_USEC=")
	m.next("READY=1\nSTATUS=serving")
	write(strings.Replace(text, "type: http", "type: htp", 1))
	signals <- syscall.SIGHUP
	m.next("RELOADING=1")
	if got := m.next("READY=1\nSTATUS=configuration not taken, the old one still runs: "); !strings.Contains(got, "htp") {
		t.Errorf("the status lacks the reason: %q", got)
	}
	write(text)
	signals <- syscall.SIGHUP
	m.next("RELOADING=1")
	m.next("READY=1\nSTATUS=serving")
	m.next("WATCHDOG=1")
	signals <- syscall.SIGTERM
	m.next("STOPPING=1")
	if c := <-code; c != codeOK {
		t.Errorf("exit code %d", c)
	}
}

// TestWatchdogNeedsAnswers checks that a node whose admin server does not answer is not reported
// to the watchdog. The status of the answer does not matter.
func TestWatchdogNeedsAnswers(t *testing.T) {
	r := run(t, head+orders)
	if err := r.answers(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.admin.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.answers(t.Context()); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v, want one about the admin server", err)
	}
}

// TestSocketActivation starts a process with four sockets. It listens on three of them: opening
// one of its own at their addresses would fail. It reports the fourth one.
func TestSocketActivation(t *testing.T) {
	dir := t.TempDir()
	var files []*os.File
	inherit := func(network, address string) net.Addr {
		t.Helper()
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		f, err := ln.(interface{ File() (*os.File, error) }).File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
		return ln.Addr()
	}
	admin := inherit("tcp", "127.0.0.1:0")
	service := inherit("unix", filepath.Join(dir, "service"))
	dax := inherit("tcp", "127.0.0.1:0")
	other := inherit("tcp", "127.0.0.1:0")
	file := filepath.Join(dir, "kasoku.yaml")
	text := fmt.Sprintf("admin: {listen: %q}\nservices:\n  local: {type: dynamodb, listen: %q, dax: %q, origin: %q, region: local, auth: {mode: none}}\n",
		admin, "unix:"+service.String(), dax, "embedded:"+filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary is kasoku under that name. A shell has the process id before kasoku starts.
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `export LISTEN_PID=$$; exec -a kasoku "$0" "$@"`, self, "serve", "-c", file)
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), "LISTEN_FDS=4", "LISTEN_FDNAMES=admin:service:dax:other", "GORACE="+brief)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The connections wait in the sockets until the process accepts them.
	unix := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", service.String())
	}}}
	status := func(c *http.Client, url string) int {
		t.Helper()
		resp, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(http.DefaultClient, "http://"+admin.String()+"/healthz"); got != http.StatusOK {
		t.Errorf("the admin server answers %d", got)
	}
	if got := status(unix, "http://local/"); got != http.StatusOK && got != http.StatusBadRequest {
		t.Errorf("the service answers %d", got)
	}
	var log bytes.Buffer
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "type=dax") {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	if want := fmt.Sprintf(`level=ERROR msg="an inherited socket has the address of no listener" socket="%s (other)"`, other); !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, log.String())
	}
	if n := strings.Count(log.String(), "address of no listener"); n != 1 {
		t.Errorf("%d sockets are reported as unused:\n%s", n, log.String())
	}
}
