//go:build !race

// Package race reports to tests whether the race detector is on: it allocates on its own, so
// allocation budgets are only asserted without it.
package race

// Enabled is true in builds with -race.
const Enabled = false
