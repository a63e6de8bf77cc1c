package accel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// streamReport returns the states of all feeds, and the tables that are not followed because their
// streams can't be read.
func (s *Service) streamReport() []admin.Stream {
	var list []admin.Stream
	for _, f := range s.feeds.list() {
		list = append(list, f.state())
	}
	for table, err := range s.feeds.troubles() {
		list = append(list, admin.Stream{Table: table, Served: true, Trouble: notFollowed(err)})
	}
	slices.SortFunc(list, func(a, b admin.Stream) int { return cmp.Compare(a.Table, b.Table) })
	return list
}

func notFollowed(err error) string { return "not followed, since it can't be read: " + err.Error() }

// state returns the state of a feed for reports.
func (f *feed) state() admin.Stream {
	now := f.svc.cache.Now()
	st := admin.Stream{Table: f.table, Served: now < f.until.Load(), Lag: f.lag(now)}
	f.mu.Lock()
	follower := f.follower
	st.Reader, st.Trouble = f.reader, f.ended
	f.mu.Unlock()
	if follower == nil {
		return st
	}
	for _, sh := range follower.Shards() {
		shard := admin.Shard{ID: sh.ID, Trouble: errorText(sh.Err)}
		if !sh.Through.IsZero() {
			lag := time.Since(sh.Through).Seconds()
			shard.Lag = &lag
		}
		if st.Trouble == "" {
			st.Trouble = shard.Trouble
		}
		st.Shards = append(st.Shards, shard)
	}
	return st
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lag returns the time since the stream was known to be read to its end, nil before the first time.
func (f *feed) lag(now int64) *float64 {
	until := f.until.Load()
	if until == 0 {
		return nil
	}
	lag := max(0, time.Duration(now-until)+f.maxLag).Seconds()
	return &lag
}

const (
	lagMetric = "kasoku_streams_lag_seconds"
	lagHelp   = "Time since a stream, or one of its shards, was known to be read to its end. Without a shard: the stream as a whole. Without a table: the greatest of all streams that were read."
)

// exposeLag makes the greatest lag of all feeds a gauge.
func (s *Service) exposeLag() {
	s.registry.Gauge(lagMetric, lagHelp, func() float64 {
		greatest := math.NaN()
		for _, f := range s.feeds.list() {
			if lag := f.lag(s.cache.Now()); lag != nil && !(*lag <= greatest) {
				greatest = *lag
			}
		}
		return greatest
	}, "service", s.name, "table", "", "shard", "")
}

// maxShardGauges is the number of shards of a table whose lag has a gauge.
const maxShardGauges = 100

// expose makes the lag of the feed and of its shards a gauge, and removes those of former shards.
func (f *feed) expose(shards []streams.ShardState) {
	r, labels := f.svc.registry, []string{"service", f.svc.name, "table", f.table, "shard", ""}
	// Another feed of the same table may have removed the gauge when it ended.
	r.Gauge(lagMetric, lagHelp, func() float64 {
		if lag := f.lag(f.svc.cache.Now()); lag != nil {
			return *lag
		}
		return math.NaN()
	}, slices.Clone(labels)...)
	former := f.gauges
	f.gauges = make(map[string]bool)
	for _, sh := range shards[:min(len(shards), maxShardGauges)] {
		f.gauges[sh.ID] = true
		through := sh.Through
		labels[len(labels)-1] = sh.ID
		r.Gauge(lagMetric, lagHelp, func() float64 {
			if through.IsZero() {
				return math.NaN()
			}
			return time.Since(through).Seconds()
		}, slices.Clone(labels)...)
	}
	for id := range former {
		if !f.gauges[id] {
			labels[len(labels)-1] = id
			r.Unregister(slices.Clone(labels)...)
		}
	}
}

// conceal removes the gauges of the feed.
func (f *feed) conceal() {
	f.gauges = nil
	f.svc.registry.Unregister("service", f.svc.name, "table", f.table)
}

// stream explains the stream of the table. It reports whether it has ended the explanation, because
// the stream isn't read in time.
func (e *explanation) stream(t *table) bool {
	if t.feed == nil {
		if err := e.c.svc.feeds.troubles()[t.name]; err != nil {
			e.step("stream", notFollowed(err), "writes past Kasoku are seen when the TTLs of answers end")
		}
		return false
	}
	st := t.feed.state()
	reader := "read by this process"
	if st.Reader != "" {
		reader = "read by node " + st.Reader
	}
	if st.Lag == nil {
		e.step("stream", "not read yet", st.Trouble)
	} else {
		e.step("stream", fmt.Sprintf("read to its end %.2fs ago", *st.Lag), reader)
	}
	if !t.lags(e.c.now) {
		return false
	}
	e.decide(telemetry.BypassLagging, fmt.Sprintf("the stream was not read to its end within %s; forwarded to the origin", t.feed.maxLag))
	return true
}
