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

// Config says where values are, and which requests they answer.
type Config struct {
	// Name is the service's name in the configuration.
	Name string
	// Ring spreads keys over the servers, in the order of Client.Servers. It gets bare keys.
	Ring ring.Config
	// Client is how the servers are reached. Its Name and Metrics are set by the service.
	Client client.Config
	// Rules make keys as they are sent of bare ones.
	Rules key.Rules
	// Values is the writer of the values.
	Values value.Profile
	// Failover asks the next member of the ring for keys of a server that is down, where
	// the distribution knows one.
	Failover bool
	// Fallbacks are who answers misses. Of each, Name, and what RFC 9111 leaves to a
	// cache, are set by the service.
	Fallbacks []httpcache.Config
	// Fallback is which of them answers what has no location; None: nobody.
	Fallback int
	// Locations are the paths that are answered; where several match, the most definite one
	// is taken (key.Path.Before), and of equal ones the first.
	Locations []Location
}

// None says that nobody answers.
const None = -1

// Location is a path and what is answered there.
type Location struct {
	Path, Key string
	// Decode undoes percent-encoding in what the key takes of the request.
	Decode bool
	// ContentType is that of values.
	ContentType string
	// Headers are further fields of answers made of values.
	Headers []Header
	// ETag gives such answers an entity tag, and answers If-None-Match.
	ETag bool
	// CacheControl is the Cache-Control of such answers; empty: none.
	CacheControl string
	// Lifetime makes that a max-age of what is left of the value's life where the server
	// tells it; elsewhere CacheControl counts.
	Lifetime bool
	// JSONP wraps answers for callbacks; nil: none.
	JSONP *jsonp.Filter
	// NearTTL is for how long a value is answered from this process; 0: it is not.
	NearTTL time.Duration
	// Fallback is which of the fallbacks answers misses; None: nobody.
	Fallback int
	// Store keeps the fallback's answers; nil: they are not kept.
	Store *Store
	// NegativeTTL is for how long it is remembered that the fallback had nothing.
	NegativeTTL time.Duration
	// Public says that answers are the same whoever asks.
	Public bool
}

// Header is a field of answers.
type Header struct{ Name, Value string }

// Store says how the fallback's answers are kept in memcached.
type Store struct {
	TTL time.Duration
	// Stale is for how much longer they are kept, and answered while one request of all
	// processes renews them or the fallback fails.
	Stale time.Duration
	// Replace stores over what somebody else has stored meanwhile.
	Replace bool
	// MaxSize is the longest answer that is stored, in bytes.
	MaxSize int64
}

// check finds what can't be, beside what keys, rings and clients say themselves.
func (c *Config) check() error {
	switch {
	case len(c.Client.Servers) == 0:
		return errors.New("there are no servers")
	case len(c.Client.Servers) != len(c.Ring.Servers):
		return fmt.Errorf("the ring has %d servers, and %d are to be asked", len(c.Ring.Servers), len(c.Client.Servers))
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

// credentials are the fields, beside Authorization and Cookie, that say to a fallback who asks.
func (c *Config) credentials(fallback int) []string {
	if fallback == None {
		return nil
	}
	return c.Fallbacks[fallback].Credentials
}

// has tells whether a fallback's number is right.
func (c *Config) has(fallback int) bool { return fallback >= None && fallback < len(c.Fallbacks) }
