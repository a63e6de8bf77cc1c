package config

import (
	"os"
	"strconv"
	"strings"
)

// Limit is how many bytes the cache may take: what the file says, or else 1GiB,
// or a quarter of the memory that the process may use where that is less.
func (c *Cache) Limit() Size {
	if c.Memory > 0 {
		return c.Memory
	}
	limit := Size(1 << 30)
	if all := available(os.ReadFile); all > 0 {
		limit = min(limit, all/4)
	}
	return max(limit, 1<<20)
}

// available is how much memory the process may use, by its control group or
// else by the machine's size; 0 when neither is told, as outside Linux.
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
