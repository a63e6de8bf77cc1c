package fluent

import (
	"sync"
	"time"
)

// subscriberBuffer is how many events a subscriber may be behind.
const subscriberBuffer = 100

// events hands out what is reported to all subscribers.
type events struct {
	mu          sync.Mutex
	subscribers []chan Event
	subscribed  bool    // ever
	early       []Event // the first, while nobody had subscribed
	closed      bool
}

// report never waits: a subscriber whose buffer is full misses the event.
func (e *events) report(event Event) {
	if event.Time.IsZero() {
		event.Time = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.subscribed && !e.closed && len(e.early) < subscriberBuffer {
		e.early = append(e.early, event)
	}
	for _, s := range e.subscribers {
		select {
		case s <- event:
		default:
		}
	}
}

func (e *events) subscribe() <-chan Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := make(chan Event, subscriberBuffer)
	for _, event := range e.early {
		s <- event
	}
	e.subscribed, e.early = true, nil
	if e.closed {
		close(s)
		return s
	}
	e.subscribers = append(e.subscribers, s)
	return s
}

// close ends all subscriptions; what is reported later goes nowhere.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, s := range e.subscribers {
		close(s)
	}
	e.subscribers = nil
}

// Subscribe returns a channel of its own with the Logger's events from now on;
// the first call's has those before it too, such as damage that New found on disk.
// It holds 100 events; those that come while it is full are lost to it, so
// that a slow reader delays nothing. It is closed when the Logger is.
func (l *Logger) Subscribe() <-chan Event { return l.events.subscribe() }
