package policy

import (
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// HopByHop reports whether a field concerns only one connection and is not stored or
// forwarded (RFC 9110, section 7.6.1; RFC 9111, section 3.1).
func HopByHop(name []byte) bool { return hopByHop.Has(name) }

var hopByHop = ascii.NewNames("te", "upgrade", "trailer", "connection", "keep-alive", "proxy-connection", "transfer-encoding",
	"proxy-authenticate", "proxy-authorization", "proxy-authentication-info")

// protected are fields that Connection may not remove: the ones for framing, routing and
// caching.
var protected = []string{
	"host", "content-length", "transfer-encoding", "authorization", "cookie", "set-cookie", "cache-control", "age", "date", "range",
	"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
	"content-type", "content-encoding", "content-range", "etag", "expires", "last-modified", "vary",
}

// EndToEnd appends to dst the fields that are not limited to one connection: all except
// hop-by-hop fields and fields named in Connection. Protected fields are kept even if
// Connection names them.
func EndToEnd(dst, h http1.Fields) http1.Fields {
	named := connectionNames(h)
	for i := range h {
		if f := h[i]; !HopByHop(f.Name) && !ascii.ContainsFold(named, f.Name) {
			dst = append(dst, f)
		}
	}
	return dst
}

// connectionNames returns the names of the fields that Connection removes.
func connectionNames(h http1.Fields) (names []string) {
	list := listOf(h, "connection")
	for m := list.next(); m != nil; m = list.next() {
		if name := toLower(m); !slices.Contains(protected, name) && name != "close" {
			names = append(names, name)
		}
	}
	return names
}

// HitFields appends to dst the fields of h, a result of EndToEnd, that are sent unchanged
// with every hit: without Content-Length, Age and the fields hidden by the response,
// which are computed for each hit.
func HitFields(dst, h http1.Fields, r *Response, o *Options) http1.Fields {
	for i := range h {
		f := h[i]
		switch {
		case ascii.EqualFold(f.Name, "age"), ascii.EqualFold(f.Name, "content-length"), ascii.ContainsFold(r.Hidden, f.Name):
		case o.SetCookie != StoreCookies && ascii.EqualFold(f.Name, "set-cookie"):
		default:
			dst = append(dst, f)
		}
	}
	return dst
}

// Dated appends to dst the fields of h with exactly one Date: the first, if it is valid,
// otherwise the time of reception. Every response that is stored or forwarded needs it (RFC
// 9110, section 6.6.1).
func Dated(dst, h http1.Fields, responseTime Moment) http1.Fields {
	date := []byte(nil)
	for i := range h {
		if !ascii.EqualFold(h[i].Name, "date") {
			dst = append(dst, h[i])
			continue
		}
		if _, ok := ParseDate(h[i].Value, responseTime.Unix()); date == nil && ok {
			date = h[i].Value
			dst = append(dst, h[i])
		}
	}
	if date == nil {
		dst = append(dst, http1.Field{Name: []byte("Date"), Value: AppendDate(nil, responseTime.Unix())})
	}
	return dst
}
