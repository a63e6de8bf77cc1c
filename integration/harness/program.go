package harness

import (
	"os/exec"
	"testing"
)

// Program is a running server other than those of this package. It ends with the test
// process.
type Program struct{ p *process }

// Run starts cmd and waits until ready accepts the status of url. If that doesn't happen, it
// kills cmd and returns the reason.
func Run(cmd *exec.Cmd, url string, ready func(status int) bool) (*Program, error) {
	return RunUntil(cmd, answers(url, ready))
}

// RunUntil is like Run for programs without HTTP: it polls ready until the program serves.
func RunUntil(cmd *exec.Cmd, ready func() bool) (*Program, error) {
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	if err := awaitUp(p.ended, ready); err != nil {
		p.kill()
		return nil, err
	}
	return &Program{p}, nil
}

// PID returns the process ID.
func (p *Program) PID() int { return p.p.cmd.Process.Pid }

// Kill ends the program at once, like kill -9, and returns when it has ended.
func (p *Program) Kill() { p.p.kill() }

// Ended returns a channel that is closed when the program has ended.
func (p *Program) Ended() <-chan struct{} { return p.p.ended }

// StopWith kills the program when the test ends.
func (p *Program) StopWith(t testing.TB) { t.Cleanup(p.Kill) }
