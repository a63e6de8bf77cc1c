// Package proc starts server processes for a measurement, reads their CPU time and memory,
// and ensures that none outlives the measurement.
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

// Process is a running server. Its output is written to a log file.
type Process struct {
	Name string
	Addr string // where it listens, host:port

	cmd   *exec.Cmd
	log   string
	stdin io.Closer     // some servers exit at the end of their input
	gone  chan struct{} // closed when the process has exited
	err   error         // the reason; read after gone is closed
}

// Command describes how to start a server.
type Command struct {
	Name string
	Args []string // the program first
	Env  []string // added to the environment
	Dir  string   // of the log

	Folder string // working directory of the server; this process's if empty

	// Addr is the address that the server is configured to listen on. If it is empty the
	// server selects a port and prints host:port in its first line.
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
	var stdout io.Reader
	if c.Addr == "" {
		if stdout, err = p.cmd.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("output of %s: %w", c.Name, err)
		}
	} else {
		p.cmd.Stdout = log
	}
	if err := spawn(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	if c.Addr == "" {
		p.Addr, err = firstLine(stdout)
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
		return nil, fmt.Errorf("%s does not serve: %w; its output: %s", c.Name, err, p.tail())
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

// awaitAccept polls until a connection to addr is accepted.
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
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// tail returns the end of the process's output.
func (p *Process) tail() string {
	text, _ := os.ReadFile(p.log)
	if len(text) > 2000 {
		text = text[len(text)-2000:]
	}
	return strings.TrimSpace(string(text))
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Alive returns an error with the reason if the process has exited.
func (p *Process) Alive() error {
	select {
	case <-p.gone:
		return fmt.Errorf("%s has exited: %v; its output: %s", p.Name, p.err, p.tail())
	default:
		return nil
	}
}

// Kill ends the process immediately, as kill -9 does, and returns when it has exited.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.gone
}

// Stop ends the process with a signal, and kills it after 5 s.
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
	// A child is killed when the thread that started it exits, so one thread that never
	// exits starts them all.
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

// FreeAddr returns a loopback address that is free at the moment.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
