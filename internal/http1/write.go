package http1

import "github.com/kasoku/kasoku/internal/ascii"

// AppendRequest appends the head of r: its method, target and fields. The fields must be
// complete, including Host and Content-Length. It refuses parts that ParseRequest would
// refuse.
func AppendRequest(dst []byte, r *Request) ([]byte, error) {
	if !ascii.IsToken(r.Method) {
		return dst, errMethod
	}
	if err := checkTarget(r.Target); err != nil {
		return dst, err
	}
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, r.Target...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	for i := range r.Fields {
		f := &r.Fields[i]
		if !ascii.IsToken(f.Name) {
			return dst, errFieldName
		}
		if !ValidValue(f.Value) {
			return dst, errFieldValue
		}
		dst = append(dst, f.Name...)
		dst = append(dst, ": "...)
		dst = append(dst, f.Value...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

// checkTarget refuses bytes that are not allowed in a request line. Dot segments are the
// caller's responsibility.
func checkTarget(t []byte) error {
	if len(t) == 0 || !allOf(t, isTarget) {
		return errTarget
	}
	for i, c := range t {
		if c == '%' && (i+2 >= len(t) || class[t[i+1]]&class[t[i+2]]&isHex == 0) {
			return errTargetEsc
		}
	}
	return nil
}
