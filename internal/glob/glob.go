// Package glob matches names against patterns: `*` matches any text, `?` matches one byte,
// and every other byte matches itself. For example, "app-*" matches "app-orders".
package glob

import "strings"

// Match reports whether name fits the pattern. It does not allocate.
func Match[T string | []byte](pattern string, name T) bool {
	// back and again are where to retry when the text after the last star does not match:
	// the star then matches one more byte.
	back, again := -1, 0
	p, t := 0, 0
	for t < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			back, again = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[t]):
			p++
			t++
		case back >= 0:
			again++
			p, t = back+1, again
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
