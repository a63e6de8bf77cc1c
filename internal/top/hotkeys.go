package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
)

// keyedRow returns the row whose keys are polled: the table of a detail, or a service without tables.
func (s *state) keyedRow() (r row, ok bool) {
	if s.page != detailPage {
		return row{}, false
	}
	o := s.service(s.detail)
	return s.detail, s.table(s.detail) != nil || o != nil && o.kind != "dynamodb"
}

// keysOf returns the keys of a row as the nodes have reported them: the sums of their counts. A node
// whose list lacks a key adds nothing to it. The result is nil if no node has reported any.
func keysOf(nodes []*node, only string, r row) *admin.TableKeys {
	var sum *admin.TableKeys
	for _, n := range nodes {
		if n.keys == nil || n.keysOf != r || only != "" && only != n.address {
			continue
		}
		if sum == nil {
			sum = &admin.TableKeys{Top: map[string][]admin.KeyCount{}}
		}
		sum.Totals.Requests += n.keys.Totals.Requests
		for order, list := range n.keys.Top {
			sum.Top[order] = added(sum.Top[order], list)
		}
		sum.Throttles = append(sum.Throttles, n.keys.Throttles...)
	}
	return sum
}

// added returns the counts of both lists, the highest first.
func added(a, b []admin.KeyCount) []admin.KeyCount {
	all := slices.Clone(a)
	for _, k := range b {
		i := slices.IndexFunc(all, func(o admin.KeyCount) bool { return o.Hash == k.Hash })
		if i < 0 {
			all = append(all, k)
			continue
		}
		all[i].Count += k.Count
		all[i].Error += k.Error
	}
	slices.SortStableFunc(all, func(a, b admin.KeyCount) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// visibleKeys is the number of keys and of throttled requests of a detail.
const visibleKeys = 8

// keyLines returns the keys with the most requests, and the requests that the origin has throttled
// in the last minutes.
func keyLines(t *admin.TableKeys, w int) []string {
	if t == nil {
		return nil
	}
	var lines []string
	if requests := t.Top["requests"]; len(requests) > 0 {
		g := &grid{marked: -1, columns: []column{{title: "KEY (LAST MINUTES)"}, {title: "REQUESTS", width: 8}, {title: "SHARE", width: 6}, {title: "MISSES", width: 7}}}
		for _, k := range requests[:min(len(requests), visibleKeys)] {
			g.rows = append(g.rows, []string{keyName(k.Key, k.Hash), count(k.Count), shareOf(k.Count, t.Totals.Requests), countOf(t.Top["misses"], k.Hash)})
		}
		lines = g.lines(w, len(g.rows))
	}
	shownRows := 0
	for i := range t.Throttles {
		r := &t.Throttles[i]
		if r.Recent == 0 || shownRows == visibleKeys {
			continue
		}
		shownRows++
		for _, line := range wrap(fmt.Sprintf("throttled %s times in 5 min: %s", count(r.Recent), shown(r.Reason)), w) {
			lines = append(lines, alarm.on(left(line, w)))
		}
		if name := keyName(r.Key, r.Hash); name != "" {
			lines = append(lines, left("  "+name, w))
		}
		if r.Advice != "" {
			for _, line := range wrap(shown(r.Advice), w-2) {
				lines = append(lines, left("  "+line, w))
			}
		}
	}
	return lines
}

// keyName returns a key for people: its hash if the token does not show keys.
func keyName(key, hash string) string { return shown(strings.TrimSpace(cmp.Or(key, hash))) }

// shareOf returns the share of a count in percent.
func shareOf(n, all uint64) string {
	if all == 0 {
		return "-"
	}
	return percent(float64(n)/float64(all)) + "%"
}

// countOf returns the count of a key in a list, "-" if it is not among the first ones.
func countOf(list []admin.KeyCount, hash string) string {
	i := slices.IndexFunc(list, func(k admin.KeyCount) bool { return k.Hash == hash })
	if i < 0 {
		return "-"
	}
	return count(list[i].Count)
}
