package cli

import (
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/plain"
	"github.com/kasoku/kasoku/internal/jsonp"
)

func plainConfig(d *config.DynamoDB, filter *jsonp.Filter) plain.Config {
	pc := plain.Config{Lists: d.Arrays == "lists", JSONP: filter}
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
