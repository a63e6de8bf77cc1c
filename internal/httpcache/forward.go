package httpcache

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Forwarding configures the fields that describe the client to origins.
type Forwarding struct {
	X        bool           // X-Forwarded-For, -Host and -Proto
	Standard bool           // Forwarded (RFC 7239)
	Trust    []netip.Prefix // proxies whose own such fields are extended; others' are dropped

	reduced *policy.Options // not nil if its Encodings replace the client's Accept-Encoding
}

// keyed returns the fields by which every answer varies: a trusted proxy names the site and
// the scheme in them, and may copy them from its client.
func (f *Forwarding) keyed() (names []string) {
	if len(f.Trust) == 0 {
		return nil
	}
	if f.X {
		names = append(names, "x-forwarded-host", "x-forwarded-proto")
	}
	if f.Standard {
		names = append(names, policy.ForwardedSite)
	}
	return names
}

// trusts reports whether client is a trusted proxy.
func (f *Forwarding) trusts(client netip.Addr) bool {
	return slices.ContainsFunc(f.Trust, func(p netip.Prefix) bool { return p.Contains(client.Unmap()) })
}

// outgoing builds the fields of a request to an origin. It is used again, and the fields are
// slices of text and of the exchange: clone them for a longer use.
type outgoing struct {
	fields http1.Fields
	text   []byte
	host   []byte // the client's, as in the key
	chain  [][]byte
	built  bool // for the present exchange
}

// build copies the client's end-to-end fields and adds the proxy's. id identifies this
// process in Via.
func (o *outgoing) build(x *edge.Exchange, h *connectionHeader, f *Forwarding, id string) http1.Fields {
	o.fields, o.text = o.fields[:0], o.text[:0]
	o.host = store.AppendHost(o.host[:0], string(scheme(x)), x.Request.Host)
	trusted := len(f.Trust) > 0 && f.trusts(x.Record.Client.Addr())
	reduce := false
	for _, field := range x.Request.Fields {
		switch {
		case h.drops(field.Name), isForwarded(field.Name), ascii.EqualFold(field.Name, "X-Request-Id"), ascii.EqualFold(field.Name, "Max-Forwards"):
		case !trusted && isProxyField(field.Name):
		case f.reduced != nil && ascii.EqualFold(field.Name, "Accept-Encoding"):
			reduce = true
		default:
			o.fields = append(o.fields, field)
		}
	}
	if reduce {
		o.add("Accept-Encoding", func(dst []byte) []byte { return appendReduced(dst, x.Request.Fields, f.reduced) })
	}
	if f.X {
		o.addXForwarded(x, trusted)
	}
	if f.Standard {
		o.addForwarded(x, trusted)
	}
	if n, ok := maxForwards(&x.Request); ok {
		o.add("Max-Forwards", func(dst []byte) []byte { return strconv.AppendUint(dst, n-1, 10) })
	}
	o.add("X-Request-Id", func(dst []byte) []byte { return append(dst, x.Record.RequestID...) })
	o.add("Via", func(dst []byte) []byte {
		return append(append(append(dst, x.Version()...), ' '), id...)
	})
	return o.fields
}

// appendReduced appends the codings that both the origin and the client support, or identity
// if there are none.
func appendReduced(dst []byte, client http1.Fields, o *policy.Options) []byte {
	before := len(dst)
	if dst = policy.AppendEncodings(dst, client, o); len(dst) == before {
		dst = append(dst, "identity"...)
	}
	return dst
}

// add appends a field whose value is written by f. Fields that were added before remain
// valid when text grows, because they refer to the old memory.
func (o *outgoing) add(name string, f func(dst []byte) []byte) {
	start := len(o.text)
	o.text = append(o.text, name...)
	o.text = f(o.text)
	both := o.text[start:len(o.text):len(o.text)]
	o.fields = append(o.fields, http1.Field{Name: both[:len(name):len(name)], Value: both[len(name):]})
}

func isForwarded(name []byte) bool {
	name = hyphenated(name)
	return ascii.EqualFold(name, "X-Forwarded-For") || ascii.EqualFold(name, "X-Forwarded-Host") || ascii.EqualFold(name, "X-Forwarded-Proto") ||
		ascii.EqualFold(name, "Forwarded")
}

// hyphenated returns name with hyphens for underscores, which many origins do not
// distinguish.
func hyphenated(name []byte) []byte {
	if bytes.IndexByte(name, '_') < 0 {
		return name
	}
	return bytes.ReplaceAll(name, []byte{'_'}, []byte{'-'})
}

// isProxyField reports whether a field is one in which proxies, without a standard, describe
// the original request. Origins obey these fields, so that an answer to a forged one would
// be stored for all clients.
func isProxyField(name []byte) bool {
	const prefix = len("X-Forwarded-")
	name = hyphenated(name)
	return len(name) > prefix && ascii.EqualFold(name[:prefix], "X-Forwarded-") || proxyFields.Has(name)
}

var proxyFields = ascii.NewNames("X-Host", "X-Real-IP", "X-Client-IP", "X-Url-Scheme", "X-Rewrite-URL", "X-Original-URL", "True-Client-IP",
	"X-Original-Host", "Front-End-Https", "X-Cluster-Client-IP")

// maxForwards returns the number of times that a request may still be forwarded, if it has a
// limit. Only OPTIONS does here.
func maxForwards(r *http1.Request) (uint64, bool) {
	if string(r.Method) != "OPTIONS" {
		return 0, false
	}
	value := r.Get("Max-Forwards")
	if value == nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(value), 10, 32)
	return n, err == nil && n > 0
}

func (o *outgoing) addXForwarded(x *edge.Exchange, trusted bool) {
	client := x.Record.Client.Addr().Unmap().WithZone("")
	if chain := o.trustedValues(x, "X-Forwarded-For", trusted); client.IsValid() || len(chain) > 0 {
		o.add("X-Forwarded-For", func(dst []byte) []byte {
			dst = appendChain(dst, chain)
			if !client.IsValid() {
				return dst[:len(dst)-len(", ")]
			}
			return client.AppendTo(dst)
		})
	}
	o.add("X-Forwarded-Host", func(dst []byte) []byte {
		return append(dst, firstOf(o.trustedValues(x, "X-Forwarded-Host", trusted), o.host)...)
	})
	o.add("X-Forwarded-Proto", func(dst []byte) []byte {
		return append(dst, firstOf(o.trustedValues(x, "X-Forwarded-Proto", trusted), scheme(x))...)
	})
}

// trustedValues returns the values of a field, none unless the client is trusted. They are
// valid until the next call.
func (o *outgoing) trustedValues(x *edge.Exchange, name string, trusted bool) [][]byte {
	o.chain = o.chain[:0]
	for i := range x.Request.Fields {
		if f := &x.Request.Fields[i]; trusted && ascii.EqualFold(f.Name, name) && len(f.Value) > 0 {
			o.chain = append(o.chain, f.Value)
		}
	}
	return o.chain
}

func appendChain(dst []byte, chain [][]byte) []byte {
	for _, part := range chain {
		dst = append(append(dst, part...), ", "...)
	}
	return dst
}

func firstOf(chain [][]byte, other []byte) []byte {
	if len(chain) > 0 {
		return chain[0]
	}
	return other
}

var plainScheme, secureScheme = []byte("http"), []byte("https")

func scheme(x *edge.Exchange) []byte {
	if x.Record.TLS {
		return secureScheme
	}
	return plainScheme
}

// addForwarded adds Forwarded with one element for each proxy, this one last. It drops a
// line with an unclosed quote, which would hide the last element.
func (o *outgoing) addForwarded(x *edge.Exchange, trusted bool) {
	o.add("Forwarded", func(dst []byte) []byte {
		dst = appendChain(dst, slices.DeleteFunc(o.trustedValues(x, "Forwarded", trusted), policy.ForwardedOpen))
		dst = append(dst, "for="...)
		switch client := x.Record.Client.Addr().Unmap().WithZone(""); {
		case !client.IsValid():
			dst = append(dst, "unknown"...)
		case client.Is4():
			dst = client.AppendTo(dst)
		default:
			dst = append(client.AppendTo(append(dst, `"[`...)), `]"`...)
		}
		if len(o.host) > 0 {
			dst = append(append(append(dst, `;host="`...), o.host...), '"')
		}
		return append(append(dst, ";proto="...), scheme(x)...)
	})
}

// isLoop reports whether a request has passed through this process before.
func isLoop(fields http1.Fields, id string) bool {
	return slices.ContainsFunc(fields, func(f http1.Field) bool { return f.Is("Via") && viaContains(f.Value, id) })
}

// viaContains reports whether one of the list's members was received by id.
func viaContains(value []byte, id string) bool {
	for i := 1; i+len(id) <= len(value); i++ {
		end := i + len(id)
		if string(value[i:end]) == id && value[i-1] == ' ' && (end == len(value) || value[end] == ',' || value[end] == ' ') {
			return true
		}
	}
	return false
}
