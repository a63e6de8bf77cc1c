package policy

import "github.com/kasoku/kasoku/internal/telemetry"

// Reason says why something was decided. One table, [Reasons], feeds the
// Cache-Status field, the metrics' labels and the manual.
type Reason uint8

// Why a request was answered as it was.
const (
	Fresh Reason = iota
	FreshByOptions
	Followed
	Remembered
	ClientTakesStale
	Refreshing
	StaleError
	StaleDisconnected

	URIMiss
	VaryMiss
	KnownUncacheable
	PartMissing
	Expired
	SoftPurged
	Invalidated
	ResponseNoCache
	RequestNoCache
	RequestMaxAge
	RequestMinFresh
	PreconditionPassed
	NotReading
	CookiePassed
	HeuristicPassed
	OnlyIfCachedMissed
	OriginFailed
	OriginSilent
	NoMemory
	BodyPassed
	UpgradePassed
	Unfollowed
	ProtocolPassed
	NotAllowed
	NoValue
	CredentialsPassed
	NoLocation
	CacheFault
	Refused
	PurgeAsked

	// Why a response was stored or not.
	Stored
	MethodNotStored
	StatusNotStored
	RequestNoStore
	PreconditionNotStored
	CookieNotStored
	HeuristicNotStored
	PartNotStored
	NotUnderstood
	ResponseNoStore
	VaryAll
	ResponsePrivate
	Authorized
	SetsCookie
	NoPermission
	NothingToValidate
	NeverFresh
	Elsewhere
	TooLarge
	Incomplete
	Overtaken
	Unsettled
	Unsound
	VariesBeyondKey
	EncodedUnknown
	NegativeKept
	NowhereToStore
	StoreDown
	Passed
)

// ReasonInfo is what the outside sees of a reason.
type ReasonInfo struct {
	Reason Reason
	Name   string
	// Status is what follows "kasoku; " in Cache-Status (RFC 9211). Empty for
	// answers of Kasoku's own, which carry no such field.
	Status string
	// Decision is the label in metrics and logs. It is None for reasons that
	// tell what became of the response: these add to the one that tells how the
	// request was answered.
	Decision telemetry.Decision
	// Help is a sentence or two for the operator.
	Help string
}

// Reasons holds every reason at its own index.
var Reasons = []ReasonInfo{
	{Fresh, "fresh", "hit", telemetry.Hit, "A stored response was fresh and answered the request."},
	{FreshByOptions, "fresh-by-default", "hit; detail=default-ttl", telemetry.Hit, "A stored response answered that says nothing of freshness; it is fresh because the configuration has a default for such."},
	{Followed, "followed", "hit; detail=followed", telemetry.Hit, "A stored response answered that the origins would still give: what changes is announced by their feeds (type couchdb)."},
	{Remembered, "negative", "hit; detail=negative", telemetry.HitNegative, "A moment ago the fallback answered 404 or 410, which is remembered for negative_ttl (type memcached). memcached has nothing either."},
	{ClientTakesStale, "max-stale", "hit; detail=max-stale", telemetry.HitStale, "A stored response was past its freshness, but the client's own max-stale allows that."},
	{Refreshing, "stale-while-revalidate", "hit; detail=stale-while-revalidate", telemetry.HitStale, "A stored response past its freshness answered at once, while one request in the background asks the origin whether it is still right."},
	{StaleError, "stale-if-error", "fwd=stale; detail=stale-if-error", telemetry.HitStale, "The origin failed, and stale-if-error allows the stored response. Many of these: look at the origin's errors."},
	{StaleDisconnected, "stale-if-disconnected", "fwd=stale; detail=disconnected", telemetry.HitStale, "The origin gave no answer at all, and the stored response allows to be used then. Many of these: the origin is down or unreachable."},

	{URIMiss, "uri-miss", "fwd=uri-miss", telemetry.Miss, "Nothing is stored for the URI. Many of these with a full cache: give it more memory."},
	{VaryMiss, "vary-miss", "fwd=vary-miss", telemetry.MissVary, "Responses of the URI are stored, but for other values of the fields that its Vary names. Many of these: let the origin vary by less."},
	{KnownUncacheable, "uncacheable", "fwd=uri-miss; detail=uncacheable", telemetry.BypassUncacheable, "The last response of the URI could not be shared, so this request did not wait for another's answer."},
	{PartMissing, "partial", "fwd=partial", telemetry.Partial, "A part of the response is stored, but not all of what was asked for."},
	{Expired, "stale", "fwd=stale", telemetry.MissExpired, "A stored response was past its freshness. Many of these: a longer max-age, or stale-while-revalidate, would save the wait."},
	{SoftPurged, "soft-purged", "fwd=stale; detail=soft-purged", telemetry.MissExpired, "A stored response was made stale by a soft purge."},
	{Invalidated, "invalidated", "fwd=stale; detail=invalidated", telemetry.MissInvalidated, "A stored response may be out of date since a request with an unsafe method (POST, PUT, DELETE, ...) for its URI succeeded, or was purged."},
	{ResponseNoCache, "no-cache", "fwd=stale; detail=no-cache", telemetry.MissExpired, "The stored response says no-cache: the origin is to be asked before every use."},
	{RequestNoCache, "request-no-cache", "fwd=request; detail=no-cache", telemetry.BypassRequest, "The client said no-cache (or Pragma: no-cache, without any Cache-Control), as browsers do for a forced reload."},
	{RequestMaxAge, "request-max-age", "fwd=request; detail=max-age", telemetry.BypassRequest, "The stored response was older than the client's max-age allows. With max-age=0 that is a browser's reload."},
	{RequestMinFresh, "request-min-fresh", "fwd=request; detail=min-fresh", telemetry.BypassRequest, "The stored response would not stay fresh for as long as the client's min-fresh asks."},
	{PreconditionPassed, "precondition", "fwd=request; detail=precondition", telemetry.BypassRequest, "The request has If-Match or If-Unmodified-Since, which only the origin can evaluate."},
	{NotReading, "method", "fwd=method", telemetry.Write, "The method is neither GET nor HEAD: the request goes to the origin as it is."},
	{CookiePassed, "cookie", "fwd=bypass; detail=cookie", telemetry.BypassUncacheable, "The request has a Cookie, and the configuration sends such requests to the origin."},
	{HeuristicPassed, "cookie-heuristic", "fwd=request; detail=cookie-heuristic", telemetry.BypassRequest, "The request has a Cookie, and the stored response doesn't say itself how long it is fresh: the origin was asked whether it is right for this client."},
	{OnlyIfCachedMissed, "only-if-cached", "", telemetry.Local, "The client said only-if-cached and nothing stored could be used: 504, without asking the origin."},
	{OriginFailed, "origin-error", "fwd=miss; detail=origin-error", telemetry.Miss, "The origin answered 500, 502, 503 or 504 and nothing stored may stand in: the client got that answer."},
	{OriginSilent, "origin-silent", "", telemetry.Local, "The origin gave no answer and nothing stored may stand in: 504 if there was something to validate or the time was over, 503 if no connection can be made for the time being or all origins are drained, otherwise 502."},
	{NoMemory, "memory", "", telemetry.Local, "There was no memory for the request beside those in flight, although it waited and slow clients were cut: 503 with Retry-After. Many of these: an attack, or more memory is needed."},
	{BodyPassed, "read-with-body", "fwd=bypass; detail=body", telemetry.Pass, "A GET or HEAD with a body, whose meaning only the origin knows."},
	{UpgradePassed, "upgrade", "fwd=bypass; detail=upgrade", telemetry.Pass, "The client asked for another protocol on the connection, such as WebSocket."},
	{Unfollowed, "unfollowed", "fwd=stale; detail=unfollowed", telemetry.MissExpired, "A response is stored, but an origin's feed has been silent, so that nobody can tell whether it is still good (type couchdb). Many of these: look at the origins, and at what lies between."},
	{ProtocolPassed, "protocol", "fwd=bypass; detail=protocol", telemetry.Pass, "What was asked for is to be asked for each time, by the rules of the origin's protocol (type couchdb)."},
	{NotAllowed, "not-allowed", "fwd=bypass; detail=not-allowed", telemetry.Pass, "Who asks may not read the database, or it is not known whether: the origin answers itself (type couchdb)."},
	{NoValue, "no-value", "fwd=miss", telemetry.Miss, "memcached has nothing under the key, or nothing that can be served, for the reason in detail if there is one (memcached.md); the fallback was asked (type memcached)."},
	{CredentialsPassed, "credentials", "fwd=miss; detail=credentials", telemetry.BypassUncacheable, "memcached has nothing under the key, and the request has credentials that the key does not name: it went to the fallback alone, and its answer is for it alone (type memcached)."},
	{NoLocation, "no-location", "fwd=bypass; detail=no-location", telemetry.Pass, "No location has the request's path; the fallback was asked (type memcached)."},
	{CacheFault, "cache-fault", "fwd=bypass; detail=cache-fault", telemetry.CacheFault, "A fault inside the cache; the request was passed to the origin. Always worth a bug report."},
	{Refused, "refused", "", telemetry.Local, "Kasoku refused the request: it was malformed, came round in a loop, or is not allowed."},
	{PurgeAsked, "purge-method", "", telemetry.Local, "A client dropped the URL with the method PURGE."},

	{Stored, "stored", "stored", telemetry.None, "The response was stored."},
	{MethodNotStored, "not-stored-method", "detail=method", telemetry.None, "Only responses to GET are stored, and some to POST."},
	{StatusNotStored, "not-stored-status", "detail=status", telemetry.None, "The status is not one of a final response of its own: 304, or outside 200 to 599; of type memcached, any but 200."},
	{RequestNoStore, "request-no-store", "detail=request-no-store", telemetry.None, "The client said no-store."},
	{PreconditionNotStored, "not-stored-precondition", "detail=precondition", telemetry.None, "The request had If-Match or If-Unmodified-Since, so that the response may speak of these only."},
	{CookieNotStored, "not-stored-cookie", "detail=cookie", telemetry.None, "The request had a Cookie, and the configuration stores no answers to such."},
	{HeuristicNotStored, "not-stored-heuristic", "detail=cookie-heuristic", telemetry.None, "The request had a Cookie, and the response doesn't say itself how long it is fresh, so that it may depend on the cookie. A max-age would do, or Vary: Cookie with one."},
	{PartNotStored, "not-stored-part", "detail=partial", telemetry.None, "A 206 that is not exactly one range of a whole of known length, or nobody asked for; or a 416."},
	{NotUnderstood, "must-understand", "detail=must-understand", telemetry.None, "The response says must-understand and has a status that Kasoku does not know."},
	{ResponseNoStore, "no-store", "detail=no-store", telemetry.None, "The response says no-store."},
	{VaryAll, "vary-all", "detail=vary-star", telemetry.None, "Vary has a *: no other request can be told to match."},
	{ResponsePrivate, "private", "detail=private", telemetry.None, "The response says private: it is for one user."},
	{Authorized, "authorization", "detail=authorization", telemetry.None, "The request had Authorization, and the response does not say public, must-revalidate or s-maxage."},
	{SetsCookie, "set-cookie", "detail=set-cookie", telemetry.None, "The response sets a cookie, and the configuration (set_cookie) stores no such responses, or only those that say themselves how long they are fresh."},
	{NoPermission, "no-permission", "detail=no-freshness", telemetry.None, "The status is not one that may be cached without being told so, and the response does not tell: a max-age would do."},
	{NothingToValidate, "no-validator", "detail=no-validator", telemetry.None, "The response says no-cache and has neither ETag nor Last-Modified to ask about, so that storing it would gain nothing."},
	{NeverFresh, "never-fresh", "detail=never-fresh", telemetry.None, "The response is never fresh and has neither ETag nor Last-Modified, so that storing it would gain nothing."},
	{Elsewhere, "elsewhere", "detail=content-location", telemetry.None, "The response to a POST is not of the URI itself (200 with explicit freshness and its Content-Location)."},
	{TooLarge, "too-large", "detail=too-large", telemetry.None, "The body is larger than the configuration stores."},
	{Incomplete, "incomplete", "detail=incomplete", telemetry.None, "The body ended before its announced end."},
	{Overtaken, "overtaken", "detail=overtaken", telemetry.None, "A write or a purge came while the response was on its way, so that it may show what was before."},
	{Unsettled, "unsettled", "detail=unsettled", telemetry.None, "A write was under way, or no origin was known to have all that the others have, so that the response may soon be out of date (type couchdb). Many of these: replication lags."},
	{Unsound, "unsound", "detail=unsound", telemetry.None, "The response tells of an error, or is one that the protocol does not let be kept (type couchdb)."},
	{VariesBeyondKey, "varies", "detail=vary", telemetry.None, "Vary names a field that the key does not have, so that the value would be given to others (type memcached)."},
	{EncodedUnknown, "not-stored-encoded", "detail=encoding", telemetry.None, "The response has a content coding that Kasoku can't take off (type memcached)."},
	{NegativeKept, "negative-kept", "detail=negative", telemetry.None, "A 404 or 410, which is not stored in memcached, but remembered for negative_ttl (type memcached)."},
	{NowhereToStore, "store-off", "detail=store-off", telemetry.None, "The location stores nothing in memcached (type memcached, store)."},
	{StoreDown, "store-server-down", "detail=store-server-down", telemetry.None, "The memcached server that has the key is down, so that nothing can be stored there (type memcached, store)."},
	{Passed, "not-stored-passed", "detail=passed", telemetry.None, "The request was passed on without a look at what could be stored."},
}

// Info is the reason's row.
func (r Reason) Info() *ReasonInfo { return &Reasons[r] }

// String gives the reason's name.
func (r Reason) String() string {
	if int(r) < len(Reasons) {
		return Reasons[r].Name
	}
	return "unknown"
}
