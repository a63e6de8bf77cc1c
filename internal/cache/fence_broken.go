//go:build kasokubroken

package cache

import "os"

// The faults of the fence, see fence.go. The environment variable KASOKU_BROKEN selects one:
// "writes", "fills", or without it the first.
var (
	fenceIgnored  = os.Getenv("KASOKU_BROKEN") == ""
	writesUnmoved = os.Getenv("KASOKU_BROKEN") == "writes"
	fillsUnfenced = os.Getenv("KASOKU_BROKEN") == "fills"
)
