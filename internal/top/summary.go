package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// summary is the state of all nodes between their last two reports.
type summary struct {
	version  string
	now      time.Time // of the first node that has answered
	uptime   time.Duration
	seconds  float64 // the longest time between two reports; 0 without two
	answered int     // nodes that have answered the last poll
	all      figures
	services []service
	tables   []table
	nodes    []nodeRow
	breakers string
	notices  []string // why something is not ready
}

// service is a service of all nodes.
type service struct {
	name, kind string
	figures
	breaker     string // the worst of all nodes
	connections int
	origin      admin.Origin // sums
	cache       admin.Usage  // sums
}

// table is a table of all nodes.
type table struct {
	service, name, kind string // kind is that of the service
	figures
	lag    *float64 // of its stream, in seconds
	stream *admin.Stream
}

// nodeRow is a node, which may be a member of the cluster that is not polled.
type nodeRow struct {
	name, address string
	state         string
	polled        bool
	answered      bool
	figures
	lag    *float64
	uptime time.Duration
}

// summarize returns the summary of nodes. If only is not empty, the services and tables are those of
// the node with that address.
func summarize(nodes []*node, only string) *summary {
	s := &summary{}
	var silent []string
	for _, n := range nodes {
		row := nodeRow{name: n.label(), address: n.address, polled: true, state: "no answer yet"}
		if n.err != nil {
			row.state = "no answer: " + n.err.Error()
			silent = append(silent, n.label()+": "+row.state)
		}
		if n.last != nil {
			row.answered, row.figures, row.lag, row.state, row.uptime = true, n.all(), n.lag(), n.state(), n.uptime()
			s.answered++
			if only == "" || only == n.address {
				s.addNode(n)
			}
		}
		s.nodes = append(s.nodes, row)
	}
	s.notices = append(silent, s.notices...)
	s.addMembers(nodes)
	slices.SortStableFunc(s.nodes, func(a, b nodeRow) int { return cmp.Compare(a.name, b.name) })
	s.breakers = breakers(s.services)
	return s
}

// addNode adds the services and tables of a node that has answered.
func (s *summary) addNode(n *node) {
	if s.version == "" {
		s.version, s.uptime, s.now = n.last.Version, n.uptime(), n.last.Started.Add(n.uptime()).UTC()
	}
	s.seconds = max(s.seconds, n.seconds())
	all := n.all()
	s.all.add(&all)
	for i := range n.last.Services {
		j := &n.last.Services[i]
		s.addService(n, j)
		for t := range j.Tables {
			s.addTable(n, j, j.Tables[t].Table)
		}
		if !j.Ready && j.Trouble != "" {
			s.notices = append(s.notices, notice(n, j.Name+": "+j.Trouble))
		}
		if !j.Accepting {
			s.notices = append(s.notices, notice(n, j.Name+": its listener is down"))
		}
		for t := range j.Streams {
			if st := &j.Streams[t]; st.Trouble != "" {
				s.notices = append(s.notices, notice(n, j.Name+": stream of "+st.Table+": "+st.Trouble))
			}
		}
	}
	for _, p := range n.last.Config.Problems {
		s.notices = append(s.notices, notice(n, "configuration not taken: "+p))
	}
}

// notice returns a message about a node, with its name if it is in a cluster.
func notice(n *node, text string) string {
	if n.name == "" {
		return text
	}
	return n.name + ": " + text
}

func (s *summary) addService(n *node, j *admin.ServiceJSON) {
	i := slices.IndexFunc(s.services, func(o service) bool { return o.name == j.Name })
	if i < 0 {
		i = len(s.services)
		s.services = append(s.services, service{name: j.Name, kind: j.Type})
	}
	o := &s.services[i]
	f := n.figures(tableID{service: j.Name})
	o.figures.add(&f)
	o.breaker = worse(o.breaker, j.Origin.Breaker)
	o.connections += j.Connections
	if j.DAX != nil {
		o.connections += j.DAX.Connections
	}
	o.origin.URL = j.Origin.URL
	o.origin.InFlight += j.Origin.InFlight
	o.origin.Queued += j.Origin.Queued
	o.origin.Requests += j.Origin.Requests
	o.origin.Retries += j.Origin.Retries
	o.cache.Shared = j.Cache.Shared
	o.cache.Entries += j.Cache.Entries
	o.cache.Bytes += j.Cache.Bytes
	o.cache.Capacity += j.Cache.Capacity
	o.cache.Evictions += j.Cache.Evictions
}

func (s *summary) addTable(n *node, j *admin.ServiceJSON, name string) {
	i := slices.IndexFunc(s.tables, func(o table) bool { return o.service == j.Name && o.name == name })
	if i < 0 {
		i = len(s.tables)
		s.tables = append(s.tables, table{service: j.Name, name: name, kind: j.Type})
	}
	o := &s.tables[i]
	f := n.figures(tableID{j.Name, name})
	o.figures.add(&f)
	for t := range j.Streams {
		if st := &j.Streams[t]; st.Table == name {
			o.lag = later(o.lag, st.Lag)
			if o.stream == nil || st.Reader == "" {
				o.stream = st
			}
		}
	}
}

// addMembers adds the members of the cluster that are not polled, as the first node sees them that
// has answered.
func (s *summary) addMembers(nodes []*node) {
	i := slices.IndexFunc(nodes, func(n *node) bool { return n.last != nil && n.last.Cluster != nil })
	if i < 0 {
		return
	}
	for _, m := range nodes[i].last.Cluster.Members {
		if !slices.ContainsFunc(nodes, func(n *node) bool { return n.name == m.Node }) {
			s.nodes = append(s.nodes, nodeRow{name: m.Node, address: m.Address, state: string(m.State)})
		}
	}
	for _, a := range nodes[i].last.Cluster.Away {
		if !slices.ContainsFunc(s.nodes, func(n nodeRow) bool { return n.name == a.Node }) {
			s.nodes = append(s.nodes, nodeRow{name: a.Node, state: "away: " + a.Reason})
		}
	}
}

// breakerStates are the states of a breaker, the worst last.
var breakerStates = []string{"", "disabled", "closed", "half-open", "open"}

func worse(a, b string) string {
	if slices.Index(breakerStates, b) > slices.Index(breakerStates, a) {
		return b
	}
	return a
}

// breakers returns a text about the breakers of all services.
func breakers(services []service) string {
	var bad []string
	for i := range services {
		if b := services[i].breaker; b == "open" || b == "half-open" {
			bad = append(bad, fmt.Sprintf("%s %s", shown(services[i].name), b))
		}
	}
	if bad == nil {
		return "breakers closed"
	}
	return "breakers: " + strings.Join(bad, ", ")
}

// order is a column that tables are sorted by.
type order struct {
	title string // of the column
	less  func(a, b *table) int
}

// orders are the columns that tables can be sorted by, each with the greatest first except for names.
var orders = []order{
	{"REQ/S", func(a, b *table) int {
		return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(b.total.requests(), a.total.requests()))
	}},
	{"HIT%", func(a, b *table) int { return cmp.Compare(ratio(b), ratio(a)) }},
	{"HIT P99", func(a, b *table) int { return cmp.Compare(slow(&b.recent.hits), slow(&a.recent.hits)) }},
	{"ORIG P99", func(a, b *table) int { return cmp.Compare(slow(&b.recent.origin), slow(&a.recent.origin)) }},
	{"SENT/S", func(a, b *table) int { return cmp.Compare(b.figures.sent, a.figures.sent) }},
	{"LAG", func(a, b *table) int { return cmp.Compare(lagOf(b), lagOf(a)) }},
	{"TABLE", func(a, b *table) int { return cmp.Compare(a.name, b.name) }},
}

func ratio(t *table) float64 {
	if r, ok := t.recent.hitRatio(); ok {
		return r
	}
	return -1
}

func lagOf(t *table) float64 {
	if t.lag == nil {
		return -1
	}
	return *t.lag
}

// sortTables sorts tables by one of orders. Equal ones are in the order of their names.
func sortTables(tables []table, by int, reverse bool) {
	slices.SortStableFunc(tables, func(a, b table) int {
		c := orders[by].less(&a, &b)
		if reverse {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.name, b.name), cmp.Compare(a.service, b.service))
	})
}
