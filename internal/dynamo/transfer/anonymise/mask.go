package anonymise

import (
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// mask hides a scalar except for its last characters, digits or bytes: of a string by stars,
// of a number and of a binary by zeros. If that would leave everything, it leaves nothing.
func mask(v value.Value, keep int) value.Value {
	switch v.Type {
	case value.String:
		text := []rune(string(v.Text))
		if len(text) <= keep {
			keep = 0
		}
		hidden := len(text) - keep
		v.Text = []byte(strings.Repeat("*", hidden) + string(text[hidden:]))
	case value.Number:
		v = maskNumber(v, keep)
	case value.Binary:
		if len(v.Text) <= keep {
			keep = 0
		}
		v.Text = slices.Clone(v.Text)
		clear(v.Text[:len(v.Text)-keep])
	}
	return v
}

func maskNumber(v value.Value, keep int) value.Value {
	text := slices.Clone(v.Text)
	digits := 0
	for _, c := range text {
		if isDigit(c) {
			digits++
		}
	}
	if digits <= keep {
		keep = 0
	}
	for i, hidden := 0, digits-keep; hidden > 0; i++ {
		if isDigit(text[i]) {
			text[i] = '0'
			hidden--
		}
	}
	if n, ok := numberOf(string(text)); ok {
		return n
	}
	return value.Value{Type: value.Number, Text: []byte("0")}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
