//go:build kasokumutant

package protocol

import (
	"os"
	"strconv"
)

// mutant is the rule that is turned off: 0 for none. Tests set it while no machine runs, and a
// process has it from its environment.
var mutant = ruleOf(os.Getenv("KASOKU_MUTANT"))

// ruleOf returns the rule with a number, 0 without one.
func ruleOf(number string) rule {
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil {
		return 0
	}
	return rule(n)
}

// off reports whether a rule is turned off.
func off(r rule) bool { return r == mutant }
