package plain

import (
	"bytes"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// segment is a part of a batch that DynamoDB takes in one request, and what became
// of it. It belongs to the goroutine that runs it until work has returned.
type segment struct {
	units   []unit
	answers [][]byte // successes, in their order
	left    []byte   // RequestItems of what the last success left; nil: nothing, or all before the first
	pending bool     // something is left
	status  int      // of the failure that came last, 0 if a success did
	fault   []byte   // and its body
	again   bool     // what is left is worth another try, and certain not to be done

	decision telemetry.Decision
	reason   string // the access log's, of the last request
	err      string // likewise
	origin   time.Duration
}

// keep makes what was taken from the exchange's own reply the segment's.
func (s *segment) keep() {
	for i := range s.answers {
		s.answers[i] = bytes.Clone(s.answers[i])
	}
	s.left, s.fault = bytes.Clone(s.left), bytes.Clone(s.fault)
}

// run asks for a segment until it is done, hopeless, or there is no time left.
func (b *batch) run(s *segment) {
	s.pending, s.again = true, true
	if b.patience.over() || b.gathered.Load() > maxGathered {
		return
	}
	if b.take(s, b.ask(s)) {
		b.finish(s)
	}
}

// finish tries again what is left of a segment.
func (b *batch) finish(s *segment) {
	var pauses backoff
	for b.gathered.Load() <= maxGathered && b.patience.sleep(pauses.next()) && b.take(s, b.ask(s)) {
	}
}

// ask asks for what is left of a segment. Tables in creation are waited for.
func (b *batch) ask(s *segment) *edge.Reply {
	t := b.t
	body := b.appendRequest(nil, s.units)
	if s.left != nil {
		body = append(append(append([]byte(`{"RequestItems":`), s.left...), b.extra...), '}')
	}
	w := creation{t: t, patience: b.patience}
	for {
		x := t.askApart(b.patience.ctx, t.r.target, body)
		s.decision = max(s.decision, x.Record.Decision)
		s.origin += x.Record.Origin
		s.reason, s.err = x.Record.Reason, x.Record.Error
		if !w.over(t.r.target, body, &x.Reply) {
			return &x.Reply
		}
	}
}

// take notes what became of a request for the segment, and tells whether there is
// something to try again. What it keeps is the reply's memory.
func (b *batch) take(s *segment, reply *edge.Reply) bool {
	s.pending, s.again = true, true
	if reply.Status != http.StatusOK {
		s.status, s.fault = reply.Status, reply.Body
		s.again = b.repeatable(reply)
		return s.again
	}
	s.status, s.fault = 0, nil
	s.answers = append(s.answers, reply.Body)
	b.gathered.Add(int64(len(reply.Body)))
	left, done := b.completed(reply)
	s.left, s.pending = left, !done
	return s.pending
}

// repeatable tells whether a failed request may be tried again: a throttled one, and
// a read that the service could not do now. A write that failed in another way may
// have been done.
func (b *batch) repeatable(reply *edge.Reply) bool {
	switch string(wire.ErrorType(reply.Body)) {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "ThrottledException", "RequestThrottled", "SlowDown":
		return true
	}
	return reply.Status >= http.StatusInternalServerError && !b.writes
}
