package edge

import (
	"net/http"
	"strconv"

	"github.com/kasoku/kasoku/internal/http1"
)

var (
	errPadded = &http1.Error{Status: http.StatusBadRequest, Reason: "blanks around a field value"}
	errLength = &http1.Error{Status: http.StatusBadRequest, Reason: "Content-Length differs from the body"}
)

// checkH2 refuses a request that is malformed by RFC 9113, section 8, but accepted by the
// library. In HTTP/1.1 blanks around values are removed, and a Content-Length that differs
// from the body can't be noticed, so the checks of http1 don't cover these.
func checkH2(r *http.Request) error {
	if padded(r.Host) || paddedFields(r.Header) {
		return errPadded
	}
	lengths, given := r.Header["Content-Length"]
	if !given {
		return nil
	}
	const maxDigits = 18
	if len(lengths) != 1 || len(lengths[0]) > maxDigits {
		return errLength
	}
	// r.ContentLength is 0 if the head has ended the stream.
	if n, err := strconv.ParseUint(lengths[0], 10, 63); err != nil || int64(n) != r.ContentLength {
		return errLength
	}
	return nil
}

// checkH2Trailer is checkH2 for the fields that follow a body.
func checkH2Trailer(r *http.Request) error {
	if paddedFields(r.Trailer) {
		return errPadded
	}
	return nil
}

func paddedFields(h http.Header) bool {
	for _, values := range h {
		for _, v := range values {
			if padded(v) {
				return true
			}
		}
	}
	return false
}

// padded reports whether v begins or ends with a blank.
func padded(v string) bool {
	blank := func(b byte) bool { return b == ' ' || b == '\t' }
	return v != "" && (blank(v[0]) || blank(v[len(v)-1]))
}
