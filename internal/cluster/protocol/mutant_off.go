//go:build !kasokumutant

package protocol

// off reports whether a rule is turned off: never, except in a build for TestMutants.
func off(rule) bool { return false }
