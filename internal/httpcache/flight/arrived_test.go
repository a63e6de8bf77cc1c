package flight

import (
	"context"
	"testing"
)

// An object that was stored after a request's look-up is its answer: the origin is not asked
// again.
func TestArrivedMeanwhile(t *testing.T) {
	s, q := open(t, Limits{}), get("http://h/a")
	fill(t, s, q, "one")
	ticket := s.Join(&Request{Query: q, Seen: s.FindInvalidated(q), Fill: func(context.Context, *Flight) (*Answer, error) {
		t.Error("the origin was asked for what has just come")
		return answer(q, "two"), nil
	}})
	defer ticket.Leave()
	if out, err := ticket.Wait(t.Context()); err != nil || out.Kind != Whole || text(out.Object) != "one" {
		t.Errorf("%+v, %v", out, err)
	}
}

// An object that was stored after the look-up is not used for a request with Since, as its
// flight may have begun too early.
func TestArrivedTooEarly(t *testing.T) {
	f := func(since int64, want string) {
		t.Helper()
		s, q := open(t, Limits{}), get("http://h/a")
		fill(t, s, q, "one")
		ticket := s.Join(&Request{Query: q, Since: since, Fill: gives(answer(q, "two"))})
		defer ticket.Leave()
		out, err := ticket.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if out.Kind == Whole {
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
