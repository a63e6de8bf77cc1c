package policy

import "github.com/kasoku/kasoku/internal/ascii"

// CookieRule is the treatment of responses with Set-Cookie.
type CookieRule uint8

const (
	// RefuseCookies does not store the response.
	RefuseCookies CookieRule = iota
	// StripCookies stores the response without the field.
	StripCookies
	// StoreCookies stores a response with explicit freshness and repeats the field on every
	// hit, as RFC 9111 allows.
	StoreCookies
)

// Options are the choices that the RFCs leave to a cache. [Defaults] returns the defaults
// named below. Options must not change while in use.
type Options struct {
	// Targets are the fields whose directives replace Cache-Control and Expires for this
	// cache; the first valid one on the list counts (RFC 9213, or the rules of
	// SurrogateControl). Default CDN-Cache-Control.
	Targets []string
	// Strip are fields for caches only, in lower case, that are not sent to clients. Default
	// none.
	Strip []string

	// Heuristic is the freshness of a response without explicit freshness, in percent of the
	// time since Last-Modified; 0 disables it. Default 10.
	Heuristic int64
	// HeuristicMax bounds it, in seconds. Default 86400.
	HeuristicMax int64

	// DefaultTTL is the freshness in seconds of a response without any freshness of its own
	// whose status is cacheable by default. Default 0: not fresh.
	DefaultTTL int64
	// StaleWhileRevalidate and StaleIfError apply to responses without these directives, in
	// seconds. Default 0.
	StaleWhileRevalidate, StaleIfError int64
	// StaleIfDisconnected is the time in seconds after its freshness during which a response
	// may be used if the origin does not answer at all. Default 3600.
	StaleIfDisconnected int64

	// IgnoreRequestDirectives ignores the clients' Cache-Control and Pragma in the use of
	// stored responses, except no-store and only-if-cached. Default false.
	IgnoreRequestDirectives bool
	// PassCookies sends every request with a Cookie to the origin and stores none of the
	// answers. Default false.
	PassCookies bool
	// SetCookie is the treatment of responses with Set-Cookie. Default RefuseCookies.
	SetCookie CookieRule

	// Languages compares Accept-Language without regard to case and order, and accepts a
	// response in the client's preferred language as a match. Default true.
	Languages bool
	// Encodings, if not empty, are the content codings, in lower case, to which
	// Accept-Encoding is reduced before it is compared. The caller must then send
	// [AppendEncodings] to the origin instead of the client's field. Default none: only
	// order and case are normalised.
	Encodings []string

	// Keyed are fields, in lower case, and [ForwardedSite], by which every response is
	// assumed to vary, whatever its Vary. Default none.
	Keyed []string

	// DatelessIfModified answers 304 to any If-Modified-Since if the stored response has no
	// Last-Modified. Clients may then keep outdated content. Default false.
	DatelessIfModified bool
	// LooseParts accepts a 206 whose Content-Range and body differ in length, and completes
	// parts without a strong validator. It can combine bodies of different versions. Default
	// false.
	LooseParts bool
}

// Defaults returns the default options.
func Defaults() Options {
	return Options{
		Targets:             []string{"CDN-Cache-Control"},
		Heuristic:           10,
		HeuristicMax:        86400,
		StaleIfDisconnected: 3600,
		Languages:           true,
	}
}

// Strips reports whether the field of that name is in Strip.
func (o *Options) Strips(name []byte) bool { return ascii.ContainsFold(o.Strip, name) }

// Profile returns the options of that name: "default", or "full-score", with additional
// settings required by the optional tests of the public caching suite, which Defaults omits
// for good reasons.
func Profile(name string) (Options, bool) {
	o := Defaults()
	switch name {
	case "default":
	case "full-score":
		o.DatelessIfModified, o.LooseParts = true, true
	default:
		return Options{}, false
	}
	return o, true
}
