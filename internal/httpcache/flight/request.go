package flight

import (
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Request describes the answer that a caller wants from a flight.
type Request struct {
	// Query is the HTTP request. Its Key and Fields must not change until the Waiter is left.
	Query *store.Query
	// Seen is the stored object that a look-up found and the caller can't use as it is. If
	// another object is stored by now, no flight is needed.
	Seen *store.Object
	// Part is the requested range with its condition, as received; nil for the whole. A
	// flight for a part is joined only by requests for the same part.
	Part []byte
	// Covered reports whether a stored part has the requested range; nil if none can.
	Covered func(*store.Object) bool
	// Tags are the tags that the answer depends on beside its URL; at most three.
	Tags []cache.Tag
	// Fence, if not nil, was noted before the origin was asked for the answer that Fill brings.
	// Nil: it is noted now. With it, Tags are ignored.
	Fence *store.Fence
	// Since is the earliest start, on the cache's clock, of a flight with Tags that may be
	// joined. If it is above 0, an object that was stored since the look-up is not used, as
	// it is not known when its flight began.
	Since int64
	// Alone starts a flight that others can join only after its answer has turned out to be
	// one that can be shared. It is set for requests that are marked.
	Alone bool
	// RetryOf is a failed flight that this request tries again. All its members share one
	// second attempt, even if it fails before all of them have joined it.
	RetryOf *Flight
	// Arrived is when the request arrived, on the cache's clock: it may join a flight that
	// ended later. 0 means that only a running flight is joined.
	Arrived int64
	// Linger is how long a new flight can be joined after its end, by Arrived.
	Linger time.Duration
	// KeepFailure reports whether a new flight that failed with this error can be joined
	// after its end; nil if none can.
	KeepFailure func(error) bool
	// Fill sends the request of a new flight to the origin.
	Fill FillFunc
}
