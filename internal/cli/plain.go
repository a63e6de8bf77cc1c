package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/plain"
)

func plainConfig(d *config.DynamoDB) plain.Config {
	pc := plain.Config{Lists: d.Arrays == "lists"}
	for i := range d.Tables {
		rule := plain.TableRule{Pattern: d.Tables[i].Pattern}
		if arrays := d.Tables[i].Arrays; arrays != "" {
			lists := arrays == "lists"
			rule.Lists = &lists
		}
		pc.Tables = append(pc.Tables, rule)
	}
	return pc
}
