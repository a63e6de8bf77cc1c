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
var ofProcess = sync.OnceValue(func() Size { return available(ofMachine(), os.ReadFile) })

// available returns the memory that the process may use, according to its control group or
// the machine's memory; 0 if neither is known, for example outside Linux.
func available(machine Size, read func(string) ([]byte, error)) Size {
	least := machine
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := read(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 && (least == 0 || Size(n) < least) {
			least = Size(n)
		}
	}
	return least
}
