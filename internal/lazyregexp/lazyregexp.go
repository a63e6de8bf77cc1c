// Package lazyregexp compiles the regular expressions of package variables when they are first
// used, so that a process compiles none at its start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the regular expression of text, which it compiles when it
// is first called. It panics then if text is no regular expression.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
