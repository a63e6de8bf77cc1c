package forwardtest

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// Mode is the form in which a message carried its events.
type Mode int

// The modes of the protocol.
const (
	ModeMessage Mode = iota
	ModeForward
	ModePacked
	ModeCompressed
)

// Event is one event. Integers in it are int64, or uint64 where they are above
// that.
type Event struct {
	Tag    string
	Time   time.Time
	Nano   bool           // the time was an EventTime, not integer seconds
	Record map[string]any // nil for an event with a nil record
}

// Message is one message of the wire.
type Message struct {
	Conn    int // which connection brought it, from 1
	Mode    Mode
	Tag     string
	Elems   int            // elements of the outer array
	Option  map[string]any // nil when the element was not there
	Chunk   string         // the option of that name, "" when not there
	Events  int
	Packed  int    // bytes of entries on the wire, in the packed modes
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
	chunks   map[string]int // how often each was received
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

// Events returns all events in the order of their arrival.
func (r *Receiver) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Messages returns all messages in the order of their arrival.
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

// Total is the number of events, repeated ones too.
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

// Errors returns the errors of clients: bytes that are no message, a bad PING. A connection
// that ended between two messages is not an error.
func (r *Receiver) Errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}

// Wait waits until at least n events were received. It has no limit of its own: the test's
// applies.
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
