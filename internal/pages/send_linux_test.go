package pages

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// pair returns both ends of a connection.
func pair(t testing.TB, network, address string) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial(network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{near, far} {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(time.Minute))
	}
	return near, far
}

// send sends all of head and p.
func send(nc net.Conn, head, p []byte) error {
	raw, err := nc.(syscall.Conn).SyscallConn()
	for err == nil && len(head)+len(p) > 0 {
		var failed error
		err = raw.Write(func(fd uintptr) bool {
			var n int
			if n, failed = Send(int(fd), head, p); failed == syscall.EAGAIN {
				return false
			}
			h := min(n, len(head))
			head, p = head[h:], p[n-h:]
			return true
		})
		if err == nil {
			err = failed
		}
	}
	return err
}

// TestSend sends bytes to a peer that reads up to maxRead at a time.
func TestSend(t *testing.T) {
	f := func(network, address string, head, from, n, maxRead int) {
		t.Helper()
		near, far := pair(t, network, address)
		r, h := run(t, pattern(from+n, 3)), pattern(head, 4)
		sent := make(chan error, 1)
		go func() {
			err := send(near, h, r.Bytes()[from:])
			near.Close()
			sent <- err
		}()
		want := append(bytes.Clone(h), r.Bytes()[from:]...)
		got := make([]byte, 0, len(want))
		for len(got) < len(want) {
			k, err := far.Read(got[len(got):min(cap(got), len(got)+maxRead)])
			if got = got[:len(got)+k]; err != nil {
				t.Fatalf("after %d of %d bytes: %v", len(got), len(want), err)
			}
		}
		if err := <-sent; err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d+%d bytes from %d over %s: other bytes arrived, or error %v", head, n, from, network, err)
		}
		runtime.KeepAlive(r)
	}
	unix := filepath.Join(t.TempDir(), "s")
	for _, maxRead := range []int{1 << 20, 5000} {
		f("tcp", "127.0.0.1:0", 300, 0, 1, maxRead)
		f("tcp", "127.0.0.1:0", 300, 0, 196<<10, maxRead)
		f("tcp", "127.0.0.1:0", 0, 0, 196<<10, maxRead)
		f("tcp", "127.0.0.1:0", 5000, 4095, 300_000, maxRead)
		f("tcp", "127.0.0.1:0", 300_000, 1, 70_000, maxRead)
		f("tcp", "127.0.0.1:0", 300, 77, 9<<20, maxRead)
		f("unix", unix, 300, 77, 9<<20, maxRead)
	}
}

// TestSentOutlivesItsRun ends a Run while a socket still has some of its bytes to send. They must
// arrive unchanged even if the Run's memory is reused.
func TestSentOutlivesItsRun(t *testing.T) {
	near, far := pair(t, "tcp", "127.0.0.1:0")
	far.(*net.TCPConn).SetReadBuffer(4 << 10) // so that most of the bytes remain in the sending kernel buffer
	before := runs.Load()
	const n = 256 << 10
	sent := 0
	func() {
		r := run(t, pattern(n, 5))
		raw, err := near.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Write(func(fd uintptr) bool {
			sent, err = Send(int(fd), nil, r.Bytes())
			return true
		})
		if err != nil || sent == 0 {
			t.Fatalf("%d bytes sent, %v", sent, err)
		}
		runtime.KeepAlive(r)
	}()
	for runs.Load() > before {
		runtime.GC()
	}
	var others []*Run
	for i := range 50 {
		others = append(others, run(t, bytes.Repeat([]byte{byte(200 + i)}, n)))
	}
	got := make([]byte, sent)
	if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, pattern(n, 5)[:sent]) {
		t.Errorf("of %d sent bytes others arrived, or error %v", sent, err)
	}
	runtime.KeepAlive(others)
}

// TestSendErrors distinguishes a peer that has disconnected from a system that can't.
func TestSendErrors(t *testing.T) {
	r := run(t, pattern(100_000, 6))
	near, far := pair(t, "tcp", "127.0.0.1:0")
	far.(*net.TCPConn).SetLinger(0)
	far.Close()
	var err error
	for err == nil {
		err = send(near, nil, r.Bytes())
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a peer that has disconnected: got error %v", err)
	}
	appended, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer appended.Close()
	if n, err := Send(int(appended.Fd()), []byte("head"), r.Bytes()); n != 0 || err != ErrUnsupported {
		t.Errorf("a file that can't be spliced to: got %d, %v", n, err)
	}
	unable.Store(true)
	defer unable.Store(false)
	if n, err := Send(int(appended.Fd()), []byte("head"), r.Bytes()); n != 0 || err != ErrUnsupported {
		t.Errorf("without the system call: %d, %v", n, err)
	}
	runtime.KeepAlive(r)
}

// Unused pipes are closed.
func TestPipesEnd(t *testing.T) {
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := count()
	var all []*pipe
	for range 100 {
		all = append(all, take())
	}
	for _, q := range all {
		pipes.Put(q)
	}
	all = nil
	for count() > before {
		runtime.GC()
	}
}
