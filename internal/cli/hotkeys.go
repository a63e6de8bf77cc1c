package cli

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
)

// keyed is a service that renders the keys of its records. Those of other services are text.
type keyed interface {
	KeyText(table string, key []byte) (partition, text string)
	TTLs(table string) (item, query time.Duration)
}

// keyed returns the service called name if it is keyed, or nil.
func (n *Node) keyed(name string) keyed {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.find(name); m != nil {
		if k, ok := m.service.(keyed); ok {
			return k
		}
	}
	return nil
}

// tableKeys returns the keys with the highest counts of each table.
func (n *Node) tableKeys(recent bool) []admin.TableKeys {
	span := hotkeys.Forever
	if recent {
		span = hotkeys.Recent
	}
	var all []admin.TableKeys
	at := map[[2]string]int{} // the index of a table by its service and name
	tables := n.hotKeys.Figures(span)
	for i := range tables {
		f := &tables[i]
		at[[2]string{f.Service, f.Table}] = len(all)
		all = append(all, n.keysOf(f))
	}
	rows := n.hotKeys.Throttles()
	for i := range rows {
		r := &rows[i]
		id := [2]string{r.Service, r.Table}
		var f *hotkeys.Table
		if j, ok := at[id]; ok && j < len(tables) {
			f = &tables[j]
		} else if !ok {
			at[id] = len(all)
			all = append(all, admin.TableKeys{Service: r.Service, Table: r.Table, Since: n.started, Top: map[string][]admin.KeyCount{}})
		}
		t := &all[at[id]]
		t.Throttles = append(t.Throttles, n.throttle(r, f))
	}
	return all
}

// keysOf returns the keys of a table.
func (n *Node) keysOf(f *hotkeys.Table) admin.TableKeys {
	svc := n.keyed(f.Service)
	t := admin.TableKeys{
		Service: f.Service, Table: f.Table, Since: f.Since.UTC(), Top: map[string][]admin.KeyCount{},
		Totals: admin.KeyTotals{Requests: f.Totals[hotkeys.Requests], Misses: f.Totals[hotkeys.Misses], Bytes: f.Totals[hotkeys.Bytes], Invalidations: f.Totals[hotkeys.Invalidations]},
	}
	for m, name := range hotkeys.MetricNames {
		list := make([]admin.KeyCount, 0, len(f.Top[m]))
		for _, k := range f.Top[m] {
			_, text := keyText(svc, f.Table, k.Text)
			list = append(list, admin.KeyCount{Key: text, Hash: hashText(k.Hash), Count: k.Count, Error: k.Error})
		}
		t.Top[name] = list
	}
	return t
}

// keyText renders a key. svc is nil for a service whose keys are text.
func keyText(svc keyed, table string, key []byte) (partition, text string) {
	if svc == nil {
		return "", strings.ToValidUTF8(string(key), "\ufffd")
	}
	return svc.KeyText(table, key)
}

// hashText returns a hash as in the access log's field key; "" for none.
func hashText(hash uint64) string {
	if hash == 0 {
		return ""
	}
	return string(telemetry.AppendHash(nil, hash))
}

// throttle returns a row of throttled requests. f has the figures of its table, or is nil.
func (n *Node) throttle(r *hotkeys.ThrottleRow, f *hotkeys.Table) admin.KeyThrottle {
	svc := n.keyed(r.Service)
	t := admin.KeyThrottle{
		Reason: r.Reason, Resource: r.Resource, Hash: hashText(r.Hash), Count: r.Count, Recent: r.Recent, Last: r.Last.UTC(),
	}
	if svc == nil {
		return t
	}
	t.Partition, t.Key = svc.KeyText(r.Table, r.Key)
	a := advice{table: r.Table, reason: r.Reason, query: strings.HasPrefix(t.Key, "partition ")}
	a.item, a.queries = svc.TTLs(r.Table)
	if f != nil {
		a.setShare(f, r.Hash)
	}
	t.Advice = a.text()
	return t
}

// throttledTables returns a function that returns the tables of a service with throttled requests.
func (n *Node) throttledTables(service string) func() []admin.ThrottledTable {
	return func() []admin.ThrottledTable {
		var all []admin.ThrottledTable
		at := map[string]int{}
		for _, r := range n.hotKeys.Throttles() { // those with the most recent ones are the first
			if r.Service != service || r.Recent == 0 {
				continue
			}
			i, ok := at[r.Table]
			if !ok {
				i = len(all)
				at[r.Table] = i
				all = append(all, admin.ThrottledTable{Table: r.Table, Reason: r.Reason})
			}
			all[i].Recent += r.Recent
			if last := r.Last.UTC(); last.After(all[i].Last) {
				all[i].Last = last
			}
		}
		return all
	}
}

// advice is a recommendation for throttled requests.
type advice struct {
	table, reason string
	query         bool          // the requests are queries
	item, queries time.Duration // for which items and queries of the table are cached
	reads         uint64        // of the key, or of the table if whole is set
	misses        uint64
	whole         bool
}

// setShare sets the share of misses, of the key if it is among the ones with the most misses.
func (a *advice) setShare(f *hotkeys.Table, hash uint64) {
	find := func(m hotkeys.Metric) uint64 {
		for _, k := range f.Top[m] {
			if hash != 0 && k.Hash == hash {
				return k.Count
			}
		}
		return 0
	}
	if requests, misses := find(hotkeys.Requests), find(hotkeys.Misses); requests > 0 && misses > 0 {
		reads := requests - min(requests, find(hotkeys.Invalidations))
		a.reads, a.misses = max(reads, misses), misses
		return
	}
	a.reads, a.misses, a.whole = f.Reads, f.Totals[hotkeys.Misses], true
}

// fewMisses is the share of misses, in percent, below which the cache can't save many more reads.
const fewMisses = 20

// text returns the recommendation as a sentence without a full stop.
func (a *advice) text() string {
	if strings.Contains(a.reason, "Write") {
		return "writes always reach the origin: distribute them over more partition keys, or raise the write capacity of " + a.of()
	}
	option, ttl, things := "item_ttl", a.item, "items"
	if a.query {
		option, ttl, things = "query_ttl", a.queries, "queries"
	}
	if a.reads == 0 {
		if ttl == 0 {
			return fmt.Sprintf("%s are not cached because %s is 0: set it for %s", things, option, a.of())
		}
		return ""
	}
	whose := "its"
	if a.whole {
		whose = "the table's"
	}
	share := int(math.Round(100 * float64(a.misses) / float64(a.reads)))
	head := fmt.Sprintf("%d %% of %s reads are misses", share, whose)
	switch {
	case ttl == 0:
		return fmt.Sprintf("%s because %s is 0: set %s for %s", head, option, option, a.of())
	case share < fewMisses:
		return fmt.Sprintf("%s: distribute the reads over more partition keys, or raise the read capacity of %s", head, a.of())
	}
	return fmt.Sprintf("%s with %s %s: a longer one, or refresh_ahead, makes them fewer", head, option, ttl)
}

// of names the table.
func (a *advice) of() string {
	if a.table == "" {
		return "the table"
	}
	return "table " + a.table
}
