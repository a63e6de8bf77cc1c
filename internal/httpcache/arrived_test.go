package httpcache

import (
	"context"
	"testing"
)

// A request asks about what is out of reach, never about what has come since it
// looked: that is its answer, and the origin is not asked again.
func TestArrivedMeanwhile(t *testing.T) {
	s, q := open(t, FlightLimits{}), get("http://h/a")
	fill(t, s, q, "one")
	ticket := s.Fly(&Ask{Query: q, Seen: s.Former(q), Fill: func(context.Context, *Flight) (*Answer, error) {
		t.Error("the origin was asked for what has just come")
		return answer(q, "two"), nil
	}})
	defer ticket.Leave()
	if out, err := ticket.Wait(t.Context()); err != nil || out.Way != Whole || text(out.Object) != "one" {
		t.Errorf("%+v, %v", out, err)
	}
}

// What has come since a request looked is not for one that takes nothing which began
// too early.
func TestArrivedTooEarly(t *testing.T) {
	f := func(since int64, want string) {
		t.Helper()
		s, q := open(t, FlightLimits{}), get("http://h/a")
		fill(t, s, q, "one")
		ticket := s.Fly(&Ask{Query: q, Since: since, Fill: gives(answer(q, "two"))})
		defer ticket.Leave()
		out, err := ticket.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if out.Way == Whole {
			got = text(out.Object)
		} else {
			got = rest(t, ticket)
		}
		if got != want {
			t.Errorf("since %d: %q; want %q", since, got, want)
		}
	}
	f(0, "one")
	f(-1, "one") // the clock begins at 0
	f(1<<40, "two")
}
