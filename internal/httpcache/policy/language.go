package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// inPreferredLanguage reports whether the response is in the language with the highest
// weight, if there is only one. accept is Accept-Language as normalised by AppendVaryValues.
func (r *Response) inPreferredLanguage(accept []byte) bool {
	if len(r.Language) == 0 || len(accept) < 2 {
		return false
	}
	best, highest, alone := []byte(nil), 0, false
	for list := accept[1:]; len(list) > 0; {
		var m []byte
		m, list = cutMember(list)
		name, q := weighted(m)
		switch {
		case q > highest:
			best, highest, alone = name, q, true
		case q == highest:
			alone = false
		}
	}
	return alone && ascii.EqualFold(best, r.Language)
}

// weighted splits a member of an Accept field without blanks into its name and its weight in
// thousandths (RFC 9110, section 12.4.2); a malformed weight counts as 0.
func weighted(m []byte) (name []byte, q int) {
	name, params, has := bytes.Cut(m, []byte{';'})
	if !has {
		return name, 1000
	}
	params = ascii.Trim(params)
	if len(params) < 3 || ascii.Lower(params[0]) != 'q' || params[1] != '=' {
		return name, 0
	}
	return name, thousandths(params[2:])
}

// thousandths parses "0", "1", or either with a point and up to three digits.
func thousandths(b []byte) int {
	if b[0] != '0' && b[0] != '1' || len(b) > 5 || len(b) > 1 && b[1] != '.' {
		return 0
	}
	q := int(b[0]-'0') * 1000
	for i, unit := 2, 100; i < len(b); i, unit = i+1, unit/10 {
		if !isDigit(b[i]) {
			return 0
		}
		q += int(b[i]-'0') * unit
	}
	return min(q, 1000)
}

// AppendEncodings appends the members of Options.Encodings that the client accepts, in their
// order there. It is the Accept-Encoding to send to the origin instead of the client's.
// Nothing is appended if the client accepts none of them.
func AppendEncodings(dst []byte, h http1.Fields, o *Options) []byte {
	var memory [256]byte
	if value := appendVaryValue(memory[:0], "accept-encoding", h, o); len(value) > 0 {
		dst = append(dst, value[1:]...)
	}
	return dst
}

// appendReduced appends the codings that accept allows. accept may lie in dst's free
// capacity: it is read before anything is written.
func appendReduced(dst, accept []byte, codings []string) []byte {
	var wanted uint64
	for i, name := range codings {
		if i < 64 && accepts(accept, name) {
			wanted |= 1 << i
		}
	}
	start := len(dst)
	for i, name := range codings {
		if i < 64 && wanted>>i&1 == 1 {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = append(dst, name...)
		}
	}
	return dst
}

// accepts reports whether a coding, or else *, is listed with a weight above 0.
func accepts(list []byte, coding string) bool {
	other := false
	for len(list) > 0 {
		var m []byte
		m, list = cutMember(list)
		name, q := weighted(m)
		name = ascii.Trim(name)
		if ascii.EqualFold(name, coding) {
			return q > 0
		}
		if string(name) == "*" {
			other = q > 0
		}
	}
	return other
}
