package telemetry

import (
	"context"
	"net/netip"
	"time"
)

// Record is the access-log record of one exchange. Its slices alias the
// exchange's buffers and die with it: a sink copies what it keeps.
type Record struct {
	Time      time.Time     // when the request's first byte was read
	Duration  time.Duration // until the answer's last byte was handed to the kernel
	Origin    time.Duration // of which this long was spent waiting for the origin
	Service   string
	RequestID []byte
	Operation string // a name from the protocol's own table, never the client's text
	Table     []byte
	Path      []byte // without the query, which may hold secrets
	KeyHash   uint64 // 0: the request has no single key
	Status    int
	Decision  Decision
	Reason    string // why the decision was made, a word from the protocol's own table
	Error     string // what went wrong; empty if nothing did
	Principal []byte // the name that the request gives for its sender: a key id or a user
	BytesIn   int
	BytesOut  int
	Client    netip.AddrPort
	UserAgent []byte
	TLS       bool
}

// Sink takes records. Log never blocks and never fails: what can't be kept is
// dropped and counted. Close writes what is queued and returns when that is
// done or ctx ends; Log after Close drops.
type Sink interface {
	Log(r *Record)
	Close(ctx context.Context) error
}

type discard struct{}

func (discard) Log(*Record)                 {}
func (discard) Close(context.Context) error { return nil }

// Discard returns a sink that keeps nothing.
func Discard() Sink { return discard{} }
