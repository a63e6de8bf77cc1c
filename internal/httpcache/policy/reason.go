package policy

import "github.com/kasoku/kasoku/internal/telemetry"

// Reason is the reason for a decision. One table, [Reasons], is the source of the
// Cache-Status field, the metrics' labels and the manual.
type Reason uint8

// The reasons for the answer to a request.
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
	Isolated
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
	IsolatedWrite
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

	// The reasons for storing a response or not.
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

// ReasonInfo is the documentation of a reason.
type ReasonInfo struct {
	Reason Reason
	Name   string
	// Status follows "kasoku; " in Cache-Status (RFC 9211). It is empty for Kasoku's own
	// answers, which have no such field.
	Status string
	// Decision is the label in metrics and logs. It is None for the reasons about storing,
	// which are reported in addition to the reason for the answer.
	Decision telemetry.Decision
	// Help is an explanation for the operator, in a sentence or two.
	Help string
}

// Reasons holds every reason at its own index.
var Reasons = []ReasonInfo{
	{Fresh, "fresh", "hit", telemetry.Hit, "A stored response was fresh and answered the request."},
	{FreshByOptions, "fresh-by-default", "hit; detail=default-ttl", telemetry.Hit, "A stored response without freshness of its own answered; the configuration has a default for it."},
	{Followed, "followed", "hit; detail=followed", telemetry.Hit, "A stored response answered that is still current: the origins' feeds announce every change (type couchdb)."},
	{Remembered, "negative", "hit; detail=negative", telemetry.HitNegative, "A moment ago the fallback answered 404 or 410, which is remembered for negative_ttl (type memcached). memcached has nothing either."},
	{ClientTakesStale, "max-stale", "hit; detail=max-stale", telemetry.HitStale, "A stored response was past its freshness, but the client's own max-stale allows that."},
	{Refreshing, "stale-while-revalidate", "hit; detail=stale-while-revalidate", telemetry.HitStale, "A stale stored response answered at once, while one request in the background validates it at the origin."},
	{StaleError, "stale-if-error", "fwd=stale; detail=stale-if-error", telemetry.HitStale, "The origin failed, and stale-if-error allows the stored response. Many of these: look at the origin's errors."},
	{StaleDisconnected, "stale-if-disconnected", "fwd=stale; detail=disconnected", telemetry.HitStale, "The origin gave no answer at all, and the stored response allows to be used then. Many of these: the origin is down or unreachable."},

	{URIMiss, "uri-miss", "fwd=uri-miss", telemetry.Miss, "Nothing is stored for the URI. Many of these with a full cache: give it more memory."},
	{VaryMiss, "vary-miss", "fwd=vary-miss", telemetry.MissVary, "Responses of the URI are stored, but with other values of the fields that its Vary names. Many of these: let the origin vary by less."},
	{KnownUncacheable, "uncacheable", "fwd=uri-miss; detail=uncacheable", telemetry.BypassUncacheable, "The last response of the URI could not be shared, so this request did not wait for another's answer."},
	{PartMissing, "partial", "fwd=partial", telemetry.Partial, "A part of the response is stored, but not all of the requested range."},
	{Expired, "stale", "fwd=stale", telemetry.MissExpired, "A stored response was past its freshness. Many of these: a longer max-age, or stale-while-revalidate, would save the wait."},
	{SoftPurged, "soft-purged", "fwd=stale; detail=soft-purged", telemetry.MissExpired, "A stored response was made stale by a soft purge."},
	{Invalidated, "invalidated", "fwd=stale; detail=invalidated", telemetry.MissInvalidated, "A stored response may be out of date since a request with an unsafe method (POST, PUT, DELETE, ...) for its URI succeeded, or was purged."},
	{Isolated, "isolated", "fwd=miss; detail=isolated", telemetry.MissIsolated, "The node is not in contact with its cluster, so that nothing stored may be served. Writes get 503 with Retry-After. Look at the state of the cluster."},
	{ResponseNoCache, "no-cache", "fwd=stale; detail=no-cache", telemetry.MissExpired, "The stored response has no-cache: it must be validated at the origin before every use."},
	{RequestNoCache, "request-no-cache", "fwd=request; detail=no-cache", telemetry.BypassRequest, "The request has no-cache (or Pragma: no-cache, without any Cache-Control), as browsers do for a forced reload."},
	{RequestMaxAge, "request-max-age", "fwd=request; detail=max-age", telemetry.BypassRequest, "The stored response was older than the client's max-age allows. With max-age=0 that is a browser's reload."},
	{RequestMinFresh, "request-min-fresh", "fwd=request; detail=min-fresh", telemetry.BypassRequest, "The stored response is not fresh for as long as the client's min-fresh requires."},
	{PreconditionPassed, "precondition", "fwd=request; detail=precondition", telemetry.BypassRequest, "The request has If-Match or If-Unmodified-Since, which only the origin can evaluate."},
	{NotReading, "method", "fwd=method", telemetry.Write, "The method is not GET or HEAD: the request is forwarded to the origin unchanged."},
	{CookiePassed, "cookie", "fwd=bypass; detail=cookie", telemetry.BypassUncacheable, "The request has a Cookie, and the configuration sends such requests to the origin."},
	{HeuristicPassed, "cookie-heuristic", "fwd=request; detail=cookie-heuristic", telemetry.BypassRequest, "The request has a Cookie, and the stored response has no explicit freshness: it was validated at the origin for this client."},
	{OnlyIfCachedMissed, "only-if-cached", "", telemetry.Local, "The request has only-if-cached and no stored response could be used: 504, without a request to the origin."},
	{OriginFailed, "origin-error", "fwd=miss; detail=origin-error", telemetry.Miss, "The origin answered 500, 502, 503 or 504 and no stored response may replace it: the client received that answer."},
	{OriginSilent, "origin-silent", "", telemetry.Local, "The origin did not answer and no stored response may replace it: 504 if there was a response to validate or after a timeout, 503 if no connection can be made at present or all origins are drained, otherwise 502."},
	{NoMemory, "memory", "", telemetry.Local, "There was no memory for the request beside those in flight, although it waited and slow clients were cut: 503 with Retry-After. Many of these: an attack, or more memory is needed."},
	{IsolatedWrite, "isolated-write", "", telemetry.Local, "The node is not in contact with its cluster: 503 with Retry-After if the request was not sent, or 504 if the origin has executed it and other nodes may not have heard of it."},
	{BodyPassed, "read-with-body", "fwd=bypass; detail=body", telemetry.Pass, "A GET or HEAD with a body, whose meaning is defined by the origin alone."},
	{UpgradePassed, "upgrade", "fwd=bypass; detail=upgrade", telemetry.Pass, "The client asked for another protocol on the connection, such as WebSocket."},
	{Unfollowed, "unfollowed", "fwd=stale; detail=unfollowed", telemetry.MissExpired, "A response is stored, but an origin's feed has been silent, so that it may be outdated (type couchdb). Many of these: check the origins and the network in between."},
	{ProtocolPassed, "protocol", "fwd=bypass; detail=protocol", telemetry.Pass, "The origin's protocol requires a request to the origin each time (type couchdb)."},
	{NotAllowed, "not-allowed", "fwd=bypass; detail=not-allowed", telemetry.Pass, "The user may not read the database, or this is unknown: the origin answers itself (type couchdb)."},
	{NoValue, "no-value", "fwd=miss", telemetry.Miss, "memcached has nothing under the key, or nothing that can be served, for the reason in detail if there is one (memcached.md); the request was sent to the fallback (type memcached)."},
	{CredentialsPassed, "credentials", "fwd=miss; detail=credentials", telemetry.BypassUncacheable, "memcached has nothing under the key, and the request has credentials that the key does not contain: it was sent to the fallback alone, and the answer is for this request only (type memcached)."},
	{NoLocation, "no-location", "fwd=bypass; detail=no-location", telemetry.Pass, "No location has the request's path; the request was sent to the fallback (type memcached)."},
	{CacheFault, "cache-fault", "fwd=bypass; detail=cache-fault", telemetry.CacheFault, "A fault inside the cache; the request was passed to the origin. Always worth a bug report."},
	{Refused, "refused", "", telemetry.Local, "Kasoku refused the request: it was malformed, looped, or is not allowed."},
	{PurgeAsked, "purge-method", "", telemetry.Local, "A client dropped the URL with the method PURGE."},

	{Stored, "stored", "stored", telemetry.None, "The response was stored."},
	{MethodNotStored, "not-stored-method", "detail=method", telemetry.None, "Only responses to GET are stored, and some to POST."},
	{StatusNotStored, "not-stored-status", "detail=status", telemetry.None, "The status is not one of a final response of its own: 304, or outside 200 to 599; of type memcached, any but 200."},
	{RequestNoStore, "request-no-store", "detail=request-no-store", telemetry.None, "The request has no-store."},
	{PreconditionNotStored, "not-stored-precondition", "detail=precondition", telemetry.None, "The request had If-Match or If-Unmodified-Since, so that the response may depend on them."},
	{CookieNotStored, "not-stored-cookie", "detail=cookie", telemetry.None, "The request had a Cookie, and the configuration stores no answers to such requests."},
	{HeuristicNotStored, "not-stored-heuristic", "detail=cookie-heuristic", telemetry.None, "The request had a Cookie, and the response has no explicit freshness, so that it may depend on the cookie. Add a max-age, or Vary: Cookie with one."},
	{PartNotStored, "not-stored-part", "detail=partial", telemetry.None, "A 206 that is not exactly one range of a whole of known length, or an unrequested one; or a 416."},
	{NotUnderstood, "must-understand", "detail=must-understand", telemetry.None, "The response has must-understand and a status that Kasoku does not implement."},
	{ResponseNoStore, "no-store", "detail=no-store", telemetry.None, "The response has no-store."},
	{VaryAll, "vary-all", "detail=vary-star", telemetry.None, "Vary has a *: no other request matches."},
	{ResponsePrivate, "private", "detail=private", telemetry.None, "The response has private: it is for one user."},
	{Authorized, "authorization", "detail=authorization", telemetry.None, "The request had Authorization, and the response does not have public, must-revalidate or s-maxage."},
	{SetsCookie, "set-cookie", "detail=set-cookie", telemetry.None, "The response sets a cookie, and the configuration (set_cookie) stores no such responses, or only those with explicit freshness."},
	{NoPermission, "no-permission", "detail=no-freshness", telemetry.None, "The status is not cacheable by default, and the response has no explicit freshness. Add a max-age."},
	{NothingToValidate, "no-validator", "detail=no-validator", telemetry.None, "The response has no-cache but no ETag or Last-Modified for validation, so that storing it has no benefit."},
	{NeverFresh, "never-fresh", "detail=never-fresh", telemetry.None, "The response is never fresh and has no ETag or Last-Modified, so that storing it has no benefit."},
	{Elsewhere, "elsewhere", "detail=content-location", telemetry.None, "The response to a POST is not of the URI itself (200 with explicit freshness and its Content-Location)."},
	{TooLarge, "too-large", "detail=too-large", telemetry.None, "The body is larger than the configuration stores."},
	{Incomplete, "incomplete", "detail=incomplete", telemetry.None, "The body ended before its announced end."},
	{Overtaken, "overtaken", "detail=overtaken", telemetry.None, "A write or a purge happened while the response was in transit, so that it may be outdated."},
	{Unsettled, "unsettled", "detail=unsettled", telemetry.None, "A write was under way, or no origin was known to have all that the others have, so that the response may soon be out of date (type couchdb). Many of these: replication lags."},
	{Unsound, "unsound", "detail=unsound", telemetry.None, "The response is an error, or the protocol does not allow storing it (type couchdb)."},
	{VariesBeyondKey, "varies", "detail=vary", telemetry.None, "Vary names a field that the key does not have, so that the value would be given to others (type memcached)."},
	{EncodedUnknown, "not-stored-encoded", "detail=encoding", telemetry.None, "The response has a content coding that Kasoku can't decode (type memcached)."},
	{NegativeKept, "negative-kept", "detail=negative", telemetry.None, "A 404 or 410, which is not stored in memcached, but remembered for negative_ttl (type memcached)."},
	{NowhereToStore, "store-off", "detail=store-off", telemetry.None, "The location stores nothing in memcached (type memcached, store)."},
	{StoreDown, "store-server-down", "detail=store-server-down", telemetry.None, "The memcached server that has the key is down, so that nothing can be stored there (type memcached, store)."},
	{Passed, "not-stored-passed", "detail=passed", telemetry.None, "The request was forwarded without considering stored responses."},
}

// Info returns the reason's row of Reasons.
func (r Reason) Info() *ReasonInfo { return &Reasons[r] }

// String returns the reason's name.
func (r Reason) String() string {
	if int(r) < len(Reasons) {
		return Reasons[r].Name
	}
	return "unknown"
}
