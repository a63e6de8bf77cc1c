package client

import (
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// Result is the outcome of a Get. Every result except Hit is a miss with a reason.
type Result uint8

const (
	// Miss: the server has no such value.
	Miss Result = iota
	// Hit: Call.Value has the value.
	Hit
	// Down: the server is marked down, refused the connection, or closed it twice.
	Down
	// Timeout: the server did not answer in time.
	Timeout
	// Garbled: the answer violates the protocol or is larger than allowed.
	Garbled
	// Refused: the server answered with an error.
	Refused
	// BadKey: the key violates CheckKey; nothing was sent.
	BadKey
)

var results = [...]string{"miss", "hit", "down", "timeout", "garbled", "refused", "bad-key"}

func (r Result) String() string { return results[r] }

// StoreResult is the outcome of a Store, Delete or MarkStale.
type StoreResult uint8

const (
	// Stored: the value was stored, deleted or marked.
	Stored StoreResult = iota
	// NotStored: Add found a value.
	NotStored
	// Exists: the value has another CAS number.
	Exists
	// NotFound: there was no value to replace, delete or mark.
	NotFound
	// TooLarge: the value is too large for the server, or above Config.MaxValue.
	TooLarge
	// StoreDown, StoreTimeout, StoreGarbled, StoreRefused and StoreBadKey are Down, Timeout,
	// Garbled, Refused and BadKey. After the first three the server may have executed the
	// command.
	StoreDown
	StoreTimeout
	StoreGarbled
	StoreRefused
	StoreBadKey
	// Unsupported: the server has no meta protocol, which MarkStale needs.
	Unsupported
)

var storeResults = [...]string{"stored", "not-stored", "exists", "not-found", "too-large", "down", "timeout", "garbled", "refused", "bad-key",
	"unsupported"}

func (r StoreResult) String() string { return storeResults[r] }

// storeFailures maps a Result other than Hit and Miss to a StoreResult.
var storeFailures = [...]StoreResult{Down: StoreDown, Timeout: StoreTimeout, Garbled: StoreGarbled, Refused: StoreRefused, BadKey: StoreBadKey}

// Call is the state of one request at a time. NewCall returns one and Release returns it to
// the pool; only one goroutine may use it. The package comment describes the owner of a Call
// while a request is in flight.
type Call struct {
	waiter waiter
	request
}

// request is a Call's state for one request.
type request struct {
	cmd    wire.Command
	first  bool   // it is the first call of a frame of replies
	opaque uint32 // repeated by the binary reply
	sent   int64  // when its batch was written, in nanoseconds of Client.now

	result Result
	stored StoreResult
	retry  bool // the connection was closed, and the call may be retried on another
	found  bool // the value was read; the frame has not ended

	data    []byte // memory of the value
	flags   uint32
	cas     uint64
	ttl     int64
	hasCAS  bool
	hasTTL  bool
	won     bool
	stale   bool
	waiting bool
}

// keepValue is the largest buffer for a value that a released call keeps.
const keepValue = 64 << 10

var calls = sync.Pool{New: func() any { return newCall() }}

func newCall() *Call {
	x := &Call{}
	x.waiter.cond.L = &x.waiter.mu
	return x
}

// NewCall returns a call that is ready for requests.
func NewCall() *Call { return calls.Get().(*Call) }

// Release returns x to the pool, with the memory of its value.
func (x *Call) Release() {
	if cap(x.data) > keepValue {
		x.data = nil
	}
	x.begin(wire.Command{})
	calls.Put(x)
}

// Value returns the value of the last Get if that was a Hit, else nil. It is valid until the
// next request of x or its Release.
func (x *Call) Value() []byte {
	if x.result != Hit {
		return nil
	}
	return x.data
}

// Flags returns the 32 bits that the writer stored with the value.
func (x *Call) Flags() uint32 { return x.flags }

// TTL returns the time to live in whole seconds, or -1 if the value does not expire. Only
// the meta protocol reports it.
func (x *Call) TTL() (d time.Duration, known bool) {
	if x.ttl < 0 {
		return -1, x.hasTTL
	}
	return time.Duration(x.ttl) * time.Second, x.hasTTL
}

// CAS returns the value's number for Store with mode CAS and for MarkStale. The meta and the
// binary protocol report it.
func (x *Call) CAS() (n uint64, known bool) { return x.cas, x.hasCAS }

// Won reports whether this Get has to refresh the value.
func (x *Call) Won() bool { return x.won }

// Stale reports whether the value was marked as stale.
func (x *Call) Stale() bool { return x.stale }

// Waiting reports whether another client has to refresh the value.
func (x *Call) Waiting() bool { return x.waiting }

// begin prepares x for one command and keeps its memory.
func (x *Call) begin(cmd wire.Command) {
	x.request = request{data: x.data[:0], cmd: cmd}
}

// restart prepares x for another attempt.
func (x *Call) restart() { x.begin(x.cmd) }

// setValue records the properties of a value that follows the reply's line.
func (x *Call) setValue(r *wire.Reply) {
	x.found = true
	x.flags, x.cas, x.hasCAS, x.ttl, x.hasTTL = r.Flags, r.CAS, r.HasCAS, r.TTL, r.HasTTL
	x.won, x.stale, x.waiting = r.Won, r.Stale, r.Waiting
}

// isHit reports whether a value was found. An empty value that a client has to create is
// only a placeholder, which N of meta makes.
func (x *Call) isHit() bool { return x.found && (len(x.data) > 0 || !x.won && !x.waiting) }

// finish returns x to its goroutine.
func (x *Call) finish(r Result) {
	x.result = r
	if r > Hit {
		x.stored = storeFailures[r]
	}
	x.waiter.signal(&x.waiter.done)
}

// await returns when x is finished. Until then it may have to write for lane l.
func (x *Call) await(l *lane) {
	for x.waiter.wait() {
		l.write(x)
	}
}
