package httpcache

import (
	"testing"
	"testing/synctest"
)

// Who leaves an answer that was his alone, read or not, lets go of its origin.
func TestLeavingOwnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		starter := s.Fly(&Ask{Query: get(url), Fill: o.fill})
		o.head(&Answer{Head: head(get(url))}, -1)
		if out, err := starter.Wait(t.Context()); err != nil || out.Way != Own || out.Answer.Body == nil || o.isClosed() {
			t.Fatalf("it came to %+v, %v", out, err)
		}
		synctest.Wait()
		if o.isClosed() || o.ctx.Err() != nil {
			t.Error("its body can't be read")
		}
		starter.Leave()
		if !o.isClosed() || o.ctx.Err() == nil {
			t.Error("its origin's connection is not let go of")
		}
	})
}
