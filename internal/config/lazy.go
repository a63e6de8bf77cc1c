package config

import (
	"regexp"
	"sync"
)

// lazyRegexp returns a function that returns a regular expression, which it compiles when it is
// first called: commands that read no configuration start sooner.
func lazyRegexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
