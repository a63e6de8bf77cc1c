package memcached

import "net/http"

// backs are the fallbacks.
type backs struct{}

// open gets the fallbacks of a configuration ready, or changes nothing.
func (b *backs) open(*Service, *Config) error { return nil }

// close lets go of them.
func (b *backs) close() {}

// miss answers a GET or HEAD that memcached has nothing for. Of the call, loc and
// callback are set, and wire is the key as it is sent, empty if there is none.
func (c *call) miss(why Reason) {
	c.x.Reply.Field("Cache-Status", "kasoku; fwd=miss; detail="+why.String())
	switch why {
	case ServerDown, ServerTimeout, ServerGarbled, ServerRefused:
		c.refuse(http.StatusServiceUnavailable, why, "memcached could not be asked, and there is no fallback")
	default:
		c.refuse(http.StatusNotFound, why, "memcached has no such value, and there is no fallback")
	}
}

// pass answers what memcached is not asked for. loc is nil if why is NoLocation.
func (c *call) pass(why Reason) {
	if why == NoLocation {
		c.refuse(http.StatusNotFound, why, "there is no location for this path, and no fallback")
		return
	}
	c.x.Reply.Field("Allow", "GET, HEAD")
	c.refuse(http.StatusMethodNotAllowed, why, "memcached is asked with GET and HEAD, and there is no fallback")
}

// refresh renews the value of the call's key in the background: this process has won that. cas is
// the number of the value that is there, 0 if it is not known.
func (c *call) refresh(cas uint64) {}
