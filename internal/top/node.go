package top

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// node is one polled Kasoku.
type node struct {
	address string
	name    string              // in its cluster, as of the last report
	last    *admin.ReportJSON   // nil before the first report, and after a poll without an answer
	before  *admin.ReportJSON   // the one before last, of the same process; or nil
	err     error               // of the last poll
	tables  map[tableID]*counts // of last
	earlier map[tableID]*counts // of before
	keys    *admin.TableKeys    // of the last poll; nil if none were polled, or there are none
	keysOf  row                 // the row of keys
}

// tableID is a table of a service, or with an empty table the service.
type tableID struct{ service, table string }

// take takes the result of a poll.
func (n *node) take(j *admin.ReportJSON, err error) {
	n.before, n.earlier = nil, nil
	if err != nil {
		n.last, n.tables, n.err = nil, nil, err
		return
	}
	if n.last != nil && n.last.Started.Equal(j.Started) && n.last.Uptime < j.Uptime {
		n.before, n.earlier = n.last, n.tables
	}
	n.last, n.tables, n.err = j, countsOf(j), nil
	n.name = ""
	if j.Cluster != nil {
		n.name = j.Cluster.Node
	}
}

func countsOf(j *admin.ReportJSON) map[tableID]*counts {
	all, same := map[tableID]*counts{}, sameBuckets(j)
	for i := range j.Services {
		s := &j.Services[i]
		var sent uint64
		for t := range s.Tables {
			table := &s.Tables[t]
			c := newCounts(table.Decisions, table.SentBytes, &table.Latencies, same)
			all[tableID{s.Name, table.Table}] = &c
			sent += table.SentBytes
		}
		c := newCounts(s.Decisions, sent, &s.Latencies, same)
		all[tableID{service: s.Name}] = &c
	}
	return all
}

// label returns the name of the node for people.
func (n *node) label() string { return cmp.Or(n.name, strings.TrimPrefix(n.address, "http://")) }

// seconds returns the time between the last two reports, 0 without two.
func (n *node) seconds() float64 {
	if n.before == nil {
		return 0
	}
	return n.last.Uptime - n.before.Uptime
}

// figures returns the figures of a service or a table.
func (n *node) figures(id tableID) figures {
	now := n.tables[id]
	f := figures{total: *now, recent: *now}
	if n.before == nil {
		return f
	}
	before := n.earlier[id]
	if before == nil {
		before = &counts{}
	}
	f.recent = now.since(before)
	f.timed = true
	f.rate = float64(f.recent.requests()) / n.seconds()
	f.sent = float64(f.recent.sent) / n.seconds()
	f.rates = map[string]float64{}
	for name, count := range f.recent.decisions {
		f.rates[name] = float64(count) / n.seconds()
	}
	return f
}

// all returns the figures of all services.
func (n *node) all() (sum figures) {
	for i := range n.last.Services {
		f := n.figures(tableID{service: n.last.Services[i].Name})
		sum.add(&f)
	}
	return sum
}

// lag returns the greatest lag of the node's streams, in seconds; nil without one.
func (n *node) lag() (lag *float64) {
	for i := range n.last.Services {
		for t := range n.last.Services[i].Streams {
			lag = later(lag, n.last.Services[i].Streams[t].Lag)
		}
	}
	return lag
}

// later returns the greater one of two lags, which may be nil.
func later(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// state returns the state of the node: that in its cluster, or whether it is ready.
func (n *node) state() string {
	j := n.last
	switch {
	case j.Draining:
		return "stopping"
	case j.Cluster != nil && j.Cluster.Obstacle != "":
		return string(j.Cluster.State) + ": " + j.Cluster.Obstacle
	case j.Cluster != nil:
		return string(j.Cluster.State)
	case len(j.Services) > 0 && !slices.ContainsFunc(j.Services, func(s admin.ServiceJSON) bool { return s.Ready }):
		return "not ready"
	}
	return "ready"
}

// uptime returns the time since the start of the process.
func (n *node) uptime() time.Duration { return time.Duration(n.last.Uptime * float64(time.Second)) }

// figures are counts of all nodes together, with rates.
type figures struct {
	total  counts             // since the start
	recent counts             // between the last two reports; total without two
	timed  bool               // there are rates
	rate   float64            // requests per second
	rates  map[string]float64 // requests per second by decision
	sent   float64            // bytes per second
}

// add adds the figures of another node, or of another service. Without rates they are left out of the
// recent ones, if there are some with rates.
func (f *figures) add(o *figures) {
	f.total.add(&o.total)
	if f.timed == o.timed {
		f.recent.add(&o.recent)
	} else if o.timed {
		f.recent = o.recent
	}
	f.timed = f.timed || o.timed
	f.rate += o.rate
	f.sent += o.sent
	sum := map[string]float64{}
	for _, rates := range []map[string]float64{f.rates, o.rates} {
		for name, r := range rates {
			sum[name] += r
		}
	}
	f.rates = sum
}
