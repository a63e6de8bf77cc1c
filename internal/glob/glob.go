// Package glob has the patterns by which a configuration names tables: `*` stands
// for any text, `?` for one letter, and everything else for itself.
package glob

import "strings"

// Match reports whether name fits the pattern. It does not allocate.
func Match[T string | []byte](pattern string, name T) bool {
	// back and again are where to try once more when what follows the last star
	// does not fit: with the star standing for one letter more.
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
