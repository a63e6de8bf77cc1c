package forwardtest

import "time"

// Behaviour says how the receiver treats a connection; the zero value is well.
// It is fixed when the connection is accepted.
type Behaviour struct {
	Refuse     bool // closes the connection at once
	CloseAfter int  // closes it when so many bytes have been read, mid-message too; 0: never
	Reset      bool // where it closes a connection, resets it

	Stall    bool // reads nothing, ever
	HalfOpen bool // reads but neither decodes nor answers, as if the machine behind were gone

	AckDelay time.Duration // each acknowledgement comes so much after its message
	AckWrong bool          // acknowledges another chunk
	AckNever bool          // acknowledges nothing
	AckClose bool          // closes instead of acknowledging, the events having been taken

	Hello []byte // sent instead of HELO, without security too
	Deny  string // a reason with which PONG refuses every PING
}

// Behave sets how connections from now on are treated; connections that there
// are stay as they are.
func (r *Receiver) Behave(b Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behaviour = b
}

// Script sets how the next connections are treated, one behaviour each; the
// ones after them as Behave said.
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
