//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errNotHere = errors.New("not supported on this system")

// measurable is whether CPU works on this system.
const measurable = false

func dieWithParent() *syscall.SysProcAttr { return nil }

// CPU fails: only Linux reports the CPU time of another process precisely enough.
func (p *Process) CPU() (time.Duration, error) { return 0, errNotHere }

// RSS returns the resident memory of the process, in bytes.
func (p *Process) RSS() (int64, error) {
	text, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(p.PID())).Output()
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", p.Name, err)
	}
	kib, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", p.Name, err)
	}
	return kib << 10, nil
}

// Confine fails: there is no affinity to set.
func Confine(int) error { return errNotHere }

// MemoryAvailable fails.
func MemoryAvailable() (int64, error) { return 0, errNotHere }
