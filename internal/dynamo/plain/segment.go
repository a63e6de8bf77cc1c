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
	entries     []entry
	answers     [][]byte // successes, in their order
	unprocessed []byte   // RequestItems of what the last success left; nil: nothing, or all before the first
	pending     bool     // something is left
	status      int      // of the failure that came last, 0 if a success did
	failure     []byte   // and its body
	retryable   bool     // what is left is worth another try, and certain not to be done

	decision telemetry.Decision
	reason   string // the access log's, of the last request
	err      string // likewise
	origin   time.Duration
}

// cloneBodies makes what was taken from the exchange's own reply the segment's.
func (s *segment) cloneBodies() {
	for i := range s.answers {
		s.answers[i] = bytes.Clone(s.answers[i])
	}
	s.unprocessed, s.failure = bytes.Clone(s.unprocessed), bytes.Clone(s.failure)
}

// runSegment asks for a segment until it is done, hopeless, or there is no time left.
func (b *batch) runSegment(s *segment) {
	s.pending, s.retryable = true, true
	if b.budget.exhausted() || b.gathered.Load() > maxGathered {
		return
	}
	if b.record(s, b.send(s)) {
		b.retry(s)
	}
}

// retry tries again what is left of a segment.
func (b *batch) retry(s *segment) {
	var pauses backoff
	for b.gathered.Load() <= maxGathered && b.budget.sleep(pauses.next()) && b.record(s, b.send(s)) {
	}
}

// forward asks for what is left of a segment. Tables in creation are waited for.
func (b *batch) send(s *segment) *edge.Reply {
	t := b.t
	body := b.appendRequest(nil, s.entries)
	if s.unprocessed != nil {
		body = append(append(append([]byte(`{"RequestItems":`), s.unprocessed...), b.extra...), '}')
	}
	w := tableWait{t: t, retryBudget: b.budget}
	for {
		x := t.callDetached(b.budget.ctx, t.r.target, body)
		s.decision = max(s.decision, x.Record.Decision)
		s.origin += x.Record.Origin
		s.reason, s.err = x.Record.Reason, x.Record.Error
		if !w.shouldRepeat(t.r.target, body, &x.Reply) {
			return &x.Reply
		}
	}
}

// record notes what became of a request for the segment, and tells whether there is
// something to try again. What it keeps is the reply's memory.
func (b *batch) record(s *segment, reply *edge.Reply) bool {
	s.pending, s.retryable = true, true
	if reply.Status != http.StatusOK {
		s.status, s.failure = reply.Status, reply.Body
		s.retryable = b.repeatable(reply)
		return s.retryable
	}
	s.status, s.failure = 0, nil
	s.answers = append(s.answers, reply.Body)
	b.gathered.Add(int64(len(reply.Body)))
	left, done := b.completed(reply)
	s.unprocessed, s.pending = left, !done
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
