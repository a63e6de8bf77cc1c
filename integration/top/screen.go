//go:build unix

// Package top reads the screens of kasoku top through a pseudo-terminal, with a terminal emulator
// that shares no code with the library that draws them.
package top

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/kasoku/kasoku/integration/harness"
)

// screen is a terminal with a program.
type screen struct {
	t     testing.TB
	pty   *os.File
	cmd   *exec.Cmd
	vt    vt10x.Terminal
	ended chan struct{} // closed when the program has ended and its output is read

	mu  sync.Mutex
	raw bytes.Buffer // all output
}

// open starts a program in a terminal of the given size, with variables such as NO_COLOR=1.
func open(t testing.TB, w, h int, variables []string, name string, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, cmd: exec.Command(name, args...), ended: make(chan struct{})}
	s.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "GORACE=halt_on_error=1 atexit_sleep_ms=50"), variables...)
	f, err := pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)})
	if err != nil {
		t.Fatal(err)
	}
	s.pty = f
	s.vt = vt10x.New(vt10x.WithSize(w, h), vt10x.WithWriter(f))
	go s.read()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.pty.Close()
		<-s.ended
		if t.Failed() {
			t.Logf("the screen:\n%s", s)
		}
	})
	return s
}

// read passes the output to the emulator until the program has ended.
func (s *screen) read() {
	defer close(s.ended)
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.pty.Read(buffer)
		s.mu.Lock()
		s.raw.Write(buffer[:n])
		s.mu.Unlock()
		if _, failed := s.vt.Write(buffer[:n]); failed != nil || err != nil {
			_ = s.cmd.Wait()
			return
		}
	}
}

// String returns the text on the screen.
func (s *screen) String() string {
	var lines []string
	for line := range strings.Lines(s.vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}

// output returns all bytes that the program has written.
func (s *screen) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// shows waits until the screen has all texts.
func (s *screen) shows(texts ...string) {
	s.t.Helper()
	harness.Await(s.t, "the screen shows "+strings.Join(texts, ", "), time.Minute, func() bool {
		all := s.String()
		for _, text := range texts {
			if !strings.Contains(all, text) {
				return false
			}
		}
		return true
	})
}

// press types keys.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// resize changes the size of the terminal.
func (s *screen) resize(w, h int) {
	s.t.Helper()
	s.vt.Resize(w, h)
	if err := pty.Setsize(s.pty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
		s.t.Fatal(err)
	}
}

// end waits until the program has ended.
func (s *screen) end() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		s.t.Fatal("the program does not end")
	}
}
