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

// Statement is the use of origins in a period.
type Statement struct {
	From  time.Time `json:"from"`  // the start of the first hour
	Until time.Time `json:"until"` // now
	By    []string  `json:"by"`
	// Currency is that of all amounts, and PriceDate the month of the prices if they are AWS's.
	// Both are left out if no price is known.
	Currency  string `json:"currency,omitempty"`
	PriceDate string `json:"price_date,omitempty"`
	Rows      []Row  `json:"rows"`
	Total     Row    `json:"total"`
}

// Row has the sums of some requests. Units are capacity units.
type Row struct {
	Hour *time.Time `json:"hour,omitempty"` // its start
	Account
	Requests uint64 `json:"requests"`
	Hits     uint64 `json:"hits"` // served from memory
	// ReadUnits and WriteUnits were consumed at the origin. SavedUnits is what answers from
	// memory would have consumed there. UnusedUnits is the price of answers that were stored and
	// that no other request has used until now.
	ReadUnits   float64 `json:"read_units"`
	WriteUnits  float64 `json:"write_units"`
	SavedUnits  float64 `json:"saved_units"`
	UnusedUnits float64 `json:"unused_units"`
	// SavedSeconds is the difference between the time of the hits and the time that they would
	// have waited for the origin, by the mean of the other requests; nil if there were none.
	// AddedSeconds is the time that requests to the origin have spent in Kasoku itself.
	SavedSeconds *float64 `json:"saved_seconds"`
	AddedSeconds float64  `json:"added_seconds"`
	// Spent is the price of the units that were consumed, Saved of the saved ones and Unused of
	// the unused ones; nil if no price is known.
	Spent  *float64 `json:"spent"`
	Saved  *float64 `json:"saved"`
	Unused *float64 `json:"unused"`

	order uint64
}

// Statement returns a statement until now. Its rows are in descending order of the units that were
// consumed and saved, and by hour in the order of the hours.
func (l *Ledger) Statement(q Query) Statement {
	now := time.Now()
	s := Statement{From: hourOf(q.From).start(), Until: now.UTC(), By: q.By, Rows: []Row{}}
	rows := map[group]*Row{}
	prices := *l.services.Load()
	for g, f := range l.sums(q, now) {
		r := f.row()
		if p := prices[g.Service]; p != (Price{}) {
			r.value(p, &f)
			s.Currency, s.PriceDate = p.Currency, cmp.Or(p.Date, s.PriceDate)
		}
		s.Total.add(&r)
		if g.Account = g.only(q.By); rows[g] == nil {
			rows[g] = &Row{Account: g.Account}
			if slices.Contains(q.By, "hour") {
				start := g.hour.start()
				rows[g].Hour = &start
			}
		}
		rows[g].add(&r)
	}
	for _, r := range rows {
		s.Rows = append(s.Rows, *r)
	}
	slices.SortFunc(s.Rows, compare)
	return s
}

// group are the requests of a row.
type group struct {
	hour hour // 0 if the rows are not by hour
	Account
}

// sums returns the figures that q selects, in its groups and by service, which determines the
// prices. It includes the requests until now.
func (l *Ledger) sums(q Query, now time.Time) map[group]Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gather(now)
	sums := map[group]Figures{}
	by := append([]string{"service"}, q.By...)
	for h, m := range l.hours {
		if h < hourOf(q.From) {
			continue
		}
		for a, f := range m {
			if q.Service != "" && a.Service != q.Service || q.Table != "" && a.Table != q.Table {
				continue
			}
			g := group{Account: a.only(by)}
			if slices.Contains(q.By, "hour") {
				g.hour = h
			}
			sums[g] = sums[g].plus(f)
		}
	}
	return sums
}

// row returns the figures as a row, without amounts.
func (f *Figures) row() Row {
	r := Row{
		Requests: f.Requests, Hits: f.Hits, ReadUnits: float64(f.Read) / 2, WriteUnits: float64(f.Write) / 2,
		SavedUnits: float64(f.Saved) / 2, UnusedUnits: float64(f.unused()) / 2, AddedSeconds: f.OwnTime.Seconds(), order: f.weight(),
	}
	if f.Waits > 0 {
		mean := f.WaitTime.Seconds() / float64(f.Waits)
		saved := float64(f.Hits)*mean - f.HitTime.Seconds()
		r.SavedSeconds = &saved
	}
	return r
}

// unused returns the half units of answers that no other request has used. In a period it may be
// that more answers were used for the first time than stored.
func (f *Figures) unused() uint64 { return f.Filled - min(f.Filled, f.Reused) }

// value sets the amounts of a row. Units of reads and of saved reads have the same price.
func (r *Row) value(p Price, f *Figures) {
	const million = 1e6
	amount := func(halves uint64, price float64) float64 { return float64(halves) / 2 * price / million }
	spent := amount(f.Read, p.Read) + amount(f.Write, p.Write)
	saved, unused := amount(f.Saved, p.Read), amount(f.unused(), p.Read)
	r.Spent, r.Saved, r.Unused = &spent, &saved, &unused
}

// add adds the figures of another row. Unknown ones count as 0.
func (r *Row) add(o *Row) {
	r.Requests += o.Requests
	r.Hits += o.Hits
	r.ReadUnits += o.ReadUnits
	r.WriteUnits += o.WriteUnits
	r.SavedUnits += o.SavedUnits
	r.UnusedUnits += o.UnusedUnits
	r.AddedSeconds += o.AddedSeconds
	r.order += o.order
	addTo(&r.SavedSeconds, o.SavedSeconds)
	addTo(&r.Spent, o.Spent)
	addTo(&r.Saved, o.Saved)
	addTo(&r.Unused, o.Unused)
}

func addTo(sum **float64, f *float64) {
	if f == nil {
		return
	}
	if *sum == nil {
		*sum = new(float64)
	}
	**sum += *f
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
	return cmp.Or(cmp.Compare(b.order, a.order), a.Account.compare(b.Account))
}

func (a Account) compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Index, b.Index),
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Principal, b.Principal))
}
