package harness

import (
	"os/exec"
	"testing"
)

// Program is a server of another kind than those of this package, that a test
// runs. It does not outlive the test process.
type Program struct{ p *process }

// Run starts cmd and waits until ready says that the status with which url is
// answered will do. It kills cmd, and the error says why, if that does not come
// about.
func Run(cmd *exec.Cmd, url string, ready func(status int) bool) (*Program, error) {
	return RunUntil(cmd, answers(url, ready))
}

// RunUntil is Run for what doesn't speak HTTP: ready, which is asked again and again,
// looks whether the program serves.
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

// PID is the process's number.
func (p *Program) PID() int { return p.p.cmd.Process.Pid }

// Kill ends the program at once, as kill -9 does, and returns when it is gone.
func (p *Program) Kill() { p.p.kill() }

// Ended is closed when the program has ended.
func (p *Program) Ended() <-chan struct{} { return p.p.ended }

// StopWith kills the program when the test ends.
func (p *Program) StopWith(t testing.TB) { t.Cleanup(p.Kill) }
