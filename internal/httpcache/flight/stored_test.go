package flight

import (
	"context"
	"testing"
)

// An object that was stored after a request's look-up is its answer: the origin is not asked
// again.
func TestStoredAfterLookUp(t *testing.T) {
	s, q := open(t, Limits{}), get("http://h/a")
	fill(t, s, q, "one")
	waiter := s.Join(&Request{Query: q, Seen: s.FindInvalidated(q), Fill: func(context.Context, *Flight) (*Answer, error) {
		t.Error("the origin was asked, although its answer was stored after the look-up")
		return answer(q, "two"), nil
	}})
	defer waiter.Leave()
	if out, err := waiter.Wait(t.Context()); err != nil || out.Kind != Whole || text(out.Object) != "one" {
		t.Errorf("got the outcome %+v, %v; want the stored object", out, err)
	}
}

// An object that was stored after the look-up is not used for a request with Since, as its
// flight may have begun too early.
func TestStoredBeforeSince(t *testing.T) {
	f := func(since int64, want string) {
		t.Helper()
		s, q := open(t, Limits{}), get("http://h/a")
		fill(t, s, q, "one")
		waiter := s.Join(&Request{Query: q, Since: since, Fill: fillWith(answer(q, "two"))})
		defer waiter.Leave()
		out, err := waiter.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if out.Kind == Whole {
			got = text(out.Object)
		} else {
			got = rest(t, waiter)
		}
		if got != want {
			t.Errorf("since %d: got %q, want %q", since, got, want)
		}
	}
	f(0, "one")
	f(-1, "one") // the clock begins at 0
	f(1<<40, "two")
}
