package forwardtest

import "time"

// Behaviour specifies how the receiver treats a connection; the zero value is an ordinary
// server. It is fixed when the connection is accepted.
type Behaviour struct {
	Refuse     bool // closes the connection at once
	CloseAfter int  // closes it when so many bytes have been read, mid-message too; 0: never
	Reset      bool // where it closes a connection, resets it

	Stall    bool // reads nothing, ever
	HalfOpen bool // reads without decoding or answering, as if the machine behind were down

	AckDelay time.Duration // each acknowledgement is sent so long after its message
	AckWrong bool          // acknowledges another chunk
	AckNever bool          // acknowledges nothing
	AckClose bool          // closes instead of acknowledging, the events having been taken

	Hello []byte // sent instead of HELO, without security too
	Deny  string // a reason with which PONG refuses every PING
}

// Behave sets how connections are treated from now on; existing connections are unchanged.
func (r *Receiver) Behave(b Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behaviour = b
}

// Script sets how the next connections are treated, one behaviour each; Behave applies to
// those after them.
func (r *Receiver) Script(b ...Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = append(r.script, b...)
}

// HoldAcks keeps acknowledgements of all connections back until ReleaseAcks.
func (r *Receiver) HoldAcks() { r.hold(true) }

// ReleaseAcks sends the acknowledgements that HoldAcks kept back.
func (r *Receiver) ReleaseAcks() { r.hold(false) }

func (r *Receiver) hold(held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
	r.changed.Broadcast()
}
