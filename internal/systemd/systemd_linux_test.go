package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// manager is the service manager's side of notifications.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

func listenAt(t *testing.T, address string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &manager{t, conn}
}

func (m *manager) expect(want string) {
	m.t.Helper()
	buf := make([]byte, 4096)
	n, err := m.conn.Read(buf)
	if err != nil {
		m.t.Fatal(err)
	}
	if got := string(buf[:n]); got != want {
		m.t.Errorf("received %q, want %q", got, want)
	}
}

// environment sets the variables of systemd, and all others of them to nothing.
func environment(t *testing.T, values map[string]string) {
	t.Helper()
	for _, name := range []string{notifySocket, watchdogPeriod, watchdogPID, listenCount, listenPID, listenNames} {
		t.Setenv(name, values[name])
		if values[name] == "" {
			os.Unsetenv(name)
		}
	}
}

func TestNotifications(t *testing.T) {
	for _, address := range []string{filepath.Join(t.TempDir(), "notify"), "@kasoku-test-" + strconv.Itoa(os.Getpid())} {
		at := listenAt(t, address)
		environment(t, map[string]string{notifySocket: address})
		m, err := FromEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		check(m.Ready("serving"))
		at.expect("READY=1\nSTATUS=serving")
		check(m.Ready("kasoku.yaml:1: a mistake\nkasoku.yaml:2: READY=0\n"))
		at.expect("READY=1\nSTATUS=kasoku.yaml:1: a mistake; kasoku.yaml:2: READY=0")
		check(m.Ready(strings.Repeat("長", maxStatus)))
		at.expect("READY=1\nSTATUS=" + strings.Repeat("長", maxStatus/3))
		check(m.Stopping())
		at.expect("STOPPING=1\nSTATUS=stopping")
	}
}

// TestReloading checks that the time of a reload is the one that systemd compares with its own.
func TestReloading(t *testing.T) {
	at := listenAt(t, filepath.Join(t.TempDir(), "notify"))
	m := &Manager{address: at.conn.LocalAddr().String()}
	before, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reloading(); err != nil {
		t.Fatal(err)
	}
	after, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := at.conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var micros int64
	if _, err := fmt.Sscanf(string(buf[:n]), "RELOADING=1\nMONOTONIC_USEC=%d", &micros); err != nil {
		t.Fatalf("received %q: %v", buf[:n], err)
	}
	if micros < before.Microseconds() || micros > after.Microseconds() {
		t.Errorf("the time is %d, want one from %d to %d", micros, before.Microseconds(), after.Microseconds())
	}
}

// TestNoManager checks that a process without a service manager works.
func TestNoManager(t *testing.T) {
	environment(t, nil)
	unmanaged, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Manager{nil, unmanaged} {
		if err := errors.Join(m.Ready(""), m.Reloading(), m.Stopping()); err != nil {
			t.Error(err)
		}
		m.Watch(t.Context(), nil, nil)
		ln, err := m.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
		if list := m.Unused(); len(list) > 0 {
			t.Errorf("unused sockets: %q", list)
		}
	}
}

// TestAbsentManager checks that a notification that can't be sent is an error.
func TestAbsentManager(t *testing.T) {
	m := &Manager{address: filepath.Join(t.TempDir(), "gone")}
	if err := m.Ready("serving"); err == nil {
		t.Error("no error")
	}
}

func TestFromEnvironment(t *testing.T) {
	self := strconv.Itoa(os.Getpid())
	ok := func(values map[string]string, watchdog time.Duration) {
		t.Helper()
		environment(t, values)
		m, err := FromEnvironment()
		if err != nil || m.watchdog != watchdog || len(m.sockets) != 0 {
			t.Errorf("%v: watchdog %s, %d sockets, error %v; want watchdog %s", values, m.watchdog, len(m.sockets), err, watchdog)
		}
		for name := range values {
			if v, found := os.LookupEnv(name); found {
				t.Errorf("child processes inherit %s=%s", name, v)
			}
		}
	}
	ok(map[string]string{notifySocket: "/run/systemd/notify"}, 0)
	ok(map[string]string{watchdogPeriod: "30000000"}, 30*time.Second)
	ok(map[string]string{watchdogPeriod: "30000000", watchdogPID: self}, 30*time.Second)
	ok(map[string]string{watchdogPeriod: "30000000", watchdogPID: "1"}, 0)
	ok(map[string]string{listenCount: "1", listenPID: "1", listenNames: "http"}, 0)
	ok(map[string]string{listenCount: "1"}, 0)
	ok(map[string]string{listenCount: "0", listenPID: self}, 0)
	bad := func(values map[string]string, want string) {
		t.Helper()
		environment(t, values)
		m, err := FromEnvironment()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", values, err, want)
		}
		if m == nil || m.address != "" || m.watchdog != 0 || len(m.sockets) != 0 {
			t.Errorf("%v: got %+v", values, m)
		}
	}
	bad(map[string]string{notifySocket: "vsock:2:1234"}, `"vsock:2:1234" is neither a path`)
	bad(map[string]string{watchdogPeriod: "soon"}, `WATCHDOG_USEC: "soon"`)
	bad(map[string]string{watchdogPeriod: "0"}, `WATCHDOG_USEC: "0"`)
	bad(map[string]string{listenCount: "-1", listenPID: self}, `LISTEN_FDS: "-1"`)
	bad(map[string]string{listenCount: "1000000", listenPID: self}, `LISTEN_FDS: "1000000"`)
}

// TestWatch checks that the watchdog is notified at half of its period, only while alive returns
// nil, and that an attempt ends with that time.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var attempts, reports, failures atomic.Int64
		var alive atomic.Value // a func(context.Context) error
		done := make(chan struct{})
		go func() {
			defer close(done)
			watch(ctx, 15*time.Second, func(ctx context.Context) error {
				attempts.Add(1)
				return alive.Load().(func(context.Context) error)(ctx)
			}, func() error { reports.Add(1); return nil }, func(error) { failures.Add(1) })
		}()
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := fmt.Sprintf("%d attempts, %d reports, %d failures", attempts.Load(), reports.Load(), failures.Load()); got != want {
				t.Errorf("%s; want %s", got, want)
			}
		}
		up := func(context.Context) error { return nil }
		alive.Store(up)
		after(14*time.Second, "0 attempts, 0 reports, 0 failures")
		after(2*time.Second, "1 attempts, 1 reports, 0 failures")
		after(30*time.Second, "3 attempts, 3 reports, 0 failures")
		alive.Store(func(context.Context) error { return errors.New("down") })
		after(15*time.Second, "4 attempts, 3 reports, 1 failures")
		alive.Store(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		after(15*time.Second, "5 attempts, 3 reports, 1 failures")
		after(15*time.Second, "6 attempts, 3 reports, 2 failures")
		alive.Store(up)
		after(15*time.Second, "7 attempts, 4 reports, 3 failures")
		cancel()
		<-done
	})
}

// descriptor returns a duplicate of the descriptor of a listener or a file.
func descriptor(t *testing.T, of syscall.Conn) uintptr {
	t.Helper()
	raw, err := of.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var fd int
	var dupErr error
	if err := errors.Join(raw.Control(func(from uintptr) { fd, dupErr = syscall.Dup(int(from)) }), dupErr); err != nil {
		t.Fatal(err)
	}
	return uintptr(fd)
}

// inheriting returns a manager that has inherited a descriptor.
func inheriting(t *testing.T, fd uintptr) (*Manager, error) {
	t.Helper()
	before := firstDescriptor
	firstDescriptor = fd
	defer func() { firstDescriptor = before }()
	environment(t, map[string]string{listenCount: "1", listenPID: strconv.Itoa(os.Getpid()), listenNames: "orders"})
	m, err := FromEnvironment()
	t.Cleanup(func() {
		for _, s := range m.sockets {
			s.file.Close()
		}
	})
	return m, err
}

// TestListen checks that the socket with the address is used, also a second time, and another one
// is opened for another address.
func TestListen(t *testing.T) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	m, err := inheriting(t, descriptor(t, own.(*net.TCPListener)))
	if err != nil {
		t.Fatal(err)
	}
	address := own.Addr().String()
	other, err := m.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if got, want := m.Unused(), address+" (orders)"; len(got) != 1 || got[0] != want {
		t.Errorf("unused are %q, want %q", got, want)
	}
	for range 2 {
		ln, err := m.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		client.Close()
		ln.Close()
	}
	if got := m.Unused(); len(got) > 0 {
		t.Errorf("unused are %q, want none", got)
	}
}

func TestInheritedFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := inheriting(t, descriptor(t, f))
	if err == nil || !strings.Contains(err.Error(), "(orders) is no socket to listen on") || len(m.sockets) != 0 {
		t.Errorf("error %v and %d sockets, want an error about the descriptor", err, len(m.sockets))
	}
}

func TestSame(t *testing.T) {
	f := func(a net.Addr, network, address string, want bool) {
		t.Helper()
		if got := same(a, network, address); got != want {
			t.Errorf("same(%v, %s, %s) = %t", a, network, address, got)
		}
	}
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	f(loopback, "tcp", "127.0.0.1:8000", true)
	f(loopback, "tcp", "127.0.0.1:8001", false)
	f(loopback, "tcp", "127.0.0.1:0", false)
	f(loopback, "tcp", ":8000", false)
	f(loopback, "tcp", "[::1]:8000", false)
	f(loopback, "unix", "127.0.0.1:8000", false)
	for _, every := range []net.IP{net.IPv4zero, net.IPv6unspecified} {
		for _, spelling := range []string{":8000", "0.0.0.0:8000", "[::]:8000"} {
			f(&net.TCPAddr{IP: every, Port: 8000}, "tcp", spelling, true)
		}
		f(&net.TCPAddr{IP: every, Port: 8000}, "tcp", "127.0.0.1:8000", false)
	}
	f(&net.UnixAddr{Name: "/run/kasoku/http", Net: "unix"}, "unix", "/run/kasoku/http", true)
	f(&net.UnixAddr{Name: "/run/kasoku/http", Net: "unix"}, "unix", "/run/kasoku/dax", false)
}
