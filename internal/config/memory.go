package config

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// Limit returns the maximum size of the cache: the configured one, else 1GiB, or a quarter
// of the memory that the process may use if that is less.
func (c *Cache) Limit() Size {
	if c.Memory > 0 {
		return c.Memory
	}
	limit := Size(1 << 30)
	if all := ofProcess(); all > 0 {
		limit = min(limit, all/4)
	}
	return max(limit, 1<<20)
}

// ofProcess returns the memory that the process may use. It is determined once, because a cache
// keeps its size.
var ofProcess = sync.OnceValue(func() Size { return available(os.ReadFile) })

// available returns the memory that the process may use, according to its control group or
// the machine's size; 0 if neither is available, for example outside Linux.
func available(read func(string) ([]byte, error)) Size {
	var least Size
	consider := func(text string, unit Size) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && (least == 0 || Size(n)*unit < least) {
			least = Size(n) * unit
		}
	}
	if data, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				consider(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 1<<10)
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if data, err := read(file); err == nil {
			consider(strings.TrimSpace(string(data)), 1)
		}
	}
	return least
}
