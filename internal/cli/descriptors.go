package cli

import (
	"log/slog"
	"sort"

	"github.com/kasoku/kasoku/internal/config"
)

// File descriptors that connections of clients may not take.
const (
	filesProcess = 64  // listeners with what they hold in reserve, the access log, cache.disk
	filesService = 48  // feeds, health checks, idle connections to origins, connections that are being refused
	filesStore   = 576 // of an embedded store, or a quarter of all where that is less
)

// fullShare is the share with which every bound is what the file says.
const fullShare = 1 << 16

// fitDescriptors lowers limits.connections of cfg's listeners, all by the same share, where
// the process may not open limit files at a time for them. The administrator's listener
// keeps its connections.
func fitDescriptors(cfg *config.Config, limit uint64, log *slog.Logger) {
	fits := func(share int) bool { return descriptors(cfg, limit, share) <= limit }
	if fits(fullShare) {
		return
	}
	needed := descriptors(cfg, limit, fullShare)
	share := sort.Search(fullShare, func(share int) bool { return !fits(share + 1) })
	lower := func(key string, connections *int) {
		was := *connections
		*connections = part(was, share)
		log.Warn("the limit on open files is too low for the connections that the configuration allows: their number is lowered. "+
			"Raise the limit (ulimit -n, LimitNOFILE=), or lower it yourself", "key", key, "connections", was,
			"lowered_to", *connections, "open_files", limit, "needed", needed)
	}
	for i := range cfg.Services {
		s := &cfg.Services[i]
		lower("services."+s.Name+".limits.connections", &s.Limits.Connections)
		if d := daxOf(s); d != nil {
			lower("services."+s.Name+".dax.limits.connections", &d.Limits.Connections)
		}
	}
}

// descriptors is how many files cfg may need to have open when its listeners have share of
// their connections. Each of a client's may need one to an origin, as far as requests at
// the origin have no lower bound.
func descriptors(cfg *config.Config, limit uint64, share int) uint64 {
	sum := uint64(filesProcess + cfg.Admin.Limits.Connections)
	for i := range cfg.Services {
		s := &cfg.Services[i]
		clients := uint64(part(s.Limits.Connections, share))
		if d := daxOf(s); d != nil {
			clients += uint64(part(d.Limits.Connections, share))
		}
		origins := clients
		if d := s.DynamoDB; d != nil && d.Origin.Embedded() != "" {
			origins = min(filesStore, limit/4)
		} else if d != nil && s.Concurrency.Enabled {
			origins = min(clients, uint64(s.Concurrency.Max))
		}
		sum += filesService + clients + origins
	}
	return sum
}

// minConnections are left to a listener in any case.
const minConnections = 8

// part is share of a number of connections.
func part(connections, share int) int {
	return max(int(int64(connections)*int64(share)/fullShare), min(connections, minConnections))
}
