package memcached

import (
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/key"
	"github.com/kasoku/kasoku/internal/memcached/ring"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// Config configures the servers with the values, and the requests that are answered from
// them.
type Config struct {
	// Name is the service's name in the configuration.
	Name string
	// Ring distributes bare keys over the servers, in the order of Client.Servers.
	Ring ring.Config
	// Client configures the connections to the servers. The service sets its Name and
	// Metrics.
	Client client.Config
	// Rules make the key to send from a bare key.
	Rules key.Rules
	// Values is the writer of the values.
	Values value.Profile
	// Failover uses the ring's next member for keys of a server that is down, if the
	// distribution supports it.
	Failover bool
	// Fallbacks answer misses. The service sets their Name and the choices that RFC 9111
	// leaves to a cache.
	Fallbacks []httpcache.Config
	// Fallback is the index of the fallback for requests without a location; None: there is
	// none.
	Fallback int
	// Locations are the paths that are answered. If several match, the most specific one is
	// used (key.Path.Before), and of equal ones the first.
	Locations []Location
}

// None means that there is no fallback.
const None = -1

// Location is a path and the way its requests are answered.
type Location struct {
	Path, Key string
	// Decode decodes the percent-encoding of the request's parts in the key.
	Decode bool
	// ContentType is the media type of values.
	ContentType string
	// Headers are further fields of answers made of values.
	Headers []Header
	// ETag adds an entity tag to such answers and evaluates If-None-Match.
	ETag bool
	// CacheControl is the Cache-Control of such answers; empty: none.
	CacheControl string
	// Lifetime replaces it by a max-age of the rest of the value's lifetime, if the server
	// reports that.
	Lifetime bool
	// JSONP wraps answers for callbacks; nil: none.
	JSONP *jsonp.Filter
	// NearTTL is how long a value is answered from a copy in this process; 0: never.
	NearTTL time.Duration
	// Fallback is the index of the fallback that answers misses; None: there is none.
	Fallback int
	// Store stores the fallback's answers; nil: they are not stored.
	Store *Store
	// NegativeTTL is how long it is remembered that the fallback has no such resource.
	NegativeTTL time.Duration
	// Public declares that answers are the same for all clients.
	Public bool
}

// Header is a field of answers.
type Header struct{ Name, Value string }

// Store configures how the fallback's answers are stored in memcached.
type Store struct {
	TTL time.Duration
	// Stale is the time after TTL in which values are kept, and sent while one request of
	// all processes renews them or the fallback fails.
	Stale time.Duration
	// Replace overwrites a value that another client has stored meanwhile.
	Replace bool
	// MaxSize is the maximum length of a stored answer, in bytes.
	MaxSize int64
}

// check returns mistakes that keys, rings and clients do not check.
func (c *Config) check() error {
	switch {
	case len(c.Client.Servers) == 0:
		return errors.New("there are no servers")
	case len(c.Client.Servers) != len(c.Ring.Servers):
		return fmt.Errorf("the ring has %d servers, and the client has %d", len(c.Ring.Servers), len(c.Client.Servers))
	case c.Rules.Check() != key.OK:
		return fmt.Errorf("namespace %q: %s", c.Rules.Namespace, c.Rules.Check())
	case !c.has(c.Fallback):
		return fmt.Errorf("there is no fallback %d", c.Fallback)
	}
	for i := range c.Locations {
		if l := &c.Locations[i]; !c.has(l.Fallback) {
			return fmt.Errorf("location %s: there is no fallback %d", l.Path, l.Fallback)
		}
	}
	return nil
}

// credentials returns the fields, beside Authorization and Cookie, that identify a client to
// a fallback.
func (c *Config) credentials(fallback int) []string {
	if fallback == None {
		return nil
	}
	return c.Fallbacks[fallback].Credentials
}

// has reports whether a fallback's index is valid.
func (c *Config) has(fallback int) bool { return fallback >= None && fallback < len(c.Fallbacks) }
