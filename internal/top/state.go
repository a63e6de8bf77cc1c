package top

import (
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
)

// page is a kind of screen.
type page int

const (
	overviewPage page = iota
	detailPage        // a service or a table
	explainPage
	helpPage
)

// kind is a kind of row of the overview.
type kind int

const (
	serviceRow kind = iota
	tableRow
	memberRow
)

// row identifies a row of the overview.
type row struct {
	kind          kind
	service, name string // name is that of a table; of a node the label
}

// state is all that a screen shows, except the size of the window.
type state struct {
	sum      *summary
	interval time.Duration
	paused   bool
	plain    bool // without a keyboard

	page     page
	selected row
	chosen   bool             // selected by the user
	detail   row              // on detailPage
	keys     *admin.TableKeys // of detail; nil if there are none
	by       int              // index into orders
	reverse  bool             // order of the tables
	only     string           // address of the node that is shown alone; or ""

	prompt  *prompt
	answer  *explained // on explainPage
	back    page       // page before explainPage and helpPage
	scroll  int        // first line of detailPage, explainPage and helpPage
	problem string     // why there is no explanation; or ""
}

// prompt is a line that is being typed.
type prompt struct {
	service string
	text    string
}

// explained is an explanation of a line.
type explained struct {
	service, line string
	*admin.Explanation
}

// rows returns the rows of the overview, from the top.
func (s *state) rows() (all []row) {
	for i := range s.sum.services {
		all = append(all, row{serviceRow, s.sum.services[i].name, ""})
	}
	for i := range s.sum.tables {
		all = append(all, row{tableRow, s.sum.tables[i].service, s.sum.tables[i].name})
	}
	if s.showsNodes() {
		for i := range s.sum.nodes {
			all = append(all, row{memberRow, "", s.sum.nodes[i].name})
		}
	}
	return all
}

// showsNodes reports whether the overview has rows for nodes.
func (s *state) showsNodes() bool { return len(s.sum.nodes) > 1 || s.only != "" }

// update replaces the summary. The selected row remains selected while it exists.
func (s *state) update(sum *summary) {
	s.sum = sum
	sortTables(sum.tables, s.by, s.reverse)
	all := s.rows()
	exists := slices.Contains(all, s.selected)
	if len(all) == 0 || exists && (s.chosen || s.selected.kind == tableRow) {
		return
	}
	if i := slices.IndexFunc(all, func(r row) bool { return r.kind == tableRow }); i >= 0 {
		s.selected = all[i]
	} else if !exists {
		s.selected = all[0]
	}
}

// move selects the row that is n rows further down.
func (s *state) move(n int) {
	all := s.rows()
	if i := slices.Index(all, s.selected); i >= 0 {
		s.selected, s.chosen = all[min(max(i+n, 0), len(all)-1)], s.chosen || n != 0
	}
}

// next selects the first row of the next kind.
func (s *state) next() {
	all := s.rows()
	for n := range kind(3) {
		for _, r := range all {
			if r.kind == (s.selected.kind+n+1)%3 {
				s.selected, s.chosen = r, true
				return
			}
		}
	}
}

// index returns the index of the selected row among the rows of a kind, or -1.
func (s *state) index(k kind) int {
	if s.selected.kind != k {
		return -1
	}
	i := 0
	for _, r := range s.rows() {
		if r == s.selected {
			return i
		}
		if r.kind == k {
			i++
		}
	}
	return -1
}

// table returns the table of a row, or nil.
func (s *state) table(r row) *table {
	for i := range s.sum.tables {
		if t := &s.sum.tables[i]; r.kind == tableRow && t.service == r.service && t.name == r.name {
			return t
		}
	}
	return nil
}

// service returns the service of a row, or nil.
func (s *state) service(r row) *service {
	for i := range s.sum.services {
		if o := &s.sum.services[i]; o.name == r.service {
			return o
		}
	}
	return nil
}

// newPrompt returns a prompt for a request for the row that is selected, or on detailPage shown.
func (s *state) newPrompt() *prompt {
	r := s.selected
	if s.page == detailPage {
		r = s.detail
	}
	o := s.service(r)
	if o == nil {
		if len(s.sum.services) == 0 {
			return nil
		}
		o = &s.sum.services[0]
	}
	p := &prompt{service: o.name, text: "/"}
	if o.kind == "dynamodb" {
		p.text = "GetItem "
	}
	if t := s.table(r); t != nil && o.kind == "dynamodb" {
		p.add(t.name + " ")
	} else if t != nil {
		p.add(t.name + "/")
	}
	return p
}
