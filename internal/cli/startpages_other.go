//go:build !linux

package cli

// releaseStartPages does nothing: other systems count such memory differently, or can't release it.
func releaseStartPages() error { return nil }
