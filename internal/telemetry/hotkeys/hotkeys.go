// Package hotkeys finds the keys of each table that have the most requests, misses, bytes and
// invalidations, and keeps the throttled requests of origins by key. A sink counts each record that
// has a key and passes it on.
//
// The most frequent keys are found by Space-Saving: each table has a fixed number of counters, and a
// key without one replaces the key with the lowest count, from which it continues. So a count is at
// most that count too high, which is below the table's sum divided by the number of counters. Memory
// is bounded: at most 2 MiB for a table whose keys are long, 400 KiB with keys of 32 bytes, and at
// most maxTables tables.
//
// Requests that waited for the origin are all counted. Of hits, the first exactHits in each window
// are counted; of the others one in sampling is, with the weight sampling, so that counting costs a
// small part of a hit. An estimate has the largest deviation of both:
//
//	keys := hotkeys.New()
//	keys.Configure([]string{"orders"})
//	sink = keys.Tap(sink)
//	...
//	for _, t := range keys.Figures(hotkeys.Recent) {
//		...
//	}
package hotkeys

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

const (
	// maxTables is the maximum number of tables with keys of their own. Keys of further ones are
	// counted for the table "other" of their service, like requests that fail for an unknown table.
	maxTables = 64
	// window is the time after which the counters of the recent keys are replaced. The figures of
	// the last window are kept as well.
	window = 5 * time.Minute
	// exactHits is the number of hits in each window that are all counted.
	exactHits = 1 << 16
	// sampling is the number of hits of which one is counted after that. It is a power of two.
	sampling = 16
)

// Other is the name of the table that has the keys of tables without counters of their own.
const Other = "other"

// Keys has the keys of all tables. Configure must be called before records are counted. The methods
// that count do nothing for a nil *Keys.
type Keys struct {
	start  time.Time
	exact  atomic.Int64 // hits that are still counted without sampling
	epoch  atomic.Int64 // number of the window for which exact was set
	tables atomic.Pointer[map[tableName]*table]

	mu       sync.Mutex // held while tables is replaced
	services map[string]bool

	throttles throttles
}

// tableName identifies a table.
type tableName struct{ service, table string }

// New returns keys of which none has been counted.
func New() *Keys {
	k := &Keys{start: time.Now()}
	k.exact.Store(exactHits)
	k.tables.Store(&map[tableName]*table{})
	return k
}

// Configure sets the services whose keys are counted. The keys of others are dropped.
func (k *Keys) Configure(services []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.services = map[string]bool{}
	for _, s := range services {
		k.services[s] = true
	}
	next := map[tableName]*table{}
	for name, t := range *k.tables.Load() {
		if k.services[name.service] {
			next[name] = t
		}
	}
	k.tables.Store(&next)
	k.throttles.retain(k.services)
}

// Tap returns a sink that counts records and passes them on to next.
func (k *Keys) Tap(next telemetry.Sink) telemetry.Sink { return &tap{next, k} }

type tap struct {
	telemetry.Sink
	keys *Keys
}

// Log counts r and passes it on.
func (t *tap) Log(r *telemetry.Record) {
	t.keys.Count(r)
	t.Sink.Log(r)
}

// Count counts a request for the key of r. A record without a hash of a key is not counted. It uses
// the service, the table, the key, the decision, the status and the bytes of the answer.
func (k *Keys) Count(r *telemetry.Record) {
	if r.KeyHash == 0 {
		return
	}
	weight := k.Weight(r.Decision)
	if weight == 0 {
		return
	}
	u := use{hash: r.KeyHash, key: r.Key, bytes: uint64(max(0, r.BytesOut)), weight: weight, request: true}
	if u.key == nil {
		u.key = r.Path
	}
	u.decided(r.Decision)
	now := k.renew()
	t := (*k.tables.Load())[tableName{r.Service, string(r.Table)}] // without an allocation
	if t == nil {
		t = k.table(tableName{r.Service, string(r.Table)}, r.Status >= 200 && r.Status < 300)
	}
	if t != nil {
		t.count(now, &u)
	}
}

// CountOne counts one of several keys of a successful request. weight is the result of Weight, above 0.
func (k *Keys) CountOne(service, name string, hash uint64, key []byte, d telemetry.Decision, size int, weight uint64) {
	u := use{hash: hash, key: key, bytes: uint64(size), weight: weight, request: true}
	u.decided(d)
	now := k.renew()
	if t := k.table(tableName{service, name}, true); t != nil {
		t.count(now, &u)
	}
}

// Invalidated counts an invalidation of a key by something else than a request, for example by a
// record of a stream.
func (k *Keys) Invalidated(service, name string, hash uint64, key []byte) {
	if k == nil {
		return
	}
	if t := k.table(tableName{service, name}, true); t != nil {
		t.count(k.now(), &use{hash: hash, key: key, weight: 1, invalidates: true})
	}
}

// Weight returns the number of requests for which one with this decision is counted; 0: it is
// not.
func (k *Keys) Weight(d telemetry.Decision) uint64 {
	if k == nil {
		return 0
	}
	switch d {
	case telemetry.Hit, telemetry.HitNegative, telemetry.HitStale:
		if k.exact.Load() > 0 && k.exact.Add(-1) >= 0 {
			return 1
		}
		if rand.Uint32()%sampling == 0 {
			return sampling
		}
		return 0
	}
	return 1
}

// renew returns the number of the current window. When that is a new one, hits are counted without
// sampling again.
func (k *Keys) renew() int64 {
	now := k.now()
	if last := k.epoch.Load(); now != last && k.epoch.CompareAndSwap(last, now) {
		k.exact.Store(exactHits)
	}
	return now
}

// now returns the number of the current window.
func (k *Keys) now() int64 { return int64(time.Since(k.start) / window) }

// table returns the counters of a table, nil if its service is not counted. A name that no request
// has succeeded for has none of its own: names that clients make up do not use up the places.
func (k *Keys) table(name tableName, exists bool) *table {
	if t := (*k.tables.Load())[name]; t != nil {
		return t
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := *k.tables.Load()
	if t := now[name]; t != nil || !k.services[name.service] {
		return t
	}
	own := len(now)
	for n := range now {
		if n.table == Other {
			own--
		}
	}
	if !exists || own >= maxTables {
		name.table = Other
		if t := now[name]; t != nil {
			return t
		}
	}
	next := make(map[tableName]*table, len(now)+1)
	for n, t := range now {
		next[n] = t
	}
	t := &table{}
	next[name] = t
	k.tables.Store(&next)
	return t
}
