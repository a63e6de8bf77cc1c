package memcached

import (
	"time"

	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// object is a value that can be sent. One in package cache is immutable and has all forms.
// One of a call refers to the call's buffers and has only the form to send.
type object struct {
	tag   tag
	plain []byte // decoded; nil if there is only gzip
	gzip  []byte // nil if the value is not stored compressed, or can't be reframed as gzip
	coded bool   // it is stored compressed, so the answer depends on Accept-Encoding
	json  jsonp.Body
	// scanned reports that json is set, by the location's filter.
	scanned bool

	lifetime lifetime
	// born is when the copy in this process was about to be fetched, on the cache's clock.
	born int64
}

// lifetime is how long a value will be kept in memcached, if known.
type lifetime struct {
	known bool
	left  time.Duration // from born on; negative: past its ttl, within its stale time
}

// lifetimeOf returns the lifetime of a value with a time to live in memcached. Without the
// stale time, if values are kept longer than their ttl.
func (l *location) lifetimeOf(ttl time.Duration, known bool) lifetime {
	if !known || ttl < 0 { // or without expiry
		return lifetime{}
	}
	if l.Store != nil {
		ttl -= l.Store.Stale
	}
	return lifetime{true, ttl}
}

// since returns the lifetime after some time has passed.
func (l lifetime) since(d time.Duration) lifetime {
	l.left -= d
	return l
}

// coded reports whether a value can be sent in the coding it is stored in, if necessary
// reframed.
func coded(v *value.Value) bool { return v.Coding == value.Gzip || v.Coding == value.Zlib }

// form makes the form of a value for one client: gzip if it is stored compressed and gzip is
// accepted, else plain. It may use scratch, which is returned.
func (o *object) form(v *value.Value, stored, scratch []byte, gzip bool, limit int64) ([]byte, Reason) {
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
	b, err := v.AppendPlain(scratch[:0], limit)
	if err != nil {
		return scratch, valueReasons[value.ReasonOf(err)]
	}
	o.plain = b
	return b, FromMemcached
}

// forms makes all forms for a copy in this process, in memory of their own.
func (o *object) forms(v *value.Value, stored []byte, limit int64) Reason {
	*o = object{tag: tagOf(stored), coded: coded(v)}
	b, err := v.AppendPlain(nil, limit)
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

// weight returns the memory of its forms, with an estimate for the entry.
func (o *object) weight() int64 { return int64(len(o.plain)+len(o.gzip)) + 256 }
