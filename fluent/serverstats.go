package fluent

import "sync/atomic"

// ServerStats are the statistics of a server since the Logger was made.
type ServerStats struct {
	Server    string // as given to New
	State     State
	Connected bool // a connection is open and was not closed by the server

	Connections uint64 // opened, including the handshake if there is one
	Failures    uint64 // failed attempts, including heartbeats
	Batches     uint64 // delivered
	Records     uint64 // delivered
	Bytes       uint64 // of records delivered, before compression

	InFlight  int   // batches sent and not yet acknowledged
	LastError error // of the last failure; nil without one
}

// senderCounters holds a sender's counters.
type senderCounters struct {
	connections, failures   atomic.Uint64
	batches, records, bytes atomic.Uint64
	inFlight                atomic.Int64
	connected               atomic.Bool
	lastError               atomic.Pointer[error]
}

func (s *sender) stats() ServerStats {
	t := &s.counters
	st := ServerStats{
		Server:      s.server.name,
		State:       s.breaker.now(),
		Connected:   t.connected.Load(),
		Connections: t.connections.Load(),
		Failures:    t.failures.Load(),
		Batches:     t.batches.Load(),
		Records:     t.records.Load(),
		Bytes:       t.bytes.Load(),
		InFlight:    int(t.inFlight.Load()),
	}
	if err := t.lastError.Load(); err != nil {
		st.LastError = *err
	}
	return st
}
