package wire

// SkipSpace returns the index of the first byte at or after i that is no white
// space, or len(b).
func SkipSpace(b []byte, i int) int { return skipSpace(b, i) }

// SkipValue returns the index behind the value that begins at i, or -1.
func SkipValue(b []byte, i int) int { return skipValue(b, i) }

// ReadString reads the string whose opening quote is at i: raw is what it has
// between its quotes, next the index behind it, -1 if there is no string.
// Without escapes raw is the string's text, though maybe no valid UTF-8.
func ReadString(b []byte, i int) (raw []byte, next int, escaped bool) {
	if uint(i) >= uint(len(b)) || b[i] != '"' {
		return nil, -1, false
	}
	i++
	end := skipPlain(b, i)
	if end < len(b) && b[end] == '"' {
		return b[i:end], end + 1, false
	}
	if end = scanString(b, end); end < 0 {
		return nil, -1, false
	}
	return b[i : end-1], end, true
}
