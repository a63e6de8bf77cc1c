package config

import (
	"fmt"
	"io/fs"
	"os"
	"testing"
)

func TestAvailable(t *testing.T) {
	f := func(machine Size, files map[string]string, want Size) {
		t.Helper()
		got := available(machine, func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != want {
			t.Fatalf("available with %s and %v: got %s, want %s", machine, files, got, want)
		}
	}
	f(0, nil, 0)
	f(8<<30, nil, 8<<30)
	f(8<<30, map[string]string{"/sys/fs/cgroup/memory.max": "max\n"}, 8<<30)
	f(8<<30, map[string]string{"/sys/fs/cgroup/memory.max": "536870912\n"}, 512<<20)
	f(8<<30, map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8<<30)
	f(0, map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, 1<<30)
	f(0, map[string]string{"/sys/fs/cgroup/memory.max": "none\n"}, 0)
}

func TestMemoryLimit(t *testing.T) {
	if got := (&Cache{Memory: 5 << 30}).Limit(); got != 5<<30 {
		t.Errorf("configured limit: got %s", got)
	}
	if got := (&Cache{}).Limit(); got > 1<<30 || got < 1<<20 {
		t.Errorf("default limit: got %s", got)
	}
}

// The machine's memory is the one that the kernel reports in /proc/meminfo.
func TestOfMachine(t *testing.T) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		if got := ofMachine(); got != 0 {
			t.Errorf("got %s", got)
		}
		return
	}
	var kb Size
	if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kb); err != nil {
		t.Fatal(err)
	}
	if got := ofMachine(); got != kb<<10 {
		t.Errorf("got %d, want %d", got, kb<<10)
	}
}
