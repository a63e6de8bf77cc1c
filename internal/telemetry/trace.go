package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Tracer decides which requests are exported as spans.
type Tracer interface {
	// Start returns the place of a request in its trace if its spans are exported, nil otherwise.
	// traceparent is the request's field, nil without one.
	Start(traceparent []byte) *Trace
}

// Trace is the place of a request in a trace: the identities of the spans that are exported for it.
type Trace struct {
	ID     [16]byte
	Parent [8]byte // the client's span; zero without one
	Span   [8]byte // of the request
	Origin [8]byte // of the request to the origin
	// Sent is set when the origin was sent Origin as the parent of its own spans.
	Sent bool

	text [traceparentLength]byte
}

// NewTrace returns a place in the trace of a traceparent field, or in a new trace if that is not
// valid.
func NewTrace(traceparent []byte) *Trace {
	t := &Trace{}
	flags := byte(flagSampled)
	if id := TraceID(traceparent); id != nil {
		_, _ = hex.Decode(t.ID[:], id)
		_, _ = hex.Decode(t.Parent[:], traceparent[idEnd+1:parentEnd])
		flags |= traceFlags(traceparent) & flagRandom
	} else {
		binary.NativeEndian.PutUint64(t.ID[:8], random())
		binary.NativeEndian.PutUint64(t.ID[8:], random())
		flags |= flagRandom
	}
	binary.NativeEndian.PutUint64(t.Span[:], random())
	binary.NativeEndian.PutUint64(t.Origin[:], random())
	b := hex.AppendEncode(append(t.text[:0], "00-"...), t.ID[:])
	b = hex.AppendEncode(append(b, '-'), t.Origin[:])
	hex.AppendEncode(append(b, '-'), []byte{flags})
	return t
}

// random returns a random number other than 0, which is no identity.
func random() uint64 {
	for {
		if n := rand.Uint64(); n != 0 {
			return n
		}
	}
}

// HexID returns ID as [TraceID] returns it. The result must not be modified.
func (t *Trace) HexID() []byte { return t.text[versionEnd+1 : idEnd] }

// Traceparent returns the field for the origin, with Origin as the parent. The result must not be
// modified.
func (t *Trace) Traceparent() []byte { return t.text[:] }
