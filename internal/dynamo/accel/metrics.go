package accel

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// decisionCounters are the counters of one operation by decision, created on first use
// because most are never used.
type decisionCounters [32]atomic.Pointer[telemetry.Counter]

// metrics are the service's counters.
type metrics struct {
	registry  *telemetry.Registry
	service   string
	decisions map[*wire.Operation]*decisionCounters // by operation; nil for requests without one
	denied    *telemetry.Counter
	faults    *telemetry.Counter
	batch     struct{ hit, miss, strong *telemetry.Counter } // keys of BatchGetItem
	streams   streams.Metrics
	own       *telemetry.Counter // records of writes through this process
}

func newMetrics(r *telemetry.Registry, service string) *metrics {
	m := &metrics{registry: r, service: service, decisions: map[*wire.Operation]*decisionCounters{nil: {}, &wire.UnknownOperation: {}}}
	for _, ops := range [][]wire.Operation{wire.Operations, wire.StreamOperations} {
		for i := range ops {
			m.decisions[&ops[i]] = &decisionCounters{}
		}
	}
	m.denied = r.Counter("kasoku_dynamodb_denied_total",
		"Requests refused for their signature or for lack of permission.", "service", service)
	m.faults = r.Counter("kasoku_dynamodb_cache_faults_total",
		"Faults inside the accelerator; the requests were passed through where that was safe. Always worth a bug report.", "service", service)
	keys := func(d telemetry.Decision) *telemetry.Counter {
		return r.Counter("kasoku_dynamodb_batch_keys_total",
			"Keys requested by BatchGetItem: served from memory, fetched, or read strongly consistently.",
			"service", service, "decision", d.String())
	}
	m.batch.hit, m.batch.miss, m.batch.strong = keys(telemetry.Hit), keys(telemetry.Miss), keys(telemetry.BypassConsistent)
	called := func(operation string) *telemetry.Counter {
		return r.Counter("kasoku_streams_calls_total", "Requests to the origin that read the streams of tables.", "service", service, "operation", operation)
	}
	m.streams = streams.Metrics{
		Describes: called("DescribeStream"), Iterators: called("GetShardIterator"), Reads: called("GetRecords"),
		Records:   r.Counter("kasoku_streams_records_total", "Records of streams that were applied.", "service", service),
		Late:      r.Counter("kasoku_streams_late_records_total", "Records that a stream had only after it had been read to its end: the origin delays its streams, so that an answer may be older than streams_max_lag by as much.", "service", service),
		Fences:    r.Counter("kasoku_streams_fences_total", "Times at which everything of a table was dropped, because its stream was followed anew or records may have been missed.", "service", service),
		Throttles: r.Counter("kasoku_streams_throttled_total", "Requests to read streams that the origin has throttled.", "service", service),
	}
	m.own = r.Counter("kasoku_streams_own_records_total", "Records of writes through this process or another node of the cluster, which have invalidated before what they change. Counted by the node that reads the stream.", "service", service)
	return m
}

// decision counts a request by its decision.
func (m *metrics) decision(op *wire.Operation, d telemetry.Decision) {
	cell := &m.decisions[op][d]
	c := cell.Load()
	if c == nil {
		name := "none" // rejected before the operation was determined
		switch op {
		case nil:
		case &wire.UnknownOperation:
			name = "unknown" // clients could send any name, which must not create series
		default:
			name = op.Name
		}
		c = m.registry.Counter("kasoku_dynamodb_requests_total",
			"Requests by operation and by how they were answered.",
			"service", m.service, "operation", name, "decision", d.String())
		cell.Store(c)
	}
	c.Inc()
}

// counts returns the number of requests by decision over all operations.
func (m *metrics) counts() map[telemetry.Decision]uint64 {
	sum := make(map[telemetry.Decision]uint64)
	for _, cells := range m.decisions {
		for d := range cells {
			if c := cells[d].Load(); c != nil {
				sum[telemetry.Decision(d)] += c.Value()
			}
		}
	}
	return sum
}
