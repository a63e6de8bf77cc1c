package hotkeys

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Rows are counted, are recent for a time, and are bounded in number and size.
func TestThrottles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeys()
		hot := &Throttle{Service: "orders", Table: "users", Reason: "TableReadKeyRangeThroughputExceeded", Resource: "arn", Hash: 1, Key: []byte("alice")}
		for range 3 {
			k.Throttled(hot)
		}
		time.Sleep(4 * time.Minute)
		k.Throttled(hot)
		k.Throttled(&Throttle{Service: "orders", Table: "users", Reason: "ThrottlingException"})
		rows := k.Throttles()
		if len(rows) != 2 || string(rows[0].Key) != "alice" || rows[0].Count != 4 || rows[0].Recent != 4 || !rows[0].Last.Equal(time.Now()) || rows[1].Key != nil {
			t.Fatalf("rows: %+v", rows)
		}
		time.Sleep(2 * time.Minute)
		if rows := k.Throttles(); rows[0].Count != 4 || rows[0].Recent != 1 {
			t.Errorf("after 6 minutes: %+v", rows)
		}
		time.Sleep(time.Hour)
		if rows := k.Throttles(); rows[0].Count != 4 || rows[0].Recent != 0 {
			t.Errorf("after an hour: %+v", rows)
		}
		for i := range 2 * maxRows {
			k.Throttled(&Throttle{Service: "orders", Reason: string(make([]byte, 1000)), Resource: string(make([]byte, 1000)), Hash: uint64(i), Key: make([]byte, 1000)})
			time.Sleep(time.Millisecond)
		}
		rows = k.Throttles()
		if len(rows) != maxRows || len(rows[0].Reason) != maxReason || len(rows[0].Resource) != maxName || len(rows[0].Key) != maxText {
			t.Errorf("%d rows; the first has a reason of %d, a resource of %d, a key of %d", len(rows), len(rows[0].Reason), len(rows[0].Resource), len(rows[0].Key))
		}
		if slices.ContainsFunc(rows, func(r ThrottleRow) bool { return r.Hash < maxRows }) {
			t.Error("an old row is left")
		}
		k.Configure(nil)
		if rows := k.Throttles(); len(rows) != 0 {
			t.Errorf("%d rows of a service that was removed", len(rows))
		}
	})
}
