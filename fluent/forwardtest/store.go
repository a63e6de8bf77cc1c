package forwardtest

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// Mode is the format of a message's events.
type Mode int

// The modes of the protocol.
const (
	ModeMessage Mode = iota
	ModeForward
	ModePacked
	ModeCompressed
)

// Event is one event. Its integers are int64, or uint64 for larger ones.
type Event struct {
	Tag    string
	Time   time.Time
	Nano   bool           // the time was an EventTime, not integer seconds
	Record map[string]any // nil for an event with a nil record
}

// Message is one message of the wire.
type Message struct {
	Conn    int // number of the connection, from 1
	Mode    Mode
	Tag     string
	Elems   int            // elements of the outer array
	Option  map[string]any // nil without the element
	Chunk   string         // the option of that name, or ""
	Events  int
	Packed  int    // bytes of the entries as sent, in the packed modes
	Algo    string // "gzip" or "zstd" of ModeCompressed
	Binary  bool   // entries were bin rather than str, in the packed modes
	Members int    // gzip members, in ModeCompressed
}

// store holds the received messages. Receiver.mu guards it.
type store struct {
	events   []Event
	messages []Message
	counts   map[string]int
	total    int
	chunks   map[string]int // receptions of each chunk
	errs     []error
}

func (s *store) init() {
	s.counts, s.chunks = map[string]int{}, map[string]int{}
}

// take stores one message and its events.
func (r *Receiver) take(m Message, events []Event) {
	for _, e := range events {
		if r.opt.OnEvent != nil {
			r.opt.OnEvent(e)
		}
	}
	if r.opt.OnMessage != nil {
		r.opt.OnMessage(m)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.opt.Count {
		if r.opt.OnEvent == nil {
			r.events = append(r.events, events...)
		}
		r.messages = append(r.messages, m)
	}
	r.counts[m.Tag] += m.Events
	r.total += m.Events
	if m.Chunk != "" {
		r.chunks[m.Chunk]++
	}
	r.changed.Broadcast()
}

func (r *Receiver) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.changed.Broadcast()
}

// Events returns all events in order of arrival.
func (r *Receiver) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Messages returns all messages in order of arrival.
func (r *Receiver) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}

// Counts returns the number of events by tag.
func (r *Receiver) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// Total returns the number of events, including repeated ones.
func (r *Receiver) Total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// Chunks returns how often each chunk was received.
func (r *Receiver) Chunks() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.chunks)
}

// Errors returns the errors of clients: invalid messages, a bad PING. A connection that ends
// between two messages is not an error.
func (r *Receiver) Errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}

// Wait waits until at least n events were received. Its only limit is the test's time.
func (r *Receiver) Wait(t testing.TB, n int) {
	t.Helper()
	r.await(func() bool { return r.total >= n })
}

// WaitAccepted waits until at least n connections have been accepted.
func (r *Receiver) WaitAccepted(t testing.TB, n int) {
	t.Helper()
	r.await(func() bool { return r.accepted >= n })
}

// WaitOpen waits until exactly n connections are open.
func (r *Receiver) WaitOpen(t testing.TB, n int) {
	t.Helper()
	r.await(func() bool { return len(r.conns) == n })
}

func (r *Receiver) await(ready func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ready() {
		r.changed.Wait()
	}
}
