package accel

import (
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// The cost of an entry is the capacity that an eventually consistent read of the same answer
// consumes, in halves of a unit: one for each 4 KiB. It is 0 without a ledger.

// costOf returns the cost of an item, nil for one that does not exist.
func (s *Service) costOf(item []byte) uint32 {
	if s.ledger == nil {
		return 0
	}
	size, _ := wire.ItemSize(item)
	return costOfSize(size)
}

// costOfPage estimates the cost of an answer to a query that another node has read.
func (s *Service) costOfPage(answer []byte) uint32 {
	if s.ledger == nil {
		return 0
	}
	return costOfSize(len(answer))
}

func costOfSize(size int) uint32 { return uint32(max(1, (size+4095)/4096)) }

// cost returns the cost of the answer to the query.
func (q *originQuery) cost(resp *origin.Response) uint32 {
	if q.strong {
		return uint32(resp.Consumed / 2)
	}
	return uint32(resp.Consumed)
}

// countUse adds the use of an entry, and its age, to the record of the request that it serves. now
// is the time on the cache's clock.
func countUse(e *cache.Entry, now int64, r *telemetry.Record) {
	r.Age = max(r.Age, e.Age(now), 1)
	cost := e.Cost()
	if cost == 0 {
		return
	}
	r.Saved += cost
	if e.FirstUse() {
		r.Reused += cost
	}
}

func (c *call) countUse(e *cache.Entry) { countUse(e, c.now, &c.x.Record) }

// countFilled accounts for an answer that was read from the origin to be stored.
func (s *Service) countFilled(t *table, op *wire.Operation, from sender, cost uint32) {
	if s.ledger == nil {
		return
	}
	s.ledger.Used(ledger.Use{
		Service: s.name, Table: t.name, Operation: op.Name, Principal: from.principal, Shape: from.shape, Filled: uint64(cost),
	})
}
