package http1

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// notInTrailer are fields that have no effect, or a harmful one, behind a body: a recipient
// that has already acted on the head can't use them any more (RFC 9110, 6.5.1). They frame
// or route the message, or describe its sender, its caching or its body. Some servers merge
// them with the fields of the head.
var notInTrailer = []string{
	"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via",
	"authentication-info", "authorization", "cookie", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "set-cookie", "www-authenticate",
	"age", "cache-control", "cdn-cache-control", "date", "expires", "last-modified", "pragma", "surrogate-control", "vary", "warning",
	"if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
	"content-encoding", "content-range", "content-type", "expect", "forwarded", "location", "max-forwards", "retry-after",
	"content-disposition", "content-location", "clear-site-data", "cookie2", "origin", "referer", "set-cookie2", "strict-transport-security",
	"x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-real-ip", "x-request-id", "x-rewrite-url",
}

// forwarding is the prefix of fields in which a proxy describes its client.
const forwarding = "x-forwarded-"

// InTrailer reports whether a field of that name is allowed in a trailer. An underscore
// counts as a hyphen.
func InTrailer(name []byte) bool {
	if bytes.IndexByte(name, '_') >= 0 {
		name = bytes.ReplaceAll(name, []byte{'_'}, []byte{'-'})
	}
	if len(name) > len(forwarding) && ascii.EqualFold(name[:len(forwarding)], forwarding) {
		return false
	}
	return !ascii.ContainsFold(notInTrailer, name)
}
