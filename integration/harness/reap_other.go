//go:build !linux

package harness

import "os/exec"

// dieWithParent has no counterpart here: the children end by the tests' own
// cleanup, DynamoDB Local also by the end of its standard input.
func dieWithParent(*exec.Cmd) {}
