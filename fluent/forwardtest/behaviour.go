package forwardtest

import "time"

// Behaviour specifies how the receiver treats a connection; the zero value is an ordinary
// server. It is fixed when the connection is accepted.
type Behaviour struct {
	Refuse     bool // closes the connection immediately
	CloseAfter int  // closes it after this number of bytes, even within a message; 0: never
	Reset      bool // resets connections instead of closing them

	Stall    bool // never reads
	HalfOpen bool // reads without decoding or answering, like a proxy whose backend is down

	AckDelay time.Duration // delay of each acknowledgement
	AckWrong bool          // acknowledges another chunk
	AckNever bool          // acknowledges nothing
	AckClose bool          // accepts the events and closes the connection instead of acknowledging

	Hello []byte // sent instead of HELO, even without security
	Deny  string // reason in a PONG that refuses every PING
}

// Behave sets the behaviour of future connections; existing ones are unchanged.
func (r *Receiver) Behave(b Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behaviour = b
}

// Script sets the behaviours of the next connections, one each; Behave applies to later
// ones.
func (r *Receiver) Script(b ...Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = append(r.script, b...)
}

// HoldAcks delays the acknowledgements of all connections until ReleaseAcks.
func (r *Receiver) HoldAcks() { r.hold(true) }

// ReleaseAcks sends the acknowledgements delayed by HoldAcks.
func (r *Receiver) ReleaseAcks() { r.hold(false) }

func (r *Receiver) hold(held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
	r.changed.Broadcast()
}
