//go:build !kasokubroken

package cache

// The faults of the fence, none of which a production build has. The build tag kasokubroken
// turns one of them on, for tests that the history checker and package accel's verifier find it.
const (
	fenceIgnored  = false // every cached entry is current, whatever was written
	writesUnmoved = false // writes move no generations
	fillsUnfenced = false // the answer of a fill that a write has overtaken is stored as current
)
