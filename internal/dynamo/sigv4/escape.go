package sigv4

// unreserved reports for each byte whether it is never escaped.
var unreserved = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" {
		t[c] = true
	}
	return t
}()

// appendEscaped appends text with every byte escaped except the unreserved ones.
func appendEscaped(dst, text []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range text {
		if unreserved[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
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
			if high, low := unhex(text[i+1]), unhex(text[i+2]); high < 16 && low < 16 {
				c = high<<4 | low
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst, dst[start:]
}

// unhex returns the value of a hexadecimal digit, or 16 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
