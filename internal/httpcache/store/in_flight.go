package store

import (
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/inflight"
)

// BodiesInFlight counts the memory of bodies that are being sent and are not stored, or not
// any more. This memory is taken out of the space, so that stored bodies and bodies in
// flight fit into it together, however slowly clients read.
type BodiesInFlight struct {
	tasks  *tasks
	space  *cache.Space
	limits *atomic.Pointer[Limits]
	budget *inflight.Budget
	bytes  atomic.Int64
	all    atomic.Int64 // bytes, and the memory that flights hold

	mu sync.Mutex // guards Body.resources, and a body's move; a leaf

	pending    atomic.Bool  // an adjust begins that will read the present value of all
	reserved   atomic.Int64 // taken out of the space
	reservedMu sync.Mutex   // held while reserved is changed
}

// inFlightStep is the unit in which memory is taken out of the space, since each change
// takes locks of it.
const inFlightStep = 256 << 10

// Add adds n bytes, which may be negative. Locks of the cache may be held.
func (l *BodiesInFlight) Add(n int64) {
	l.bytes.Add(n)
	l.budget.Add(n)
	l.Reserve(n)
}

// Reserve takes n more bytes out of the space; n may be negative. Another goroutine does so,
// because locks of the cache may be held.
func (l *BodiesInFlight) Reserve(n int64) {
	if targetReserve(l.all.Add(n), l.reserved.Load()) == l.reserved.Load() || !l.pending.CompareAndSwap(false, true) {
		return
	}
	if l.tasks.begin() {
		go l.adjust()
	}
}

// targetReserve returns how much to reserve for so many bytes: at least bytes, and no change
// for movements within a step.
func targetReserve(bytes, taken int64) int64 {
	up := (max(0, bytes) + inFlightStep - 1) / inFlightStep * inFlightStep
	if bytes > taken || up == 0 || up <= taken-2*inFlightStep {
		return up
	}
	return taken
}

// adjust makes reserved follow all. An Add that saw an older value of reserved was counted
// before adjust stores the new one, so that the last read of all includes it.
func (l *BodiesInFlight) adjust() {
	defer l.tasks.wg.Done()
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	l.pending.Store(false)
	for {
		was := l.reserved.Load()
		n := targetReserve(l.all.Load(), was)
		if n == was {
			return
		}
		l.space.ReserveInFlight(n - was)
		l.reserved.Store(n)
	}
}

// Take implements origin.Memory, for answers that are read as a whole before any of it is
// sent.
func (l *BodiesInFlight) Take(n int64) bool {
	if l.Scarce() || !l.budget.Buffer(n) {
		return false
	}
	l.bytes.Add(n)
	l.Reserve(n)
	return true
}

// Release implements origin.Memory.
func (l *BodiesInFlight) Release(n int64) { l.Add(-n) }

// Scarce reports whether more is in flight than Limits.MaxInFlight.
func (l *BodiesInFlight) Scarce() bool { return l.bytes.Load() > l.limits.Load().MaxInFlight }

// Pace returns the bytes per second that a client must read to keep n bytes in flight: 0
// unless memory is scarce, else all of them within DrainSeconds. A client that holds much
// memory must read faster, even if it requested only a small part of it.
func (l *BodiesInFlight) Pace(n int64) int64 {
	if n == 0 || !l.Scarce() {
		return 0
	}
	return n / DrainSeconds
}

// DrainSeconds is the time in which bodies in flight must be read while memory is scarce.
const DrainSeconds = 60

// close returns all memory to the space, after the last flight.
func (l *BodiesInFlight) close() {
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	l.space.ReserveInFlight(-l.reserved.Swap(0))
}

// refs counts the users of a piece of memory: its senders, and the store.
type refs struct {
	all    *BodiesInFlight
	weight int64
	n      atomic.Int64 // senders, and byStore if it is stored
}

const byStore = 1 << 32

func newRefs(l *BodiesInFlight, m *Memory) *refs { return &refs{all: l, weight: m.weight()} }

// Hold counts one more sender, which must call Return. It returns m.
func (m *Memory) Hold() *Memory {
	if m != nil && m.refs != nil && m.refs.n.Add(1) == 1 {
		m.refs.all.Add(m.refs.weight)
	}
	return m
}

// Return ends a sender's use: m is an edge.Loan.
func (m *Memory) Return() {
	if m != nil && m.refs != nil && m.refs.n.Add(-1) == 0 {
		m.refs.all.Add(-m.refs.weight)
	}
}

// Tracked reports whether m's senders are counted, so that each must call Return.
func (m *Memory) Tracked() bool { return m != nil && m.refs != nil }

// Pace implements edge.Loan. It is 0 for stored memory.
func (m *Memory) Pace() int64 {
	if m == nil || m.refs == nil || m.refs.n.Load() >= byStore {
		return 0
	}
	return m.refs.all.Pace(m.refs.weight)
}

// addStore counts the store as a user. BodiesInFlight.mu is held.
func (m *Memory) addStore() {
	if m.refs.n.Add(byStore) > byStore {
		m.refs.all.Add(-m.refs.weight)
	}
}

// removeStore ends the store's use. BodiesInFlight.mu is held.
func (m *Memory) removeStore() {
	if m.refs.n.Add(-byStore) > 0 {
		m.refs.all.Add(m.refs.weight)
	}
}

// Track lets b's senders be counted, if it is long enough, and returns b. It must be called
// before b is shared.
func (s *Store) Track(b *Body) *Body {
	if m := b.mem.Load(); m != nil && m.refs == nil && b.length > MaxCopied {
		m.refs = newRefs(&s.inFlight, m)
	}
	return b
}

// MaxCopied is the length up to which bodies are not tracked: edge copies them into memory
// of the connection.
const MaxCopied = 16 << 10

// keep counts r as a user of its tracked bodies. It is called before r is stored in memory.
func (r *Resource) keep(l *BodiesInFlight) {
	for _, o := range r.variants {
		r.bodies = o.trackedBodies(r.bodies)
	}
	r.inFlight = l
	if r.bodies == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range r.bodies {
		if b.resources++; b.resources == 1 {
			b.mem.Load().addStore()
		}
	}
}

var _ cache.RemovalListener = (*Resource)(nil)

// Removed implements cache.RemovalListener.
func (r *Resource) Removed() {
	if r.bodies == nil {
		return
	}
	r.inFlight.mu.Lock()
	defer r.inFlight.mu.Unlock()
	for _, b := range r.bodies {
		if b.resources--; b.resources == 0 {
			b.mem.Load().removeStore()
		}
	}
}

// trackedBodies appends the tracked ones of o's bodies.
func (o *Object) trackedBodies(to []*Body) []*Body {
	if o.Body.isTracked() {
		to = append(to, o.Body)
	}
	if f := o.encoded.Load(); f != nil {
		for i := range f.list {
			if f.list[i].Body.isTracked() {
				to = append(to, f.list[i].Body)
			}
		}
	}
	return to
}

func (b *Body) isTracked() bool {
	return b.mem.Load().Tracked()
}
