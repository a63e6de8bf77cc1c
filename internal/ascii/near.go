package ascii

import (
	"slices"
	"strings"
)

// Near returns the candidate that is most similar to word, or "" if none is.
func Near(word string, candidates []string) string {
	best, least := "", len(word)/3+2
	word = strings.ToLower(word)
	for _, c := range candidates {
		d := distance(word, strings.ToLower(c))
		if d > 1 && partOf(word, strings.ToLower(c)) {
			d = 1
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// partOf reports whether one name is a word of the other, or its beginning: for example ttl
// of default_ttl, health of health_check, user of username.
func partOf(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) > 2 && (strings.HasPrefix(b, a) || slices.Contains(strings.Split(b, "_"), a))
}

// distance returns the number of letters to insert, delete, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	var before2 []int
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before2, before, row = before, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := before[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(before[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before2[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
