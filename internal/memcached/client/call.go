package client

import (
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// Result is what became of a Get. Everything but Hit is a miss, with its reason.
type Result uint8

const (
	// Miss means that the server has no such value.
	Miss Result = iota
	// Hit means that Call.Value is it.
	Hit
	// Down means that the server is known to be down, could not be connected to, or closed
	// the connection twice.
	Down
	// Timeout means that the server did not answer in time.
	Timeout
	// Garbled means that the answer was none of the protocol, or larger than allowed.
	Garbled
	// Refused means that the server answered with an error.
	Refused
	// BadKey means that nothing was sent: the key breaks the rules of CheckKey.
	BadKey
)

var results = [...]string{"miss", "hit", "down", "timeout", "garbled", "refused", "bad-key"}

func (r Result) String() string { return results[r] }

// StoreResult is what became of a Store, Delete or MarkStale.
type StoreResult uint8

const (
	// Stored means done: stored, deleted, marked.
	Stored StoreResult = iota
	// NotStored means that Add found a value.
	NotStored
	// Exists means that the value's CAS number was another one.
	Exists
	// NotFound means that there was nothing to replace, delete or mark.
	NotFound
	// TooLarge means that the server can't take the value, or it is above
	// Config.MaxValue.
	TooLarge
	// StoreDown, StoreTimeout, StoreGarbled, StoreRefused and StoreBadKey are Down,
	// Timeout, Garbled, Refused and BadKey. After the first three the server may have
	// done what was asked.
	StoreDown
	StoreTimeout
	StoreGarbled
	StoreRefused
	StoreBadKey
	// Unsupported means that the server does not speak the meta protocol, which MarkStale needs.
	Unsupported
)

var storeResults = [...]string{"stored", "not-stored", "exists", "not-found", "too-large", "down", "timeout", "garbled", "refused", "bad-key",
	"unsupported"}

func (r StoreResult) String() string { return storeResults[r] }

// storeFailures are what a Result that is neither hit nor miss means for a store.
var storeFailures = [...]StoreResult{Down: StoreDown, Timeout: StoreTimeout, Garbled: StoreGarbled, Refused: StoreRefused, BadKey: StoreBadKey}

// Call is one request at a time. It is made by NewCall and given back by Release; only
// one goroutine may use it. Who has it while a request is under way, the package comment
// tells.
type Call struct {
	waiter waiter
	request
}

// request is what a Call is asked and answered, one request at a time.
type request struct {
	cmd    wire.Command
	first  bool   // it is the first call of a frame of replies
	opaque uint32 // what a binary reply to it repeats
	sent   int64  // when its batch was written, in nanoseconds of Client.now

	result Result
	stored StoreResult
	retry  bool // the connection is gone, and the call may be made on another one
	found  bool // the value has come, the frame has not ended

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

// keepValue is the largest memory for a value that a call keeps when it is released.
const keepValue = 64 << 10

var calls = sync.Pool{New: func() any { return newCall() }}

func newCall() *Call {
	x := &Call{}
	x.waiter.cond.L = &x.waiter.mu
	return x
}

// NewCall returns a call that is ready for requests.
func NewCall() *Call { return calls.Get().(*Call) }

// Release gives x back, and with it the memory of its value.
func (x *Call) Release() {
	if cap(x.data) > keepValue {
		x.data = nil
	}
	x.begin(wire.Command{})
	calls.Put(x)
}

// Value is the value of the last Get if that was a Hit, else nil, until the next request
// of x or its Release.
func (x *Call) Value() []byte {
	if x.result != Hit {
		return nil
	}
	return x.data
}

// Flags are the writer's 32 bits beside the value.
func (x *Call) Flags() uint32 { return x.flags }

// TTL is how long the server keeps the value, in whole seconds, or -1 if for ever. Only
// the meta protocol tells it.
func (x *Call) TTL() (d time.Duration, known bool) {
	if x.ttl < 0 {
		return -1, x.hasTTL
	}
	return time.Duration(x.ttl) * time.Second, x.hasTTL
}

// CAS is the value's number for Store with mode CAS and for MarkStale. The meta protocol
// tells it, and the binary one.
func (x *Call) CAS() (n uint64, known bool) { return x.cas, x.hasCAS }

// Won says that this Get is the one that is to refresh the value.
func (x *Call) Won() bool { return x.won }

// Stale says that the value was marked as stale.
func (x *Call) Stale() bool { return x.stale }

// Waiting says that somebody else has won the refresh of the value.
func (x *Call) Waiting() bool { return x.waiting }

// begin makes x ready for one command. Its memory stays.
func (x *Call) begin(cmd wire.Command) {
	x.request = request{data: x.data[:0], cmd: cmd}
}

// restart makes x ready for another attempt.
func (x *Call) restart() { x.begin(x.cmd) }

// setValue keeps what a reply tells of the value that follows it.
func (x *Call) setValue(r *wire.Reply) {
	x.found = true
	x.flags, x.cas, x.hasCAS, x.ttl, x.hasTTL = r.Flags, r.CAS, r.HasCAS, r.TTL, r.HasTTL
	x.won, x.stale, x.waiting = r.Won, r.Stale, r.Waiting
}

// isHit says whether what was found is a value: an empty one that somebody is to make is
// only the place that N of meta keeps for it.
func (x *Call) isHit() bool { return x.found && (len(x.data) > 0 || !x.won && !x.waiting) }

// finish gives x back to its goroutine.
func (x *Call) finish(r Result) {
	x.result = r
	if r > Hit {
		x.stored = storeFailures[r]
	}
	x.waiter.signal(&x.waiter.done)
}

// await returns when x is finished. Meanwhile it may have to write for lane l.
func (x *Call) await(l *lane) {
	for x.waiter.wait() {
		l.write(x)
	}
}
