//go:build !kasokubroken

package cache

// fenceIgnored is false in every production build. The build tag kasokubroken turns the
// fence off, for the test that proves that the history checker notices.
const fenceIgnored = false
