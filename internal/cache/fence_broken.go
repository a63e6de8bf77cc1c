//go:build kasokubroken

package cache

// fenceIgnored makes every cached entry look current whatever was written: only
// for the test that proves that the history checker notices.
const fenceIgnored = true
