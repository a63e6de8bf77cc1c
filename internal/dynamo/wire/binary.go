package wire

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

const notBase64 = 0xff

// sextets maps the standard alphabet to its values.
var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = notBase64
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		t[c] = byte(i)
	}
	return t
}()

// binaryLen returns the length of the bytes that text encodes. It accepts the base64 that
// DynamoDB accepts and returns: the standard alphabet, padded, without line breaks and with
// zero bits at the end. Equal bytes thus have equal text.
func binaryLen(text []byte) (n int, ok bool) {
	if len(text)%4 != 0 {
		return 0, false
	}
	if len(text) == 0 {
		return 0, true
	}
	body, tail := splitPadding(text)
	for _, c := range body {
		if sextets[c] == notBase64 {
			return 0, false
		}
	}
	last := sextets[body[len(body)-1]]
	if tail == 1 && last&3 != 0 || tail == 2 && last&15 != 0 {
		return 0, false
	}
	return len(text)/4*3 - tail, true
}

// splitPadding cuts off at most two '='. The length of text is a positive multiple of 4.
func splitPadding(text []byte) (body []byte, tail int) {
	n := len(text)
	switch {
	case text[n-1] != '=':
		return text, 0
	case text[n-2] != '=':
		return text[:n-1], 1
	}
	return text[:n-2], 2
}

// decodeBinary decodes text into dst. The two may overlap: writing never overtakes reading.
func decodeBinary(dst, text []byte) (n int, ok bool) {
	if n, ok = binaryLen(text); !ok || n == 0 {
		return 0, ok
	}
	body, _ := splitPadding(text)
	acc, bits, at := uint32(0), 0, 0
	for _, c := range body {
		acc = acc<<6 | uint32(sextets[c])
		if bits += 6; bits >= 8 {
			bits -= 8
			dst[at] = byte(acc >> bits)
			at++
		}
	}
	return n, true
}

// AppendBinary appends the bytes encoded by a JSON string of base64.
func AppendBinary(dst, quoted []byte) ([]byte, bool) {
	out, ok := AppendExact(dst, quoted)
	if !ok {
		return dst, false
	}
	text := out[len(dst):]
	n, ok := decodeBinary(text, text)
	if !ok {
		return dst, false
	}
	return out[:len(dst)+n], true
}

// AppendDecoded appends the bytes encoded by base64 text.
func AppendDecoded(dst, text []byte) ([]byte, bool) {
	out := slices.Grow(dst, len(text))
	n, ok := decodeBinary(out[len(dst):cap(out)], text)
	if !ok {
		return dst, false
	}
	return out[:len(dst)+n], true
}

// BinaryFault returns DynamoDB's message for invalid base64, or "" if text is valid. It
// checks the length, then the end, then the rest.
func BinaryFault(text []byte) string {
	if len(text)%4 != 0 {
		return "Base64 encoded length is expected a multiple of 4 bytes but found: " + strconv.Itoa(len(text))
	}
	if _, ok := binaryLen(text); ok {
		return ""
	}
	body, tail := splitPadding(text)
	last := sextets[body[len(body)-1]]
	if last != notBase64 && (tail == 1 && last&3 != 0 || tail == 2 && last&15 != 0) {
		return "Invalid last non-pad Base64 character dectected" // sic
	}
	bad := slices.IndexFunc(body, func(c byte) bool { return sextets[c] == notBase64 })
	r, _ := utf8.DecodeRune(body[bad:])
	return "Invalid Base64 character: '" + string(r) + "'"
}
