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

// Forwarding says what origins are told of the client.
type Forwarding struct {
	X        bool           // X-Forwarded-For, -Host and -Proto
	Standard bool           // Forwarded (RFC 7239)
	Trust    []netip.Prefix // whose own such fields are continued; all others' are dropped

	reduced *policy.Options // if its Encodings are to stand for the client's own
}

// keyed are the fields that every answer depends on: a trusted proxy says which site, and
// how secure, and may say what its client has written.
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

// trusts says whether a client's own fields are believed.
func (f *Forwarding) trusts(client netip.Addr) bool {
	for _, p := range f.Trust {
		if p.Contains(client.Unmap()) {
			return true
		}
	}
	return false
}

// outgoing makes the fields of a request to an origin. It is used again: fields
// are slices of text and of the exchange, so what outlives that is to be cloned.
type outgoing struct {
	fields http1.Fields
	text   []byte
	host   []byte // the client's, as it stands in the key
	chain  [][]byte
}

// build takes over the client's fields that go on, and adds ours. id names this
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

// appendReduced appends the codings that the origin knows and the client takes. One
// that takes none of them takes what is not encoded.
func appendReduced(dst []byte, client http1.Fields, o *policy.Options) []byte {
	before := len(dst)
	if dst = policy.AppendEncodings(dst, client, o); len(dst) == before {
		dst = append(dst, "identity"...)
	}
	return dst
}

// add appends a field whose value is written by f. Growing moves text, but what
// was written before stays where the fields look.
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

// hyphenated is name with hyphens for underscores: many origins take both for one.
func hyphenated(name []byte) []byte {
	if bytes.IndexByte(name, '_') < 0 {
		return name
	}
	return bytes.ReplaceAll(name, []byte{'_'}, []byte{'-'})
}

// isProxyField says whether a field is one of those in which a proxy tells, without a
// standard, what it was asked for and by whom. Origins go by them, and an answer that
// was made up of what any client wrote there would be stored for all.
func isProxyField(name []byte) bool {
	const prefix = len("X-Forwarded-")
	name = hyphenated(name)
	if len(name) > prefix && ascii.EqualFold(name[:prefix], "X-Forwarded-") {
		return true
	}
	switch len(name) {
	case len("X-Host"):
		return ascii.EqualFold(name, "X-Host")
	case len("X-Real-IP"):
		return ascii.EqualFold(name, "X-Real-IP")
	case len("X-Client-IP"):
		return ascii.EqualFold(name, "X-Client-IP")
	case len("X-Url-Scheme"):
		return ascii.EqualFold(name, "X-Url-Scheme")
	case len("X-Rewrite-URL"):
		return ascii.EqualFold(name, "X-Rewrite-URL")
	case len("X-Original-URL"):
		return ascii.EqualFold(name, "X-Original-URL") || ascii.EqualFold(name, "True-Client-IP")
	case len("X-Original-Host"):
		return ascii.EqualFold(name, "X-Original-Host") || ascii.EqualFold(name, "Front-End-Https")
	case len("X-Cluster-Client-IP"):
		return ascii.EqualFold(name, "X-Cluster-Client-IP")
	}
	return false
}

// maxForwards is how often a request may still be forwarded, if it says so: only OPTIONS
// and TRACE do.
func maxForwards(r *http1.Request) (uint64, bool) {
	if string(r.Method) != "OPTIONS" {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.Get("Max-Forwards")), 10, 32)
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

// trustedValues are the values of a field's lines, if the client is to be believed. They are
// good until the next call.
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

// addForwarded adds Forwarded: one element for each proxy, ours last. A line with a quote
// that is not closed would hide ours, and is left out.
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

// isLoop says whether a request came through this very process before.
func isLoop(fields http1.Fields, id string) bool {
	for i := range fields {
		if ascii.EqualFold(fields[i].Name, "Via") && viaContains(fields[i].Value, id) {
			return true
		}
	}
	return false
}

// viaContains says whether one of the list's members was received by id.
func viaContains(value []byte, id string) bool {
	for i := 1; i+len(id) <= len(value); i++ {
		end := i + len(id)
		if string(value[i:end]) == id && value[i-1] == ' ' && (end == len(value) || value[end] == ',' || value[end] == ' ') {
			return true
		}
	}
	return false
}
