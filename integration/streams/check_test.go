package streams

import (
	"testing"
	"time"
)

// TestCheck checks single sightings of an item that was written past Kasoku at second 1, through
// it at second 10, deleted past it at second 20, and is being written since second 30.
func TestCheck(t *testing.T) {
	it := &item{p: "p", versions: []version{
		{},
		{group: "a", past: true, sent: 1 * time.Second, acked: 1 * time.Second, measure: true},
		{group: "b", sent: 10 * time.Second, acked: 10 * time.Second, measure: true},
		{past: true, sent: 20 * time.Second, acked: 20 * time.Second, measure: true},
		{group: "a", past: true, sent: 30 * time.Second, acked: never, measure: true},
	}}
	const bound = 2 * time.Second
	f := func(sent time.Duration, version int, group string, lacks int) {
		t.Helper()
		s := sighting{item: it, version: version, group: group, sent: sent, received: sent + time.Millisecond}
		violations, _ := check([]sighting{s}, bound)
		switch {
		case lacks == 0 && len(violations) > 0:
			t.Errorf("at %s: %s", sent, &violations[0])
		case lacks > 0 && (len(violations) == 0 || violations[0].lacks != lacks):
			t.Errorf("version %d of group %q at %s: got %v, want one that lacks %d", version, group, sent, violations, lacks)
		}
	}
	f(500*time.Millisecond, absent, "", 0)
	f(2*time.Second, absent, "", 0)
	f(2*time.Second, 1, "", 0)
	f(2*time.Second, 1, "a", 0)
	f(4*time.Second, 1, "b", 1) // an answer of no version
	f(4*time.Second, absent, "", 1)
	f(4*time.Second, absent, "b", 0)
	f(4*time.Second, 1, "", 0)
	f(11*time.Second, 1, "", 2)
	f(11*time.Second, 2, "", 0)
	f(11*time.Second, absent, "a", 0)
	f(11*time.Second, absent, "b", 2)
	f(11*time.Second, absent, "c", 0)
	f(11*time.Second, 1, "c", 1) // it was never in this group
	f(21*time.Second, 2, "", 0)
	f(23*time.Second, 2, "", 3)
	f(23*time.Second, absent, "", 0)
	f(40*time.Second, absent, "", 0)
	f(40*time.Second, 4, "", 0)
	f(40*time.Second, 2, "", 3)

	_, unseen := check([]sighting{
		{item: it, version: absent, sent: 1500 * time.Millisecond, received: 1500 * time.Millisecond},
		{item: it, version: absent, sent: 1700 * time.Millisecond, received: 1700 * time.Millisecond},
		{item: it, version: 1, sent: 1800 * time.Millisecond, received: 1800 * time.Millisecond},
		{item: it, version: 2, sent: 20100 * time.Millisecond, received: 20100 * time.Millisecond},
	}, bound)
	if len(unseen) != 2 || unseen[0] != 100*time.Millisecond || unseen[1] != 700*time.Millisecond {
		t.Errorf("writes past Kasoku were unseen for %v, want 100ms and 700ms", unseen)
	}
}
