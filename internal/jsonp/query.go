package jsonp

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// NameStatus is the result of looking for a callback in a query.
type NameStatus uint8

const (
	// NameAbsent: there is no callback, or one without a name.
	NameAbsent NameStatus = iota
	// NameInvalid: the name is not allowed, or two names differ.
	NameInvalid
	// NameValid: the callback has an allowed name.
	NameValid
)

// Name finds the callback in a query without its question mark. It appends the name to dst,
// percent-decoded; MaxName bytes of room are enough. The appended bytes count only if the
// status is NameValid.
//
// An argument may occur more than once if its value is always the same. Legacy does not
// decode; it uses the last value, and none if any of them is invalid.
func (f *Filter) Name(dst, query []byte) ([]byte, NameStatus) {
	if f.cfg.Mode == Legacy {
		return f.lastName(dst, query)
	}
	start, found := len(dst), false
	for len(query) > 0 {
		var arg []byte
		arg, query, _ = bytes.Cut(query, ampersand)
		value, ok := f.valueOf(arg, f.params)
		switch {
		case !ok:
			continue
		case found && !decodesTo(value, dst[start:]):
			return dst[:start], NameInvalid
		case found:
			continue
		}
		if dst, ok = appendDecoded(dst, value); !ok {
			return dst[:start], NameInvalid
		}
		found = true
	}
	return dst, f.nameStatus(dst[start:])
}

func (f *Filter) lastName(dst, query []byte) ([]byte, NameStatus) {
	start, wrong := len(dst), false
	for len(query) > 0 {
		var arg []byte
		arg, query, _ = bytes.Cut(query, ampersand)
		value, ok := f.valueOf(arg, f.params)
		if !ok {
			continue
		}
		if len(value) > MaxName || !plain(value) {
			wrong = true
			continue
		}
		dst = append(dst[:start], value...)
	}
	if wrong {
		return dst[:start], NameInvalid
	}
	return dst, f.nameStatus(dst[start:])
}

func (f *Filter) nameStatus(name []byte) NameStatus {
	switch {
	case len(name) == 0:
		return NameAbsent
	case f.cfg.Mode.Valid(name) && f.allowsName(name):
		return NameValid
	}
	return NameInvalid
}

func (f *Filter) allowsName(name []byte) bool {
	for _, begin := range f.cfg.Names {
		if len(name) >= len(begin) && string(name[:len(begin)]) == begin {
			return true
		}
	}
	return len(f.cfg.Names) == 0
}

// Strip appends the query to dst without the callback and the other arguments to strip. The
// rest keeps its order and bytes. If nothing is left of a query that was not empty, remove
// its question mark too.
func (f *Filter) Strip(dst, query []byte) []byte {
	kept := false
	for more := true; more; {
		var arg []byte
		arg, query, more = bytes.Cut(query, ampersand)
		if _, ok := f.valueOf(arg, f.strip); ok {
			continue
		}
		if kept {
			dst = append(dst, '&')
		}
		dst, kept = append(dst, arg...), true
	}
	return dst
}

// Strips reports whether Strip would remove anything from a query.
func (f *Filter) Strips(query []byte) bool {
	for len(query) > 0 {
		var arg []byte
		arg, query, _ = bytes.Cut(query, ampersand)
		if _, ok := f.valueOf(arg, f.strip); ok {
			return true
		}
	}
	return false
}

var ampersand, equals = []byte{'&'}, []byte{'='}

// valueOf returns the value of an argument, as sent, if its name is one of names. An
// argument without "=" has an empty value.
func (f *Filter) valueOf(arg []byte, names []string) (value []byte, ok bool) {
	if len(arg) == 0 {
		return nil, false
	}
	name, value, _ := bytes.Cut(arg, equals)
	for _, want := range names {
		if string(name) == want || f.cfg.Mode != Legacy && decodesTo(name, want) {
			return value, true
		}
	}
	return nil, false
}

// decodesTo reports whether s is want, percent-encoded or not.
func decodesTo[T string | []byte](s []byte, want T) bool {
	if len(s) < len(want) {
		return false
	}
	for i := range len(want) {
		c, n := decodeOne(s)
		if n == 0 || c != want[i] {
			return false
		}
		s = s[n:]
	}
	return len(s) == 0
}

// appendDecoded appends s percent-decoded to dst. It reports false if that is longer than a
// name, or s is malformed.
func appendDecoded(dst, s []byte) ([]byte, bool) {
	for end := len(dst) + MaxName; len(s) > 0; {
		c, n := decodeOne(s)
		if n == 0 || len(dst) == end {
			return dst, false
		}
		dst, s = append(dst, c), s[n:]
	}
	return dst, true
}

// decodeOne decodes the first character of s and returns the number of bytes it takes, 0 if
// there is none or it is malformed.
func decodeOne(s []byte) (c byte, n int) {
	switch {
	case len(s) == 0:
		return 0, 0
	case s[0] == '+':
		return ' ', 1
	case s[0] != '%':
		return s[0], 1
	case len(s) < 3:
		return 0, 0
	}
	c, ok := ascii.HexByte(s[1], s[2])
	if !ok {
		return 0, 0
	}
	return c, 3
}
