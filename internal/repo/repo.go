// Package repo holds the repository's rules, as tests: which package may import which and
// why, the form of packages and files, and text that may not appear anywhere. It has no code
// of its own.
package repo
