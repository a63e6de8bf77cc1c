// Package proc starts server processes for a measurement, reads what they cost
// in CPU time and memory, and makes sure that none outlives it.
package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is a running server. What it prints goes to a log file.
type Process struct {
	Name string
	Addr string // where it serves, host:port

	cmd   *exec.Cmd
	log   string
	stdin io.Closer     // some servers end when their input does
	gone  chan struct{} // closed when the process has ended
	err   error         // why; read after gone is closed
}

// Command says how to start a server.
type Command struct {
	Name string
	Args []string // program first
	Env  []string // added to the environment
	Dir  string   // where the log goes

	Folder string // that the server works in; this process's if empty

	// Addr is where the server is told to serve. When it is empty the server
	// chooses a port and says host:port in the first line of its output.
	Addr string
	Also []string // other addresses that must accept connections
}

// Start starts a server and waits until it accepts connections.
func Start(c Command) (*Process, error) {
	p := &Process{Name: c.Name, Addr: c.Addr, gone: make(chan struct{})}
	p.log = filepath.Join(c.Dir, c.Name+".log")
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", c.Name, err)
	}
	defer log.Close()
	p.cmd = exec.Command(c.Args[0], c.Args[1:]...)
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Dir = c.Folder
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = dieWithParent()
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("input of %s: %w", c.Name, err)
	}
	var says io.Reader
	if c.Addr == "" {
		if says, err = p.cmd.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("output of %s: %w", c.Name, err)
		}
	} else {
		p.cmd.Stdout = log
	}
	if err := spawn(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	if c.Addr == "" {
		p.Addr, err = firstLine(says)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.gone)
	}()
	deadline := time.Now().Add(30 * time.Second)
	for _, addr := range append([]string{p.Addr}, c.Also...) {
		if err == nil {
			err = p.awaitAccept(addr, deadline)
		}
	}
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("%s does not serve: %w; it said: %s", c.Name, err, p.tail())
	}
	return p, nil
}

func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("it named no address: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// awaitAccept polls until somebody accepts a connection at addr.
func (p *Process) awaitAccept(addr string, deadline time.Time) error {
	for {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
		select {
		case <-p.gone:
			return errors.New("it has ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail is the end of what the process has printed.
func (p *Process) tail() string {
	text, _ := os.ReadFile(p.log)
	if len(text) > 2000 {
		text = text[len(text)-2000:]
	}
	return strings.TrimSpace(string(text))
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive says why the process has ended, if it has.
func (p *Process) Alive() error {
	select {
	case <-p.gone:
		return fmt.Errorf("%s has ended: %v; it said: %s", p.Name, p.err, p.tail())
	default:
		return nil
	}
}

// Kill ends the process at once, as kill -9 does, and returns when it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.gone
}

// Stop asks the process to end, and kills it when it has not after 5 s.
func (p *Process) Stop() {
	if p == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.stdin.Close()
	select {
	case <-p.gone:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-p.gone
	}
}

var starts = make(chan func())

func init() {
	// A child is killed when the thread that started it ends, so they are all
	// started by one that never does.
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
}

func spawn(start func() error) error {
	result := make(chan error)
	starts <- func() { result <- start() }
	return <-result
}

// FreeAddr returns a loopback address that nobody listens on at the moment.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
