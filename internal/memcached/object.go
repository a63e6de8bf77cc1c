package memcached

import (
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// object is a value that can be sent. One in package cache is immutable and has all its
// forms; one of a call refers to what the call has got, and has the form that is to be
// sent.
type object struct {
	tag   tag
	plain []byte // without a coding; nil if only gzip is there
	gzip  []byte // nil if the value is not stored compressed, or not in a way that gzip can be made of
	coded bool   // it is stored compressed: what is sent depends on what the client accepts
	json  jsonp.Body
	// scanned says that json is known, by the location's filter.
	scanned bool

	lifetime lifetime
	// Of a copy in this process, on the cache's clock: born is when memcached was about to
	// be asked for it.
	born int64
}

// lifetime is what is known of how long a value will be there.
type lifetime struct {
	known bool
	left  time.Duration // from born on; negative: past its ttl, within its stale time
}

// lifetimeOf is the life of what has so long to live in memcached. Of values that are kept
// longer to be served stale, only their ttl counts.
func (l *location) lifetimeOf(ttl time.Duration, known bool) lifetime {
	if !known || ttl < 0 { // or for ever
		return lifetime{}
	}
	if l.Store != nil {
		ttl -= l.Store.Stale
	}
	return lifetime{true, ttl}
}

// since is what is left of a life after some time.
func (l lifetime) since(d time.Duration) lifetime {
	l.left -= d
	return l
}

// coded tells whether a value can be sent as it is stored, with a coding of HTTP's, or
// nearly so.
func coded(v *value.Value) bool { return v.Coding == value.Gzip || v.Coding == value.Zlib }

// form makes of a value what one client is sent: gzip if it is stored compressed and
// wanted so, else what is plain. It may lie in scratch, which is returned.
func (o *object) form(v *value.Value, stored, scratch []byte, gzip bool, most int64) ([]byte, Reason) {
	*o = object{tag: tagOf(stored), coded: coded(v)}
	if v.Coding == value.Identity {
		o.plain = v.Body
		return scratch, FromMemcached
	}
	if gzip && v.Coding == value.Gzip {
		o.gzip = v.Body
		return scratch, FromMemcached
	}
	if gzip && o.coded {
		if b, ok := v.AppendGzip(scratch[:0]); ok {
			o.gzip = b
			return b, FromMemcached
		}
	}
	b, err := v.AppendPlain(scratch[:0], most)
	if err != nil {
		return scratch, valueReasons[value.ReasonOf(err)]
	}
	o.plain = b
	return b, FromMemcached
}

// forms is form for a copy in this process: it makes all forms, in memory of their own.
func (o *object) forms(v *value.Value, stored []byte, most int64) Reason {
	*o = object{tag: tagOf(stored), coded: coded(v)}
	b, err := v.AppendPlain(nil, most)
	if err != nil {
		return valueReasons[value.ReasonOf(err)]
	}
	if o.plain = b; b == nil {
		o.plain = []byte{}
	}
	if gz, ok := v.AppendGzip(nil); ok {
		o.gzip = gz
	}
	return FromMemcached
}

// weight is what it takes of memory beside itself.
func (o *object) weight() int64 { return int64(len(o.plain)+len(o.gzip)) + 256 }
