package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// measurable is whether CPU works on this system.
const measurable = true

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// CPU returns the CPU time of the process and of the processes that it has started, in user
// and system mode. Threads that have exited count, processes that have exited do not.
func (p *Process) CPU() (time.Duration, error) {
	sum := time.Duration(0)
	for _, pid := range family(p.PID()) {
		spent, err := cpuOf(pid)
		if err != nil && pid == p.PID() {
			return 0, fmt.Errorf("CPU time of %s: %w", p.Name, err)
		}
		sum += spent
	}
	return sum, nil
}

// family returns a process and its descendants.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, file := range threads {
			text, _ := os.ReadFile(file)
			for _, child := range bytes.Fields(text) {
				if n, err := strconv.Atoi(string(child)); err == nil {
					all = append(all, n)
				}
			}
		}
	}
	return all
}

func cpuOf(pid int) (time.Duration, error) {
	// The id of the kernel's CPU clock of another process: the inverted process id, and
	// below it three bits that select the scheduler's clock of the whole process.
	clock := uintptr(^pid)<<3 | 2
	var spent syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&spent)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(spent.Nano()), nil
}

// RSS returns the resident memory of the process and its descendants, in bytes. Shared
// memory counts for each.
func (p *Process) RSS() (int64, error) {
	sum := int64(0)
	for _, pid := range family(p.PID()) {
		size, err := rssOf(pid)
		if err != nil && pid == p.PID() {
			return 0, fmt.Errorf("memory of %s: %w", p.Name, err)
		}
		sum += size
	}
	return sum, nil
}

func rssOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm has %q", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Confine restricts this process and its future children to n of its CPUs.
func Confine(n int) error {
	var mask [16]uint64 // 1024 CPUs, as in the C library
	size := unsafe.Sizeof(mask)
	if _, _, errno := syscall.Syscall(syscall.SYS_SCHED_GETAFFINITY, 0, size, uintptr(unsafe.Pointer(&mask))); errno != 0 {
		return fmt.Errorf("read CPU affinity: %w", errno)
	}
	left := n
	for i := range mask {
		for bit := range 64 {
			if mask[i]&(1<<bit) == 0 {
				continue
			}
			if left == 0 {
				mask[i] &^= 1 << bit
			} else {
				left--
			}
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list own threads: %w", err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), size, uintptr(unsafe.Pointer(&mask))); errno != 0 && errno != syscall.ESRCH {
			return fmt.Errorf("set CPU affinity: %w", errno)
		}
	}
	runtime.GOMAXPROCS(n - left)
	return nil
}

// MemoryAvailable returns the memory available to new processes, in bytes.
func MemoryAvailable() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	_, rest, _ := bytes.Cut(text, []byte("MemAvailable:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("available memory is missing in /proc/meminfo")
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	return kib << 10, nil
}
