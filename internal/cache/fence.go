//go:build !kasokubroken

package cache

// fenceIgnored is false in every production build. The build tag kasokubroken turns the
// fence off, for the test that the history checker finds violations.
const fenceIgnored = false
