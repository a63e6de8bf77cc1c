package flight

import (
	"testing"
	"testing/synctest"
)

// A starter that leaves releases the connection of its private answer, read or not.
func TestLeavingPrivateAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		starter := s.Join(&Request{Query: get(url), Fill: o.fill})
		o.head(&Answer{Head: head(get(url))}, -1)
		if out, err := starter.Wait(t.Context()); err != nil || out.Kind != Private || out.Answer.Body == nil || o.isClosed() {
			t.Fatalf("the outcome is %+v, %v", out, err)
		}
		synctest.Wait()
		if o.isClosed() || o.ctx.Err() != nil {
			t.Error("the body was closed before the starter left")
		}
		starter.Leave()
		if !o.isClosed() || o.ctx.Err() == nil {
			t.Error("the origin's connection is still held")
		}
	})
}
