package telemetry

// Decision is the way in which an exchange was answered. One table, [Decisions], is the
// source of the Cache-Status field, the metrics' labels, the access log and the manual.
type Decision uint8

// The decisions, in the order of [Decisions].
const (
	None              Decision = iota // not set
	Hit                               // served from memory, fresh
	HitNegative                       // the cached result that nothing exists
	HitStale                          // stale; the origin fails or a refresh is running
	Miss                              // nothing cached; filled
	MissExpired                       // an expired entry
	MissInvalidated                   // an entry invalidated by a write
	MissIsolated                      // nothing stored may be served, since the node has no lease of its cluster
	MissVary                          // entries only for other values of the varying fields
	Revalidated                       // a stale entry that the origin confirmed
	Coalesced                         // waited for another request's fill
	Partial                           // batch: some keys from the cache, the rest fetched
	BypassConsistent                  // strongly consistent read from the origin
	BypassRequest                     // the client's own directives required the origin
	BypassUncacheable                 // valid request that the cache does not answer
	BypassLagging                     // the table's stream is not read in time
	Write                             // write-through
	Pass                              // forwarded as is
	Local                             // answered by Kasoku itself
	CacheFault                        // internal fault of the cache; passed through
)

// DecisionInfo is the documentation of a decision.
type DecisionInfo struct {
	Decision Decision
	Name     string // value in the access log and label of the metrics
	Status   string // follows "kasoku; " in Cache-Status; without one there is no such field
	Help     string // a sentence for the operator
}

// Decisions holds every decision at its own index.
var Decisions = []DecisionInfo{
	{None, "none", "", "No service has looked at the request: it was refused while its head or body was read."},
	{Hit, "hit", "hit", "Served from memory, fresh, or from memcached by a service of that type, without a request to the origin."},
	{HitNegative, "hit-negative", "hit; detail=negative", "Served from memory: the item does not exist, which is cached for negative_ttl."},
	{HitStale, "hit-stale", "hit; detail=stale", "Served from memory past its freshness, because a refresh is running or the origin fails. Many of these: look at the breaker and the origin's errors."},
	{Miss, "miss", "fwd=miss", "Nothing was cached; the request was sent to the origin. Many of these with a full cache: give it more memory."},
	{MissExpired, "miss-expired", "fwd=stale", "An entry was there, but its time was over. Many of these: a longer TTL, or refresh_ahead, would save them."},
	{MissInvalidated, "miss-invalidated", "fwd=miss; detail=invalidated", "A cached entry was invalidated by a write. Normal for data that is written often; for queries it shows how many of them a write affects."},
	{MissIsolated, "miss-isolated", "fwd=miss; detail=isolated", "This node is not in contact with its cluster and may serve nothing that it has stored; the request was sent to the origin. Look at the state of the cluster."},
	{MissVary, "miss-vary", "fwd=vary-miss", "Responses were stored, but only for other values of the fields in Vary. Many of these: let the origin name fewer fields in Vary."},
	{Revalidated, "revalidated", "fwd=stale; fwd-status=304", "A stored response was past its freshness, and the origin confirmed it without sending it again. Many of these: a longer max-age would avoid these requests."},
	{Coalesced, "coalesced", "fwd=miss; collapsed", "Waited for the fill of another request for the same thing: one read at the origin served both."},
	{Partial, "partial", "fwd=partial", "A batch of which some keys were served from memory and only the rest was fetched."},
	{BypassConsistent, "bypass-consistent", "fwd=request; detail=consistent-read", "The client requested a strongly consistent read, which was sent to the origin. Many of these: the client may not need them."},
	{BypassRequest, "bypass-request", "fwd=request", "The client's own directives (no-cache, max-age, min-fresh) or preconditions required the origin. Many of these from programs: they may not need them."},
	{BypassUncacheable, "bypass-uncacheable", "fwd=bypass", "A valid read that the cache does not answer, for example a transaction or an unsupported form; forwarded."},
	{BypassLagging, "bypass-lagging", "fwd=bypass; detail=lagging", "The table's stream could not be read within streams_max_lag, so that writes past Kasoku may be missing in memory; forwarded. Look at the lag of its stream."},
	{Write, "write", "fwd=method", "A write: given to the origin first, then applied to the cache."},
	{Pass, "pass", "fwd=bypass; detail=pass", "Forwarded unchanged: table operations and operations that Kasoku does not implement."},
	{Local, "local", "detail=local", "Answered by Kasoku itself: a health check, a failed signature, a malformed request, a limit."},
	{CacheFault, "cache-fault", "fwd=bypass; detail=cache-fault", "A fault inside the cache; the request was passed through to the origin. Always worth a bug report."},
}

// String returns the decision's name, as in the access log.
func (d Decision) String() string {
	if int(d) < len(Decisions) {
		return Decisions[d].Name
	}
	return "unknown"
}

// CacheStatus returns the parameters that follow "kasoku; " in the Cache-Status field, or ""
// if there are none.
func (d Decision) CacheStatus() string {
	if int(d) < len(Decisions) {
		return Decisions[d].Status
	}
	return ""
}
