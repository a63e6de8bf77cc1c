package fluent

import "testing"

// TestEarlyEvents: events reported before the first subscription, for example by New, are
// sent to the first subscriber.
func TestEarlyEvents(t *testing.T) {
	var e events
	for range subscriberBuffer + 1 {
		e.report(Event{Kind: SpillFailed})
	}
	first, second := e.subscribe(), e.subscribe()
	if got := <-first; got.Kind != SpillFailed || len(first) != subscriberBuffer-1 || len(second) != 0 {
		t.Fatalf("the first has %v and %d more, the second %d", got, len(first), len(second))
	}
	e.report(Event{Kind: Reset})
	if got := <-second; got.Kind != Reset || len(first) != subscriberBuffer {
		t.Fatalf("the second has %v, the first %d", got, len(first))
	}
	e.close()
	if late, ok := <-e.subscribe(); ok {
		t.Fatalf("after the end: %v", late)
	}
}
