package memcached

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/memcached/client"
	"github.com/kasoku/kasoku/internal/memcached/value"
)

// Outcome is the outcome of storing an answer in memcached.
type Outcome uint8

// The outcomes.
const (
	Kept Outcome = iota
	AlreadyThere
	Overtaken
	Vanished
	Oversized
	Cut
	Undecodable
	Misread
	ServerFailed
)

// OutcomeInfo describes an outcome to users.
type OutcomeInfo struct {
	Outcome    Outcome
	Name, Help string
}

// Outcomes holds every outcome at its own index.
var Outcomes = []OutcomeInfo{
	{Kept, "stored", "It was stored."},
	{AlreadyThere, "already-there", "Another client has stored a value meanwhile, which is kept (mode: add)."},
	{Overtaken, "overtaken", "The value to be renewed was changed meanwhile; the newer one is kept."},
	{Vanished, "vanished", "The value to be renewed no longer exists."},
	{Oversized, "too-large", "It is longer than max_size, or too long for the server."},
	{Cut, "incomplete", "Its body was cut short, or was too long to be held."},
	{Undecodable, "undecodable", "It can't be decoded by its Content-Encoding, or is too long when decoded."},
	{Misread, "misread", "Readers would misread it by its first bytes (values: bytes reads everything as it is)."},
	{ServerFailed, "server-failed", "The server was down, did not answer in time or refused it."},
}

// String returns the outcome's name.
func (o Outcome) String() string { return Outcomes[o].Name }

// storeOutcomes are the outcomes for the results of a store.
var storeOutcomes = [...]Outcome{
	client.Stored: Kept, client.NotStored: AlreadyThere, client.Exists: Overtaken, client.NotFound: Vanished,
	client.TooLarge: Oversized, client.StoreDown: ServerFailed, client.StoreTimeout: ServerFailed,
	client.StoreGarbled: ServerFailed, client.StoreRefused: ServerFailed, client.StoreBadKey: ServerFailed, client.Unsupported: ServerFailed,
}

// finish stores an answer after all waiting requests have received it. The flight ends when
// it returns.
func (f *filling) finish(b *store.Body, coding value.Coding) {
	o := f.keep(b, coding)
	f.svc.metrics.stores[o].Inc()
	f.renewal.end(o == Kept || o == Overtaken || o == Vanished)
}

// keep stores a body, and keeps a copy in this process if there is a near_ttl.
func (f *filling) keep(b *store.Body, coding value.Coding) Outcome {
	if b == nil {
		return Cut
	}
	defer runtime.KeepAlive(b)
	plain, why := f.plain(b, coding)
	if why != Kept {
		return why
	}
	flags := f.set.cfg.Values.Flags()
	v, unfit := f.set.cfg.Values.Inspect(flags, plain)
	if unfit != value.OK || v.Coding != value.Identity || !bytes.Equal(v.Body, plain) {
		return Misread
	}
	born := f.svc.space.Cache().Now()
	x := client.NewCall()
	defer x.Release()
	mode, cas := f.mode()
	o := storeOutcomes[f.set.client.Store(x, f.server, f.wire, plain, flags, f.ttl(), mode, cas)]
	if o == Kept && f.loc.NearTTL > 0 {
		f.keepNear(&v, born)
	}
	return o
}

// plain returns a body without its coding.
func (f *filling) plain(b *store.Body, coding value.Coding) ([]byte, Outcome) {
	limit := f.loc.Store.MaxSize
	if b.Len() > limit {
		return nil, Oversized
	}
	text, ok := b.Bytes()
	if !ok {
		var all bytes.Buffer
		if b.WriteRange(&all, 0, b.Len()) != nil {
			return nil, Cut
		}
		text = all.Bytes()
	}
	if coding == value.Identity {
		return text, Kept
	}
	v := value.Value{Body: text, Coding: coding, Length: -1}
	plain, err := v.AppendPlain(nil, limit)
	switch {
	case errors.Is(err, value.ErrTooLarge):
		return nil, Oversized
	case err != nil:
		return nil, Undecodable
	}
	return plain, Kept
}

// mode returns the condition for storing the value.
func (f *filling) mode() (client.Mode, uint64) {
	switch {
	case f.renewal != nil && f.renewal.cas != 0:
		return client.CAS, f.renewal.cas
	case f.renewal != nil, f.loc.Store.Replace:
		return client.Set, 0
	}
	return client.Add, 0
}

// ttl returns the expiry of the stored value. Only servers that report the time to live,
// with which readers renew a value in time, keep it beyond its ttl.
func (f *filling) ttl() time.Duration {
	ttl := f.loc.Store.TTL
	if f.set.client.Meta(f.server) {
		ttl += f.loc.Store.Stale
	}
	return ttl
}

// keepNear keeps a copy of a stored value.
func (f *filling) keepNear(v *value.Value, born int64) {
	o := new(object)
	if o.forms(v, v.Body, math.MaxInt64) != FromMemcached {
		return
	}
	o.born, o.lifetime = born, lifetime{true, f.loc.Store.TTL}
	n := f.loc.filling(o, time.Duration(f.svc.space.Cache().Now()-born))
	if !n.NoStore {
		f.svc.space.Store(f.stamp, f.loc.appendNear(nil, f.wire), &n)
	}
}
