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

// measurable says whether CPU can be told.
const measurable = true

func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// CPU is the time that all threads of the process and of those that it has started
// have spent on a CPU, in user and system mode. Threads that have ended count,
// processes that have don't.
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

// family is a process and all that it has started, directly or not.
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
	// The kernel's clock of another process: its number with all bits turned,
	// and below it three bits that say "scheduler's clock of the whole process".
	clock := uintptr(^pid)<<3 | 2
	var spent syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&spent)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(spent.Nano()), nil
}

// RSS is the memory of the process, and of those that it has started, that is
// resident, in bytes. What they share counts for each.
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
		return 0, fmt.Errorf("statm says %q", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Confine restricts this process, and all that it starts from now on, to n of
// the CPUs that it may use.
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

// MemoryAvailable is what the system could give to new processes, in bytes.
func MemoryAvailable() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	_, rest, _ := bytes.Cut(text, []byte("MemAvailable:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("available memory: /proc/meminfo does not say")
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("available memory: %w", err)
	}
	return kib << 10, nil
}
