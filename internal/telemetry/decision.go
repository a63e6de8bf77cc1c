package telemetry

// Decision says how an exchange was answered. One table, [Decisions], feeds the
// Cache-Status field, the metrics' labels, the access log and the manual.
type Decision uint8

// The decisions, in the order of [Decisions].
const (
	None              Decision = iota // not decided: a record that no service has filled in
	Hit                               // served from memory, fresh
	HitNegative                       // the cached fact that nothing is there
	HitStale                          // past freshness, origin failing or refresh running
	Miss                              // nothing cached; filled
	MissExpired                       // an entry was there but its freshness was over
	MissInvalidated                   // an entry was there but a write had invalidated it
	MissVary                          // entries were there, for other values of what they vary by
	Revalidated                       // an entry past its freshness that the origin said is still right
	Coalesced                         // waited for another request's fill
	Partial                           // batch: some keys from the cache, the rest fetched
	BypassConsistent                  // strongly consistent read: the origin was asked
	BypassRequest                     // the client's own directives asked for the origin
	BypassUncacheable                 // valid request that the cache does not answer
	Write                             // write-through
	Pass                              // forwarded as is
	Local                             // answered by Kasoku itself
	CacheFault                        // internal fault of the cache; passed through
)

// DecisionInfo is what the outside sees of a decision.
type DecisionInfo struct {
	Decision Decision
	Name     string // the access log's "decision" and the metrics' label
	Status   string // what follows "kasoku; " in Cache-Status; empty: no such field
	Help     string // a sentence for the operator
}

// Decisions holds every decision at its own index.
var Decisions = []DecisionInfo{
	{None, "none", "", "No service has looked at the request: it was refused while its head or body was read."},
	{Hit, "hit", "hit", "Served from memory, fresh, or by a service of type memcached from there. The origin was not asked."},
	{HitNegative, "hit-negative", "hit; detail=negative", "Served from memory: the remembered fact that the item does not exist. Bounded by negative_ttl."},
	{HitStale, "hit-stale", "hit; detail=stale", "Served from memory past its freshness, because a refresh is running or the origin fails. Many of these: look at the breaker and the origin's errors."},
	{Miss, "miss", "fwd=miss", "Nothing was cached; the origin was asked. Many of these with a full cache: give it more memory."},
	{MissExpired, "miss-expired", "fwd=stale", "An entry was there, but its time was over. Many of these: a longer TTL, or refresh_ahead, would save them."},
	{MissInvalidated, "miss-invalidated", "fwd=miss; detail=invalidated", "An entry was there, but a write has touched what it depends on. Normal for data that is written often; for queries it tells how wide the writes reach."},
	{MissVary, "miss-vary", "fwd=vary-miss", "Responses were stored, but for other values of the request fields that they vary by. Many of these: let the origin name fewer fields in Vary."},
	{Revalidated, "revalidated", "fwd=stale; fwd-status=304", "A stored response was past its freshness, and the origin confirmed it without sending it again. Many of these: a longer max-age would save the question."},
	{Coalesced, "coalesced", "fwd=miss; collapsed", "Waited for the fill of another request for the same thing: one read at the origin served both."},
	{Partial, "partial", "fwd=partial", "A batch of which some keys came from memory and only the rest was fetched."},
	{BypassConsistent, "bypass-consistent", "fwd=request; detail=consistent-read", "The client asked for a strongly consistent read, so the origin was asked. Many of these: the client may not need them."},
	{BypassRequest, "bypass-request", "fwd=request", "The client's own directives (no-cache, max-age, min-fresh) or preconditions asked for the origin. Many of these from programs: they may not need them."},
	{BypassUncacheable, "bypass-uncacheable", "fwd=bypass", "A valid read that the cache does not answer, such as a transaction or a shape that it does not know; forwarded."},
	{Write, "write", "fwd=method", "A write: given to the origin first, then applied to the cache."},
	{Pass, "pass", "fwd=bypass; detail=pass", "Forwarded as it is: table operations and operations that Kasoku does not know."},
	{Local, "local", "detail=local", "Answered by Kasoku itself: a health check, a failed signature, a malformed request, a limit."},
	{CacheFault, "cache-fault", "fwd=bypass; detail=cache-fault", "A fault inside the cache; the request was passed through to the origin. Always worth a bug report."},
}

// String gives the decision's name, as in the access log.
func (d Decision) String() string {
	if int(d) < len(Decisions) {
		return Decisions[d].Name
	}
	return "unknown"
}

// CacheStatus gives the parameters that follow "kasoku; " in the Cache-Status
// field, or "" where there is nothing to say.
func (d Decision) CacheStatus() string {
	if int(d) < len(Decisions) {
		return Decisions[d].Status
	}
	return ""
}
