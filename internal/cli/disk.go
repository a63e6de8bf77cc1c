package cli

import (
	"fmt"
	"log/slog"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// openDisk opens the directory for large bodies, if it is configured.
func openDisk(c *config.Config, log *slog.Logger) (*disk.Tier, error) {
	d := c.Cache.Disk
	if d == nil {
		return nil, nil
	}
	tier, err := disk.Open(c.Resolve(d.Path), disk.Options{
		Size: int64(d.Size), MaxBody: int64(d.Longest()),
		Report: func(err error) { log.Warn("cache.disk", "error", err) },
	})
	if err != nil {
		return nil, fmt.Errorf("cache.disk: %w", err)
	}
	return tier, nil
}

// closeDisk releases the directory, after all services have stopped using it.
func (n *Node) closeDisk() {
	if n.disk == nil {
		return
	}
	if err := n.disk.Close(); err != nil {
		n.log.Warn("cache.disk", "error", err)
	}
}

// pruneDisk removes the bodies of services that are no longer configured. A service that is
// added again under the same name must not find bodies that have been purged elsewhere in
// the meantime.
func (n *Node) pruneDisk() {
	if n.disk == nil {
		return
	}
	n.mu.Lock()
	cfg := n.cfg
	n.mu.Unlock()
	n.disk.Prune(func(part string) bool {
		s := cfg.Service(part)
		return s != nil && s.HTTP != nil
	})
}

// pendingDisk lists the keys of the disk whose new values need a restart.
func pendingDisk(boot, now *config.Config) []string {
	a, b := boot.Cache.Disk, now.Cache.Disk
	if a == nil || b == nil {
		if a != b {
			return []string{"cache.disk"}
		}
		return nil
	}
	var list []string
	for _, k := range []struct {
		key     string
		changed bool
	}{
		{"path", boot.Resolve(a.Path) != now.Resolve(b.Path)},
		{"size", a.Size != b.Size},
		{"threshold", a.Threshold != b.Threshold},
		{"max_object", a.MaxObject != b.MaxObject},
	} {
		if k.changed {
			list = append(list, "cache.disk."+k.key)
		}
	}
	return list
}

func observeDisk(r *telemetry.Registry, t *disk.Tier) {
	for _, g := range []struct {
		name, help string
		f          func(disk.Stats) float64
	}{
		{"files", "Bodies on disk.", func(s disk.Stats) float64 { return float64(s.Files) }},
		{"bytes", "Bytes of the files on disk, including files being written.", func(s disk.Stats) float64 { return float64(s.Bytes) }},
		{"capacity_bytes", "Maximum bytes on disk (cache.disk.size).", func(s disk.Stats) float64 { return float64(s.Size) }},
		{"resting", "1 while nothing is written to disk because the file system has failed, else 0. The log has the error.", func(s disk.Stats) float64 {
			if s.Trouble != nil {
				return 1
			}
			return 0
		}},
		{"stuck_files", "Files that can't be removed: purged bodies may be served again after a restart. The log has the error.",
			func(s disk.Stats) float64 { return float64(s.Stuck) }},
	} {
		r.Gauge("kasoku_disk_"+g.name, g.help, func() float64 { return g.f(t.Stats()) })
	}
	for _, c := range []struct {
		name, help string
		f          func(disk.Stats) uint64
	}{
		{"written_total", "Bodies written to disk.", func(s disk.Stats) uint64 { return s.Written }},
		{"evictions_total", "Bodies removed to make room.", func(s disk.Stats) uint64 { return s.Evicted }},
		{"refused_total", "Bodies that were incomplete, damaged or of another version at the start, and were removed. A few after a crash are normal.",
			func(s disk.Stats) uint64 { return s.Refused }},
		{"damaged_total", "Bodies removed because a read failed or found other bytes than were written. Check the disk.",
			func(s disk.Stats) uint64 { return s.Damaged }},
		{"errors_total", "Errors of the file system. After one, nothing is written for 10 s; requests are served without the disk.",
			func(s disk.Stats) uint64 { return s.Failed }},
	} {
		r.CounterFunc("kasoku_disk_"+c.name, c.help, func() float64 { return float64(c.f(t.Stats())) })
	}
}
