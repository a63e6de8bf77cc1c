// Package cli has the variables that the linker sets.
package cli

var release, commit string

func Release() string { return release }

func Commit() string { return commit }
