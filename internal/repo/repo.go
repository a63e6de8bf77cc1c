// Package repo holds the repository's rules, as tests: which package may import
// which and why, what every package and file must have, and what may not stand
// anywhere. It has no code of its own.
package repo
