package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Query selects figures of a ledger and how they are summed up.
type Query struct {
	From           time.Time // the hour with this time is included
	Service, Table string    // empty: all
	By             []string  // names of [Groups]
}

// Groups are the properties by which figures can be summed up.
var Groups = []string{"hour", "service", "table", "index", "operation", "shape", "principal"}

// ParseGroups returns the groups in a list separated by commas. It returns an error for an unknown
// one.
func ParseGroups(list string) ([]string, error) {
	var by []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(Groups, name) {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(Groups, ", "))
		}
		by = append(by, name)
	}
	return by, nil
}

// Row is the sum of some figures.
type Row struct {
	Hour *time.Time // the start of the hour, if they are summed up by hour
	Account
	Figures
}

// Rows returns figures, in descending order of the units that were used and saved, and by hour
// in the order of the hours. It includes the requests until now.
func (l *Ledger) Rows(q Query) []Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather(time.Now())
	type group struct {
		hour hour
		Account
	}
	sums := map[group]Figures{}
	for h, m := range l.hours {
		if h < hourOf(q.From) {
			continue
		}
		for a, f := range m {
			if q.Service != "" && a.Service != q.Service || q.Table != "" && a.Table != q.Table {
				continue
			}
			g := group{Account: a.only(q.By)}
			if slices.Contains(q.By, "hour") {
				g.hour = h
			}
			sums[g] = sums[g].plus(f)
		}
	}
	rows := make([]Row, 0, len(sums))
	for g, f := range sums {
		r := Row{Account: g.Account, Figures: f}
		if g.hour != 0 {
			start := g.hour.start()
			r.Hour = &start
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, compare)
	return rows
}

// only returns the account with only the properties that groups have.
func (a Account) only(groups []string) (out Account) {
	for _, g := range groups {
		switch g {
		case "service":
			out.Service = a.Service
		case "table":
			out.Table = a.Table
		case "index":
			out.Index = a.Index
		case "operation":
			out.Operation = a.Operation
		case "shape":
			out.Shape = a.Shape
		case "principal":
			out.Principal = a.Principal
		}
	}
	return out
}

func compare(a, b Row) int {
	if a.Hour != nil && b.Hour != nil {
		if c := a.Hour.Compare(*b.Hour); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(b.weight(), a.weight()), a.Account.compare(b.Account))
}

func (a Account) compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Index, b.Index),
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Principal, b.Principal))
}
