package sigv4

// unreserved are the bytes that are never escaped.
var unreserved = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" {
		t[c] = true
	}
	return t
}()

// appendEscaped appends text with everything but the unreserved bytes escaped.
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

// unescape appends a part of a query without its escapes to dst, and returns with
// dst what it appended. An escape that is none stays as it is: the signatures will
// differ then.
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

// unhex is the value of a hexadecimal digit, or 16.
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
