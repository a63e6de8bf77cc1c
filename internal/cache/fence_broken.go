//go:build kasokubroken

package cache

// fenceIgnored treats every cached entry as current, whatever was written. It is used only
// by the test that proves that the history checker notices.
const fenceIgnored = true
