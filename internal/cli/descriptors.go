package cli

import (
	"log/slog"
	"sort"

	"github.com/kasoku/kasoku/internal/config"
)

// File descriptors that are not available for client connections.
const (
	filesProcess = 64  // listeners with their reserves, the access log, cache.disk
	filesService = 48  // feeds, health checks, idle connections to origins, connections that are being refused
	filesStore   = 576 // for an embedded store, or a quarter of all if that is less
	// filesNamespaces is filesStore for a store with namespaces.
	filesNamespaces = maxOpenNamespaces * 80
)

// fullShare is the share at which limits are not lowered.
const fullShare = 1 << 16

// fitDescriptors lowers limits.connections of cfg's listeners, all by the same share, if the
// process can't open enough files for them; limit is the maximum number of open files. The
// admin listener keeps its limit.
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

// descriptors returns the number of files that cfg may have open if its listeners have share
// of their connections. Each client connection may need one to an origin, except where
// concurrency at the origin has a lower limit.
func descriptors(cfg *config.Config, limit uint64, share int) uint64 {
	sum := uint64(filesProcess + cfg.Admin.Limits.Connections)
	for i := range cfg.Services {
		s := &cfg.Services[i]
		clients := uint64(part(s.Limits.Connections, share))
		if d := daxOf(s); d != nil {
			clients += uint64(part(d.Limits.Connections, share))
		}
		origins := clients
		if d := s.DynamoDB; d != nil && d.Origin.Embedded() {
			origins = 0
			if d.Origin.Dir() != "" {
				files := uint64(filesStore)
				if d.Namespaced() {
					files = filesNamespaces
				}
				origins = min(files, limit/4)
			}
		} else if d != nil && s.Concurrency.Enabled {
			origins = min(clients, uint64(s.Concurrency.Max))
		}
		sum += filesService + clients + origins
	}
	return sum
}

// minConnections is the minimum number of connections of a listener.
const minConnections = 8

// part returns a share of a number of connections.
func part(connections, share int) int {
	return max(int(int64(connections)*int64(share)/fullShare), min(connections, minConnections))
}
