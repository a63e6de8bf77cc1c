package follow

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the metrics of one table.
type metrics struct {
	refused, abandoned, awaited *telemetry.Counter

	nodes []nodeMetrics
}

type nodeMetrics struct {
	rows, resets *telemetry.Counter
	replicated   *telemetry.Histogram
}

func newMetrics(t *Table) *metrics {
	r, service := t.cfg.Registry, t.cfg.Service
	r.Gauge("kasoku_couch_databases", "Databases in use, whose feeds are followed.",
		func() float64 { return float64(len(*t.databases.Load())) }, "service", service)
	r.Gauge("kasoku_couch_unfollowed_databases", "Databases in use that are not served from memory now, since a node's feed can't be followed or was silent for max_unfollowed.",
		func() float64 { return float64(t.unservable()) }, "service", service)
	m := &metrics{
		refused:   r.Counter("kasoku_couch_refused_databases_total", "Times a database was not followed because there are too many.", "service", service),
		abandoned: r.Counter("kasoku_couch_forsaken_total", "Changes that a node lacked for so long that it is presumed never to get them.", "service", service),
		awaited:   r.Counter("kasoku_couch_merging_total", "Reads of results that waited until one node had the writes that two nodes had taken.", "service", service),
	}
	for node, name := range t.cfg.Nodes {
		m.nodes = append(m.nodes, newNodeMetrics(t, node, "service", service, "node", name))
	}
	return m
}

func newNodeMetrics(t *Table, node int, labels ...string) nodeMetrics {
	r := t.cfg.Registry
	gauge := func(name, help string, f func(d *Database, now int64) time.Duration) {
		r.Gauge(name, help, func() float64 { return t.maxOver(f).Seconds() }, labels...)
	}
	gauge("kasoku_couch_feed_lag_seconds", "Time since a feed of the node was complete: the longest of its feeds. Above max_unfollowed nothing is served from memory.",
		func(d *Database, now int64) time.Duration { return d.silence(node, now) })
	gauge("kasoku_couch_lag_seconds", "Age of the oldest change that the node lacks: the lag of replication to it. Above max_lag nothing is read from it.",
		func(d *Database, now int64) time.Duration { return d.tracker.replicaState(node, now).Lag })
	for _, phase := range []Phase{Connecting, Following, Polling, Absent} {
		r.Gauge("kasoku_couch_feeds", "Feeds of the node by phase: connecting for long means that the node can't be reached or refuses.",
			func() float64 { return float64(t.feeds(node, phase)) }, append(labels[:4:4], "phase", phase.String())...)
	}
	return nodeMetrics{
		rows:       r.Counter("kasoku_couch_changes_total", "Changes that the node's feeds have reported.", labels...),
		resets:     r.Counter("kasoku_couch_resets_total", "Times that all copies of a database were dropped, since its feed on the node began again.", labels...),
		replicated: r.Histogram("kasoku_couch_replication_seconds", "Time from a change on another node until the node had it.", labels...),
	}
}

// maxOver returns the maximum of f over all databases.
func (t *Table) maxOver(f func(d *Database, now int64) time.Duration) (longest time.Duration) {
	now := t.cfg.Cache.Now()
	for _, d := range *t.databases.Load() {
		longest = max(longest, f(d, now))
	}
	return longest
}

// silence returns the time since node's feed was heard from; 0 if node does not have the
// database.
func (d *Database) silence(node int, now int64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &d.nodes[node]
	if p.absent {
		return 0
	}
	return time.Duration(now - p.heardAt)
}

func (t *Table) unservable() (n int) {
	now := t.cfg.Cache.Now()
	for _, d := range *t.databases.Load() {
		if !d.Servable(now) {
			n++
		}
	}
	return n
}

// feeds returns the number of the node's feeds in a phase.
func (t *Table) feeds(node int, phase Phase) (n int) {
	for _, d := range *t.databases.Load() {
		if d.followerState(node).Phase == phase {
			n++
		}
	}
	return n
}

// followerState returns the state of node's follower.
func (d *Database) followerState(node int) FollowerState {
	d.mu.Lock()
	f := d.nodes[node].follower
	d.mu.Unlock()
	if f == nil {
		return FollowerState{}
	}
	return f.State()
}
