package policy

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	f := func(m Moment, unix int64) {
		t.Helper()
		if got := m.Unix(); got != unix {
			t.Errorf("%d is in the second %d, want %d", m, got, unix)
		}
		if got := MomentOf(time.UnixMicro(int64(m)).Add(999 * time.Nanosecond)); got != m {
			t.Errorf("MomentOf the time of %d is %d", m, got)
		}
	}
	f(0, 0)
	f(999_999, 0)
	f(perSecond, 1)
	f(-1, -1)
	f(-perSecond, -1)
	f(-perSecond-1, -2)
	f(then+999_999, in2026)
	if got := then.Add(1500 * time.Millisecond); got != then+1_500_000 {
		t.Errorf("Add(1.5 s) added %d µs", got-then)
	}
}

// receivedLate is a response that was requested and received 0.9 s into a second.
func receivedLate(o *Options, cacheControl string) *Response {
	r := ParseResponse(200, fieldsOf("Cache-Control", cacheControl, "Date", at(0)), then+900_000, then+900_000, o)
	return &r
}

// TestDecideWithinSeconds checks that limits hold to the microsecond, whatever the fraction
// of a second in which a response arrived.
func TestDecideWithinSeconds(t *testing.T) {
	o := Defaults()
	f := func(action Action, why Reason, m Mark, after Moment, cacheControl string, pairs ...string) {
		t.Helper()
		d := Decide(request("GET", pairs...), receivedLate(&o, cacheControl), m, then+900_000+after, &o)
		if d.Action != action || d.Reason != why {
			t.Errorf("%s after %d µs, %q: %d %s, want %d %s", cacheControl, after, pairs, d.Action, d.Reason, action, why)
		}
		if (d.TTL > 0) != (why == Fresh || why == RequestMinFresh || why == RequestMaxAge) {
			t.Errorf("%s after %d µs, %q: %s with ttl=%d", cacheControl, after, pairs, d.Reason, d.TTL)
		}
	}
	const cc = "Cache-Control"
	// Fresh as long as the lifetime is greater than the age.
	f(Use, Fresh, Unmarked, 0, "max-age=1")
	f(Use, Fresh, Unmarked, 100_000, "max-age=1")
	f(Use, Fresh, Unmarked, 999_999, "max-age=1")
	f(Validate, Expired, Unmarked, 1_000_000, "max-age=1")
	f(Use, Fresh, Unmarked, 1_999_999, "s-maxage=2")
	f(Validate, Expired, Unmarked, 2_000_000, "s-maxage=2")
	f(Validate, Expired, Unmarked, 0, "max-age=0")
	// Stale for no longer than is allowed.
	f(UseAndRefresh, Refreshing, Unmarked, 1_000_000, "max-age=1, stale-while-revalidate=1")
	f(UseAndRefresh, Refreshing, Unmarked, 2_000_000, "max-age=1, stale-while-revalidate=1")
	f(Validate, Expired, Unmarked, 2_000_001, "max-age=1, stale-while-revalidate=1")
	f(UseAndRefresh, Refreshing, Outdated, 1, "max-age=1, stale-while-revalidate=1")
	f(UseAndRefresh, Refreshing, Outdated, 2_000_000, "max-age=1, stale-while-revalidate=1")
	f(Validate, SoftPurged, Outdated, 2_000_001, "max-age=1, stale-while-revalidate=1")
	f(Use, ClientTakesStale, Unmarked, 3_000_000, "max-age=1", cc, "max-stale=2")
	f(Validate, Expired, Unmarked, 3_000_001, "max-age=1", cc, "max-stale=2")
	f(Use, ClientTakesStale, Unmarked, 9_000_001, "max-age=1", cc, "max-stale")
	// Directives of the client.
	f(Use, Fresh, Unmarked, 50_000_000, "max-age=60", cc, "min-fresh=10")
	f(Validate, RequestMinFresh, Unmarked, 50_000_001, "max-age=60", cc, "min-fresh=10")
	f(Use, Fresh, Unmarked, 10_999_999, "max-age=60", cc, "max-age=10")
	f(Validate, RequestMaxAge, Unmarked, 11_000_000, "max-age=60", cc, "max-age=10")
	f(Use, Fresh, Unmarked, 999_999, "max-age=60", cc, "max-age=0")
	f(Validate, RequestMaxAge, Unmarked, 1_000_000, "max-age=60", cc, "max-age=0")
	f(Use, Fresh, Unmarked, 59_999_999, "max-age=60, immutable", cc, "max-age=0")
	// Values beyond any clock.
	f(Use, Fresh, Unmarked, 1_000_000, "max-age=99999999999999999999")
	f(UseAndRefresh, Refreshing, Unmarked, 1_000_000, "max-age=0, stale-while-revalidate=99999999999999999999")
}

func TestFailureWithinSeconds(t *testing.T) {
	o := Defaults()
	f := func(action Action, failure Failure, after Moment, cacheControl string, pairs ...string) {
		t.Helper()
		d := AfterFailure(request("GET", pairs...), receivedLate(&o, cacheControl), Unmarked, failure, then+900_000+after, &o)
		if d.Action != action {
			t.Errorf("%s after %d µs, %q: got %+v, want %d", cacheControl, after, pairs, d, action)
		}
	}
	f(Use, Failed, 11_000_000, "max-age=1, stale-if-error=10")
	f(PassOn, Failed, 11_000_001, "max-age=1, stale-if-error=10")
	f(Use, Failed, 11_000_000, "max-age=1", "Cache-Control", "stale-if-error=10")
	f(PassOn, Failed, 11_000_001, "max-age=1", "Cache-Control", "stale-if-error=10")
	f(Use, Disconnected, 3_601_000_000, "max-age=1")
	f(GatewayTimeout, Disconnected, 3_601_000_001, "max-age=1")
}

// TestAgeWithinSeconds checks that Age counts completed seconds, and that its sum with the
// TTL is the lifetime.
func TestAgeWithinSeconds(t *testing.T) {
	o := Defaults()
	r := receivedLate(&o, "max-age=2")
	f := func(after Moment, age, ttl int64) {
		t.Helper()
		now := then + 900_000 + after
		if d := Decide(request("GET"), r, Unmarked, now, &o); d.Age != age || d.TTL != ttl || r.Age(now) != age || r.TTL(now) != ttl {
			t.Errorf("after %d µs: got %+v, want %d %d", after, d, age, ttl)
		}
		if d := AfterFailure(request("GET"), r, Unmarked, Failed, now, &o); d.Age != age || d.TTL != ttl {
			t.Errorf("after %d µs and a failure: got %+v, want %d %d", after, d, age, ttl)
		}
	}
	f(-5_000_000, 0, 2)
	f(0, 0, 2)
	f(100_000, 0, 2)
	f(999_999, 0, 2)
	f(1_000_000, 1, 1)
	f(1_999_999, 1, 1)
	f(2_000_000, 2, 0)
	f(2_000_001, 2, 0)
	f(3_000_000, 3, -1)
}

// TestAgeOnArrival checks that Date counts if it is more precise than the transfer time.
func TestAgeOnArrival(t *testing.T) {
	o := Defaults()
	f := func(sent, received, want Moment, pairs ...string) {
		t.Helper()
		r := ParseResponse(200, fieldsOf(pairs...), then+sent, then+received, &o)
		for bit := range Moment(2) { // one microsecond before the next second, and at it
			now := then + received - want%perSecond + perSecond - 1 + bit
			if got := r.Age(now); got != int64(want/perSecond)+int64(bit) {
				t.Errorf("%d to %d, %q: age %d at %d, want %d µs on arrival", sent, received, pairs, got, now-then, want)
			}
		}
	}
	// A second begins during the transfer: the response was created before or after that.
	f(950_000, 1_050_000, 100_000, "Date", at(0))
	f(950_000, 1_050_000, 100_000, "Date", at(1))
	f(950_000, 1_050_000, 100_000)
	f(950_000, 4_050_000, 3_100_000, "Date", at(0))
	f(0, 999_999, 999_999, "Date", at(0))
	// Created before the request.
	f(950_000, 1_050_000, 2_000_000, "Date", at(-1))
	f(950_000, 950_000, 1_000_000, "Date", at(-1))
	f(0, 500_000, 20_000_000, "Date", at(-20))
	f(0, 2_500_000, 22_000_000, "Date", at(-20))
	f(0, 2_500_000, 3_000_000, "Date", at(-1))
	f(-1, 0, 1, "Date", at(-1))
	f(-1, 0, 2_000_000, "Date", at(-2))
	// Age larger than the age by Date, or smaller.
	f(950_000, 1_050_000, 5_100_000, "Date", at(-1), "Age", "5")
	f(950_000, 1_050_000, 2_000_000, "Date", at(-1), "Age", "1")
	f(950_000, 1_050_000, 2_100_000, "Date", at(-1), "Age", "2")
	f(950_000, 1_050_000, 7_100_000, "Date", at(0), "Age", "7")
	// Clocks that differ, and one that was set back.
	f(950_000, 1_050_000, 100_000, "Date", at(100))
	f(1_050_000, 950_000, 0, "Date", at(1))
	f(1_050_000, 950_000, 0, "Date", at(0))
	f(1_050_000, 950_000, 3_000_000, "Date", at(-3))
}
