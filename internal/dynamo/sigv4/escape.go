package sigv4

import "github.com/kasoku/kasoku/internal/ascii"

// appendEscaped appends text with every byte escaped except the unreserved ones.
func appendEscaped(dst, text []byte) []byte {
	for _, c := range text {
		dst = ascii.AppendEscaped(dst, c)
	}
	return dst
}

// unescape appends the unescaped part of a query to dst, and returns the extended slice and
// the appended part. It copies an invalid escape unchanged: the signatures will then differ.
func unescape(dst, text []byte) (all, part []byte) {
	start := len(dst)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(text):
			if escaped, ok := ascii.HexByte(text[i+1], text[i+2]); ok {
				c = escaped
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst, dst[start:]
}
