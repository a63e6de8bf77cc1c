//go:build kasokumutant

package protocol

// mutant is the rule that is turned off. Tests set it while no machine runs.
var mutant rule

// off reports whether a rule is turned off.
func off(r rule) bool { return r == mutant }
