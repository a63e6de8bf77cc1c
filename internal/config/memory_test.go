package config

import (
	"io/fs"
	"testing"
)

func TestAvailable(t *testing.T) {
	f := func(files map[string]string, want Size) {
		t.Helper()
		got := available(func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != want {
			t.Fatalf("available with %v: got %s, want %s", files, got, want)
		}
	}
	const meminfo = "MemTotal:        8388608 kB\nMemFree:          1234 kB\n"
	f(nil, 0)
	f(map[string]string{"/proc/meminfo": meminfo}, 8<<30)
	f(map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, 8<<30)
	f(map[string]string{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "536870912\n"}, 512<<20)
	f(map[string]string{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, 1<<30)
	f(map[string]string{"/proc/meminfo": "MemTotal: none\n"}, 0)
}

func TestMemoryLimit(t *testing.T) {
	if got := (&Cache{Memory: 5 << 30}).Limit(); got != 5<<30 {
		t.Errorf("configured limit: got %s", got)
	}
	if got := (&Cache{}).Limit(); got > 1<<30 || got < 1<<20 {
		t.Errorf("default limit: got %s", got)
	}
}
