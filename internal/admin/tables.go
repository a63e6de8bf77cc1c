package admin

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Table has the figures of a table since the start of the process.
type Table struct {
	Table    string `json:"table"`
	Requests uint64 `json:"requests"`
	// Decisions counts the requests by how they were answered.
	Decisions map[string]uint64 `json:"decisions"`
	HitRatio  *float64          `json:"hit_ratio"` // null before the first read
	SentBytes uint64            `json:"sent_bytes"`
	Latencies
}

// Latencies are the times of the requests for a service or a table since the start of the process.
type Latencies struct {
	// HitSeconds are the times of requests that were served from memory, OriginSeconds the times
	// that requests waited for the origin; null if there were none.
	HitSeconds    *Times `json:"hit_seconds"`
	OriginSeconds *Times `json:"origin_seconds"`
	// HitBuckets and OriginBuckets count the same times by [ReportJSON.BucketSeconds], with one
	// more number for times beyond the last bound.
	HitBuckets    []uint64 `json:"hit_buckets,omitempty"`
	OriginBuckets []uint64 `json:"origin_buckets,omitempty"`

	hits, origin telemetry.Snapshot
}

func newLatencies(hits, origin telemetry.Snapshot) Latencies {
	return Latencies{HitSeconds: times(&hits), OriginSeconds: times(&origin), hits: hits, origin: origin}
}

// addBuckets sets HitBuckets and OriginBuckets.
func (l *Latencies) addBuckets() {
	l.HitBuckets, l.OriginBuckets = l.hits.Counts[:], l.origin.Counts[:]
}

// Times are quantiles, in seconds.
type Times struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// NewTable returns the figures of a table.
func NewTable(name string, decisions map[telemetry.Decision]uint64, sent uint64, hits, origin telemetry.Snapshot) Table {
	t := Table{Table: name, Decisions: map[string]uint64{}, SentBytes: sent, Latencies: newLatencies(hits, origin)}
	for d, n := range decisions {
		t.Requests += n
		t.Decisions[d.String()] = n
	}
	if ratio, ok := HitRatio(decisions); ok {
		t.HitRatio = &ratio
	}
	return t
}

func times(s *telemetry.Snapshot) *Times {
	p50, ok := s.Quantile(0.5)
	p99, _ := s.Quantile(0.99)
	if !ok {
		return nil
	}
	return &Times{P50: p50.Seconds(), P99: p99.Seconds()}
}

// busiest sorts tables by their requests, the most first.
func busiest(tables []Table) []Table {
	slices.SortStableFunc(tables, func(a, b Table) int { return cmp.Compare(b.Requests, a.Requests) })
	return tables
}

// maxTableRows is the maximum number of tables of a service on a page. The JSON has all of them.
const maxTableRows = 20

// tables adds a row for each of the busiest tables.
func tables(b *bytes.Buffer, services []ServiceJSON) {
	if !slices.ContainsFunc(services, func(s ServiceJSON) bool { return len(s.Tables) > 0 }) {
		return
	}
	table(b, "TABLE\tSERVICE\tREQUESTS\tHIT%\tHIT P50\tHIT P99\tORIGIN P50\tORIGIN P99\tSENT", services, func(s *ServiceJSON) string {
		var rows []string
		for _, t := range s.Tables[:min(len(s.Tables), maxTableRows)] {
			hit, origin := t.HitSeconds.texts(), t.OriginSeconds.texts()
			rows = append(rows, join(t.Table, s.Name, count(t.Requests), percent(t.HitRatio), hit[0], hit[1], origin[0], origin[1], bytesText(t.SentBytes)))
		}
		if more := len(s.Tables) - maxTableRows; more > 0 {
			rows = append(rows, join("("+strconv.Itoa(more)+" more)", s.Name))
		}
		return strings.Join(rows, "\n")
	})
}

// texts returns both quantiles with three digits.
func (t *Times) texts() [2]string {
	if t == nil {
		return [2]string{"-", "-"}
	}
	return [2]string{timeText(t.P50), timeText(t.P99)}
}

func timeText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	unit := time.Duration(1)
	for unit*1000 <= d {
		unit *= 10
	}
	return d.Round(unit).String()
}
