package dataset

import (
	"bytes"
	"strconv"
)

// AppendPlainRequest appends an HTTP request to one of bbpd's routes, with the header of a
// program without an SDK.
func AppendPlainRequest(dst []byte, path string, body []byte) []byte {
	dst = append(append(append(dst, "POST "...), path...), " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n"...)
	return append(dst, body...)
}

// types are the texts around an attribute value, and their counterparts in plain JSON.
var types = []struct{ open, close, plainOpen, plainClose string }{
	{`{"S":"`, `"}`, `"`, `"`},
	{`{"N":"`, `"}`, ``, ``},
}

// AppendPlain appends the answer to AppendPlainRequest's GetItemJSON with AppendGet's body:
// a plain item.
func (s Set) AppendPlain(dst []byte, i int) []byte {
	rest := s.AppendGetAnswer(nil, i)
	for len(rest) > 0 {
		at, typ := len(rest), -1
		for k := range types {
			if n := bytes.Index(rest, []byte(types[k].open)); n >= 0 && n < at {
				at, typ = n, k
			}
		}
		dst = append(dst, rest[:at]...)
		if rest = rest[at:]; typ < 0 {
			break
		}
		t := types[typ]
		text, after, _ := bytes.Cut(rest[len(t.open):], []byte(t.close))
		dst = append(append(append(dst, t.plainOpen...), text...), t.plainClose...)
		rest = after
	}
	return dst
}
