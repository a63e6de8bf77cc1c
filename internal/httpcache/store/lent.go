package store

import (
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/inflight"
)

// BodiesInFlight counts the bodies that are not stored, any more or at all, and that somebody still
// sends. Their memory is taken out of the space, so that what is stored and what is being
// sent fit into it together, however slowly clients take what they have asked for.
type BodiesInFlight struct {
	tasks  *tasks
	space  *cache.Space
	limits *atomic.Pointer[Limits]
	budget *inflight.Budget
	bytes  atomic.Int64
	all    atomic.Int64 // bytes, and what flights hold

	mu sync.Mutex // guards Body.kept, and a body's move; a leaf

	pending    atomic.Bool  // a settling begins that sees what all is now
	reserved   atomic.Int64 // out of the space
	reservedMu sync.Mutex   // held by who changes taken
}

// inFlightStep is in what steps memory is taken out of the space: each takes its locks.
const inFlightStep = 256 << 10

// Add counts n bytes more, or less. Locks of the cache may be held.
func (l *BodiesInFlight) Add(n int64) {
	l.bytes.Add(n)
	l.budget.Add(n)
	l.Reserve(n)
}

// Reserve takes n bytes more out of the space, or less. Locks of the cache may be held, so
// that another goroutine does it.
func (l *BodiesInFlight) Reserve(n int64) {
	if targetReserve(l.all.Add(n), l.reserved.Load()) == l.reserved.Load() || !l.pending.CompareAndSwap(false, true) {
		return
	}
	if l.tasks.begin() {
		go l.adjust()
	}
}

// targetReserve is what should be taken where so much is: no less than bytes, and no change for
// what comes and goes within a step.
func targetReserve(bytes, taken int64) int64 {
	up := (max(0, bytes) + inFlightStep - 1) / inFlightStep * inFlightStep
	if bytes > taken || up == 0 || up <= taken-2*inFlightStep {
		return up
	}
	return taken
}

// maintain takes out of the space what is due. An add that saw an older taken has been
// counted before this stores the new one, so that the last look at all sees it.
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

// Take implements origin.Memory, for answers that are held before anything of them is sent.
func (l *BodiesInFlight) Take(n int64) bool {
	if l.Scarce() || !l.budget.Buffer(n) {
		return false
	}
	l.bytes.Add(n)
	l.Reserve(n)
	return true
}

// Give implements origin.Memory.
func (l *BodiesInFlight) Give(n int64) { l.Add(-n) }

// Scarce tells whether more is lent than should be.
func (l *BodiesInFlight) Scarce() bool { return l.bytes.Load() > l.limits.Load().MaxInFlight }

// Pace is how many bytes a second a client has to take that n bytes are lent to: while
// they are scarce, as many as would be all of them within DrainSeconds. So who holds memory
// that others miss has to take as much, however little he has asked for of it.
func (l *BodiesInFlight) Pace(n int64) int64 {
	if n == 0 || !l.Scarce() {
		return 0
	}
	return n / DrainSeconds
}

// DrainSeconds is in how many seconds what is lent is to be taken while it is scarce.
const DrainSeconds = 60

// close gives everything back, after the last flight.
func (l *BodiesInFlight) close() {
	l.reservedMu.Lock()
	defer l.reservedMu.Unlock()
	l.space.ReserveInFlight(-l.reserved.Swap(0))
}

// refs counts who needs a piece of memory: whoever sends it, and the store.
type refs struct {
	all    *BodiesInFlight
	weight int64
	n      atomic.Int64 // senders, and byStore if it is stored
}

const byStore = 1 << 32

func newRefs(l *BodiesInFlight, m *Memory) *refs { return &refs{all: l, weight: m.weight()} }

// Hold counts a sender in. Each of these must be followed by a Return. It returns m.
func (m *Memory) Hold() *Memory {
	if m != nil && m.refs != nil && m.refs.n.Add(1) == 1 {
		m.refs.all.Add(m.refs.weight)
	}
	return m
}

// Return counts a sender out: m is an edge.Loan.
func (m *Memory) Return() {
	if m != nil && m.refs != nil && m.refs.n.Add(-1) == 0 {
		m.refs.all.Add(-m.refs.weight)
	}
}

// Tracked reports whether m's senders are counted, so that each has to return it.
func (m *Memory) Tracked() bool { return m != nil && m.refs != nil }

// Pace implements edge.Loan: what is stored costs nothing.
func (m *Memory) Pace() int64 {
	if m == nil || m.refs == nil || m.refs.n.Load() >= byStore {
		return 0
	}
	return m.refs.all.Pace(m.refs.weight)
}

// addStore says that it is stored. lent.mu is held.
func (m *Memory) addStore() {
	if m.refs.n.Add(byStore) > byStore {
		m.refs.all.Add(-m.refs.weight)
	}
}

// removeStore says that it is stored no more. lent.mu is held.
func (m *Memory) removeStore() {
	if m.refs.n.Add(-byStore) > 0 {
		m.refs.all.Add(m.refs.weight)
	}
}

// Tracked has b's senders counted, if it is worth it. Nobody else has b yet.
func (s *Store) Track(b *Body) *Body {
	if m := b.mem.Load(); m != nil && m.refs == nil && b.length > MaxCopied {
		m.refs = newRefs(&s.inFlight, m)
	}
	return b
}

// MaxCopied is up to which length bodies are not counted: edge copies them into memory
// of the connection.
const MaxCopied = 16 << 10

// addStore counts the bodies in that are stored with r, when it is about to be.
func (r *Resource) keep(l *BodiesInFlight) {
	for _, o := range r.variants {
		r.bodies = o.trackedBodies(r.bodies)
	}
	r.lent = l
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
	r.lent.mu.Lock()
	defer r.lent.mu.Unlock()
	for _, b := range r.bodies {
		if b.resources--; b.resources == 0 {
			b.mem.Load().removeStore()
		}
	}
}

// trackedBodies appends those of o's bodies whose senders are counted.
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
