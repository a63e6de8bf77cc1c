package telemetry

import (
	"context"
	"net/netip"
	"time"
)

// Record is the access-log record of an exchange. Its slices alias the exchange's buffers
// and are valid only during Log: a sink copies them.
type Record struct {
	Time      time.Time     // when the request's first byte was read
	Duration  time.Duration // until the answer's last byte was handed to the kernel
	Origin    time.Duration // part of Duration spent waiting for the origin
	Age       time.Duration // of the oldest answer from memory; 0: there is none, or its age is unknown
	Asked     time.Duration // from Time until the request began to wait for the origin
	Service   string
	RequestID []byte
	Operation string // a name from the protocol's table, never the client's text
	Table     []byte
	Route     []byte // of types http and memcached: the part of the site
	Path      []byte // without the query, which may hold secrets
	KeyHash   uint64 // 0: the request has no single key
	Key       []byte // in the form of the service; nil: Path is the key. No log has it
	Status    int
	Decision  Decision
	Reason    string // reason for the decision, a word from the protocol's table
	Error     string // empty without an error
	Principal []byte // the sender's name as given in the request: a key id or a user
	BytesIn   int
	BytesOut  int
	Client    netip.AddrPort
	UserAgent []byte
	TLS       bool
	Node      string // this process's name in its cluster; empty without one
	TraceID   []byte // of the request's traceparent, as [TraceID] returns it, or of Trace
	Trace     *Trace // nil unless the request is exported as spans

	// Of a service whose usage is accounted for, in halves of a capacity unit:
	Shape  *Shape // nil if the operation has only one
	Saved  uint32 // the origin's price of the answers that it was not asked for
	Reused uint32 // the part of Saved whose answers no request had used before
}

// Shape is the form of a query, without the values in it. Queries of the same form share it.
type Shape struct {
	Index string // the index that it reads; empty for the table
	Text  string // for people
	Hash  uint64 // differs from that of other shapes
}

// Waited adds the time since start to the time spent waiting for the origin.
func (r *Record) Waited(start time.Time) {
	if r.Origin == 0 {
		r.Asked = start.Sub(r.Time)
	}
	r.Origin += time.Since(start)
}

// Sink receives records. Log never blocks and never fails: records that can't be kept are
// dropped and counted. Close writes the queued records and returns when that is done or ctx
// ends; Log after Close drops records.
type Sink interface {
	Log(r *Record)
	Close(ctx context.Context) error
}

type discard struct{}

func (discard) Log(*Record)                 {}
func (discard) Close(context.Context) error { return nil }

// Named returns a sink that passes records on to s with the name of this process in its cluster.
func Named(s Sink, node string) Sink { return &named{s, node} }

type named struct {
	Sink
	node string
}

func (n *named) Log(r *Record) {
	r.Node = n.node
	n.Sink.Log(r)
}

// Discard returns a sink that discards all records.
func Discard() Sink { return discard{} }
