package plain

import (
	"bytes"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// segment is a part of a batch that fits in one DynamoDB request, with its result. It is
// owned by the goroutine that runs it until runSegments returns.
type segment struct {
	entries     []entry
	answers     [][]byte // bodies of successful replies, in order
	unprocessed []byte   // RequestItems left by the last success; nil if none, or all before the first
	pending     bool     // entries are unprocessed
	status      int      // status of the last failure, 0 after a success
	failure     []byte   // its body
	retryable   bool     // the unprocessed entries have certainly not been processed and may be retried

	decision telemetry.Decision
	reason   string // for the access log, from the last request
	err      string // likewise
	origin   time.Duration
}

// cloneBodies copies bodies that alias the exchange's own reply.
func (s *segment) cloneBodies() {
	for i := range s.answers {
		s.answers[i] = bytes.Clone(s.answers[i])
	}
	s.unprocessed, s.failure = bytes.Clone(s.unprocessed), bytes.Clone(s.failure)
}

// runSegment sends a segment until it is complete, has failed permanently, or the budget is
// exhausted.
func (b *batch) runSegment(s *segment) {
	s.pending, s.retryable = true, true
	if b.budget.exhausted() || b.gathered.Load() > maxGathered {
		return
	}
	if b.record(s, b.send(s)) {
		b.retry(s)
	}
}

// retry sends the unprocessed entries of a segment again.
func (b *batch) retry(s *segment) {
	var pauses backoff
	for b.gathered.Load() <= maxGathered && b.budget.sleep(pauses.next()) && b.record(s, b.send(s)) {
	}
}

// send sends the unprocessed entries of a segment. It waits for tables in creation.
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

// record records a reply for the segment, and reports whether entries should be retried. It
// retains the reply's memory.
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

// repeatable reports whether a failed request may be retried: after throttling, and reads
// also after a server error. A write that failed in another way may have been executed.
func (b *batch) repeatable(reply *edge.Reply) bool {
	switch string(wire.ErrorType(reply.Body)) {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "ThrottledException", "RequestThrottled", "SlowDown":
		return true
	}
	return reply.Status >= http.StatusInternalServerError && !b.writes
}
