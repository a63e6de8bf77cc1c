package httpcache

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// connectionHeader holds the parsed Connection and TE lines of a request, which apply to
// this connection only.
type connectionHeader struct {
	names    [][]byte // fields named by Connection, which are not forwarded; aliases of the request
	upgrade  bool     // Connection: upgrade, with an Upgrade field that may be forwarded
	trailers bool     // TE: trailers: the client accepts trailers
}

// endToEnd are fields that Connection must not name, since the meaning of a request would
// change without them. The same is true of every If-* field.
var endToEnd = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Authorization", "Cookie", "Cache-Control", "Age", "Date", "Range",
	"Content-Type", "Content-Encoding", "Expect", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded",
}

// maxNames is the maximum number of fields that Connection may name. Each is compared with
// every field.
const maxNames = 32

// read parses the fields of a request. It returns false if Connection names too many fields
// or one that it must not name: the request is to be refused.
func (h *connectionHeader) read(fields http1.Fields) bool {
	*h = connectionHeader{names: h.names[:0]}
	upgrade, named, refused := false, false, false
	for i := range fields {
		f := &fields[i]
		switch len(f.Name) {
		case len("TE"):
			if ascii.EqualFold(f.Name, "TE") {
				h.trailers = h.trailers || hasMember(f.Value, "trailers")
			}
		case len("Upgrade"):
			if ascii.EqualFold(f.Name, "Upgrade") {
				named, refused = true, refused || bypassesProxy(f.Value)
			}
		case len("Connection"):
			if ascii.EqualFold(f.Name, "Connection") && !h.parseList(f.Value, &upgrade) {
				return false
			}
		}
	}
	h.upgrade = upgrade && named && !refused
	return true
}

// bypassesProxy reports whether an Upgrade line names a protocol in which the client could
// send requests past the cache: HTTP/2 without TLS, or HTTP within TLS.
func bypassesProxy(list []byte) bool {
	for len(list) > 0 {
		var m []byte
		m, list, _ = bytes.Cut(list, []byte{','})
		m, _, _ = bytes.Cut(bytes.Trim(m, " \t"), []byte{'/'})
		for _, name := range [...]string{"h2c", "h2", "http", "tls"} {
			if ascii.EqualFold(m, name) {
				return true
			}
		}
	}
	return false
}

func (h *connectionHeader) parseList(value []byte, upgrade *bool) bool {
	for len(value) > 0 {
		var name []byte
		name, value, _ = bytes.Cut(value, []byte{','})
		name = bytes.Trim(name, " \t")
		switch {
		case len(name) == 0, ascii.EqualFold(name, "close"), ascii.EqualFold(name, "keep-alive"):
		case ascii.EqualFold(name, "upgrade"):
			*upgrade = true
		case isEndToEnd(name), len(h.names) == maxNames:
			return false
		default:
			h.names = append(h.names, name)
		}
	}
	return true
}

func isEndToEnd(name []byte) bool {
	return len(name) > 3 && ascii.EqualFold(name[:3], "If-") || ascii.ContainsFold(endToEnd, name)
}

// drops reports whether a field of the request is not forwarded.
func (h *connectionHeader) drops(name []byte) bool {
	return isHopByHop(name) || slices.ContainsFunc(h.names, func(n []byte) bool { return bytes.EqualFold(n, name) })
}

// isHopByHop reports whether a field always applies to one connection only, or is rewritten
// for the next.
func isHopByHop(name []byte) bool { return rewrittenFields.Has(name) || policy.HopByHop(name) }

var rewrittenFields = ascii.NewNames("Host", "Expect", "Content-Length", "HTTP2-Settings")

// isRewritten reports whether the origin gets another value of a field, in lower case, than
// the client sent.
func isRewritten(name string) bool {
	switch name {
	case "x-request-id", "max-forwards", "via", "forwarded", policy.ForwardedSite:
		return true
	}
	var memory [len("proxy-authentication-info")]byte
	return strings.HasPrefix(name, "x-forwarded-") || len(name) <= len(memory) && isHopByHop(memory[:copy(memory[:], name)])
}

// hasMember reports whether a list of tokens contains token, in any case.
func hasMember(list []byte, token string) bool {
	for len(list) > 0 {
		var m []byte
		m, list, _ = bytes.Cut(list, []byte{','})
		m, _, _ = bytes.Cut(m, []byte{';'})
		if ascii.EqualFold(bytes.Trim(m, " \t"), token) {
			return true
		}
	}
	return false
}
