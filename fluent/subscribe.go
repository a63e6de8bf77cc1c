package fluent

import (
	"sync"
	"time"
)

// subscriberBuffer is the number of events buffered for a subscriber.
const subscriberBuffer = 100

// events distributes events to all subscribers.
type events struct {
	mu          sync.Mutex
	subscribers []chan Event
	subscribed  bool    // there was a subscriber
	early       []Event // the first events, before any subscriber
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

// close ends all subscriptions; later events are discarded.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, s := range e.subscribers {
		close(s)
	}
	e.subscribers = nil
}

// Subscribe returns a new channel with the Logger's events from now on; the channel of the
// first call also has the earlier ones, for example damage that New found on disk. It holds
// 100 events; further ones are lost to it while it is full, so that a slow reader delays
// nothing. It is closed with the Logger.
func (l *Logger) Subscribe() <-chan Event { return l.events.subscribe() }
