package fluent

import "sync/atomic"

// ServerStats says what happened with one server since the Logger was made.
type ServerStats struct {
	Server    string // as given to New
	State     State
	Connected bool // a connection is open, and the server has not closed it

	Connections uint64 // that were opened, with the handshake if there is one
	Failures    uint64 // attempts that failed, heartbeats included
	Batches     uint64 // delivered
	Records     uint64 // delivered
	Bytes       uint64 // of records delivered, before compression

	InFlight  int   // batches sent and not yet acknowledged
	LastError error // of the last failure; nil when there was none
}

// tally is what a sender counts.
type tally struct {
	connections, failures   atomic.Uint64
	batches, records, bytes atomic.Uint64
	inFlight                atomic.Int64
	connected               atomic.Bool
	lastError               atomic.Pointer[error]
}

func (s *sender) stats() ServerStats {
	t := &s.tally
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
