package cli

import (
	"strings"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry/bytable"
)

// countedTables returns the services, each with the names of the tables that the configuration names
// without a pattern, or of its routes.
func countedTables(cfg *config.Config) map[string]bytable.Names {
	all := map[string]bytable.Names{}
	for i := range cfg.Services {
		s := &cfg.Services[i]
		n := bytable.Names{Label: bytable.Table}
		switch {
		case s.DynamoDB != nil:
			for _, t := range s.DynamoDB.Tables {
				if !strings.ContainsAny(t.Pattern, "*?") {
					n.Always = append(n.Always, t.Pattern)
				}
			}
		case s.HTTP != nil:
			n = bytable.Names{Label: bytable.Route, Always: s.HTTP.Routes}
		case s.Memcached != nil:
			n.Label = bytable.Route
			for i := range s.Memcached.Locations {
				n.Always = append(n.Always, s.Memcached.Locations[i].Path)
			}
		}
		all[s.Name] = n
	}
	return all
}
