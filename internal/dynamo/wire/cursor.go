package wire

// SkipSpace returns the index of the first byte at or after i that isn't white space, or
// len(b).
func SkipSpace(b []byte, i int) int { return skipSpace(b, i) }

// SkipValue returns the index after the value that begins at i, or -1.
func SkipValue(b []byte, i int) int { return skipValue(b, i) }

// ReadString reads the string whose opening quote is at i. raw is the text between the
// quotes, and next the index after the string, or -1 if there is no string. If the string
// has no escapes, raw is its text, but possibly invalid UTF-8.
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
