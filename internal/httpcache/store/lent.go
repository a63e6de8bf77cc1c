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

	due     atomic.Bool  // a settling begins that sees what all is now
	taken   atomic.Int64 // out of the space
	takenMu sync.Mutex   // held by who changes taken
}

// lentStep is in what steps memory is taken out of the space: each takes its locks.
const lentStep = 256 << 10

// Add counts n bytes more, or less. Locks of the cache may be held.
func (l *BodiesInFlight) Add(n int64) {
	l.bytes.Add(n)
	l.budget.Add(n)
	l.Reserve(n)
}

// Reserve takes n bytes more out of the space, or less. Locks of the cache may be held, so
// that another goroutine does it.
func (l *BodiesInFlight) Reserve(n int64) {
	if want(l.all.Add(n), l.taken.Load()) == l.taken.Load() || !l.due.CompareAndSwap(false, true) {
		return
	}
	if l.tasks.enter() {
		go l.settle()
	}
}

// want is what should be taken where so much is: no less than bytes, and no change for
// what comes and goes within a step.
func want(bytes, taken int64) int64 {
	up := (max(0, bytes) + lentStep - 1) / lentStep * lentStep
	if bytes > taken || up == 0 || up <= taken-2*lentStep {
		return up
	}
	return taken
}

// settle takes out of the space what is due. An add that saw an older taken has been
// counted before this stores the new one, so that the last look at all sees it.
func (l *BodiesInFlight) settle() {
	defer l.tasks.wg.Done()
	l.takenMu.Lock()
	defer l.takenMu.Unlock()
	l.due.Store(false)
	for {
		was := l.taken.Load()
		n := want(l.all.Load(), was)
		if n == was {
			return
		}
		l.space.ReserveInFlight(n - was)
		l.taken.Store(n)
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
func (l *BodiesInFlight) Scarce() bool { return l.bytes.Load() > l.limits.Load().Lent }

// PaceOf is how many bytes a second a client has to take that n bytes are lent to: while
// they are scarce, as many as would be all of them within LendSeconds. So who holds memory
// that others miss has to take as much, however little he has asked for of it.
func (l *BodiesInFlight) PaceOf(n int64) int64 {
	if n == 0 || !l.Scarce() {
		return 0
	}
	return n / LendSeconds
}

// LendSeconds is in how many seconds what is lent is to be taken while it is scarce.
const LendSeconds = 60

// close gives everything back, after the last flight.
func (l *BodiesInFlight) close() {
	l.takenMu.Lock()
	defer l.takenMu.Unlock()
	l.space.ReserveInFlight(-l.taken.Swap(0))
}

// lending counts who needs a piece of memory: whoever sends it, and the store.
type lending struct {
	all    *BodiesInFlight
	weight int64
	n      atomic.Int64 // senders, and byStore if it is stored
}

const byStore = 1 << 32

func newLending(l *BodiesInFlight, m *Memory) *lending { return &lending{all: l, weight: m.weight()} }

// Hold counts a sender in. Each of these must be followed by a Return. It returns m.
func (m *Memory) Hold() *Memory {
	if m != nil && m.lending != nil && m.lending.n.Add(1) == 1 {
		m.lending.all.Add(m.lending.weight)
	}
	return m
}

// Return counts a sender out: m is an edge.Loan.
func (m *Memory) Return() {
	if m != nil && m.lending != nil && m.lending.n.Add(-1) == 0 {
		m.lending.all.Add(-m.lending.weight)
	}
}

// Counted reports whether m's senders are counted, so that each has to return it.
func (m *Memory) Counted() bool { return m != nil && m.lending != nil }

// Pace implements edge.Loan: what is stored costs nothing.
func (m *Memory) Pace() int64 {
	if m == nil || m.lending == nil || m.lending.n.Load() >= byStore {
		return 0
	}
	return m.lending.all.PaceOf(m.lending.weight)
}

// keep says that it is stored. lent.mu is held.
func (m *Memory) keep() {
	if m.lending.n.Add(byStore) > byStore {
		m.lending.all.Add(-m.lending.weight)
	}
}

// letGo says that it is stored no more. lent.mu is held.
func (m *Memory) letGo() {
	if m.lending.n.Add(-byStore) > 0 {
		m.lending.all.Add(m.lending.weight)
	}
}

// Counted has b's senders counted, if it is worth it. Nobody else has b yet.
func (s *Store) Counted(b *Body) *Body {
	if m := b.mem.Load(); m != nil && m.lending == nil && b.length > MaxCopied {
		m.lending = newLending(&s.lent, m)
	}
	return b
}

// MaxCopied is up to which length bodies are not counted: edge copies them into memory
// of the connection.
const MaxCopied = 16 << 10

// keep counts the bodies in that are stored with r, when it is about to be.
func (r *Resource) keep(l *BodiesInFlight) {
	for _, o := range r.variants {
		r.bodies = o.countedBodies(r.bodies)
	}
	r.lent = l
	if r.bodies == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range r.bodies {
		if b.kept++; b.kept == 1 {
			b.mem.Load().keep()
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
		if b.kept--; b.kept == 0 {
			b.mem.Load().letGo()
		}
	}
}

// countedBodies appends those of o's bodies whose senders are counted.
func (o *Object) countedBodies(to []*Body) []*Body {
	if o.Body.isCounted() {
		to = append(to, o.Body)
	}
	if f := o.forms.Load(); f != nil {
		for i := range f.list {
			if f.list[i].Body.isCounted() {
				to = append(to, f.list[i].Body)
			}
		}
	}
	return to
}

func (b *Body) isCounted() bool {
	return b.mem.Load().Counted()
}
