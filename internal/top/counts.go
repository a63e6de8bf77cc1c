package top

import (
	"maps"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// counts are the requests for a service or a table.
type counts struct {
	decisions    map[string]uint64
	sent         uint64 // bytes
	hits, origin telemetry.Snapshot
}

// newCounts returns the counts of a report; without times unless its histograms have the buckets of
// this program.
func newCounts(decisions map[string]uint64, sent uint64, l *admin.Latencies, same bool) counts {
	c := counts{decisions: decisions, sent: sent}
	if same {
		c.hits, c.origin = snapshotOf(l.HitBuckets), snapshotOf(l.OriginBuckets)
	}
	return c
}

// sameBuckets reports whether the histograms of a report have the buckets of this program.
func sameBuckets(j *admin.ReportJSON) bool {
	if len(j.BucketSeconds) != len(telemetry.Buckets) {
		return false
	}
	for i, bound := range telemetry.Buckets {
		if j.BucketSeconds[i] != bound.Seconds() {
			return false
		}
	}
	return true
}

func snapshotOf(buckets []uint64) (s telemetry.Snapshot) {
	for i, n := range buckets[:min(len(buckets), len(s.Counts))] {
		s.Counts[i] = n
		s.Count += n
	}
	return s
}

// requests returns the number of requests.
func (c *counts) requests() (n uint64) {
	for _, d := range c.decisions {
		n += d
	}
	return n
}

// hitRatio returns the share of cacheable reads that were answered from the cache; false without
// such a read.
func (c *counts) hitRatio() (float64, bool) {
	known := map[telemetry.Decision]uint64{}
	for _, d := range telemetry.Decisions {
		known[d.Decision] = c.decisions[d.Name]
	}
	return admin.HitRatio(known)
}

// add adds other counts.
func (c *counts) add(o *counts) {
	sum := maps.Clone(c.decisions)
	if sum == nil {
		sum = map[string]uint64{}
	}
	for name, n := range o.decisions {
		sum[name] += n
	}
	c.decisions = sum
	c.sent += o.sent
	c.hits.Add(&o.hits)
	c.origin.Add(&o.origin)
}

// since returns the part of c that was counted after before. Counts that are less than before began
// again, because a service was removed and added.
func (c *counts) since(before *counts) counts {
	part := counts{decisions: map[string]uint64{}, sent: less(c.sent, before.sent)}
	for name, n := range c.decisions {
		if n = less(n, before.decisions[name]); n > 0 {
			part.decisions[name] = n
		}
	}
	part.hits, part.origin = snapshotSince(&c.hits, &before.hits), snapshotSince(&c.origin, &before.origin)
	return part
}

func snapshotSince(now, before *telemetry.Snapshot) (s telemetry.Snapshot) {
	for i, n := range now.Counts {
		s.Counts[i] = less(n, before.Counts[i])
		s.Count += s.Counts[i]
	}
	return s
}

// less returns the difference of two values of a counter.
func less(now, before uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}
