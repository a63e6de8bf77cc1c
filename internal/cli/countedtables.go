package cli

import (
	"strings"

	"github.com/kasoku/kasoku/internal/config"
)

// countedTables returns the services, each with the names of the tables that the configuration names
// without a pattern.
func countedTables(cfg *config.Config) map[string][]string {
	all := map[string][]string{}
	for i := range cfg.Services {
		s := &cfg.Services[i]
		var names []string
		if s.DynamoDB != nil {
			for _, t := range s.DynamoDB.Tables {
				if !strings.ContainsAny(t.Pattern, "*?") {
					names = append(names, t.Pattern)
				}
			}
		}
		all[s.Name] = names
	}
	return all
}
