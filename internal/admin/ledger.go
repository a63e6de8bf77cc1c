package admin

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry/ledger"
)

// statement answers with the use of the origins in a period.
func (s *Server) statement(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if s.ledger == nil {
		fail(w, http.StatusNotFound, "there is no ledger: add ledger: {} to the configuration, and restart")
		return
	}
	since, err := time.ParseDuration(cmp.Or(q.Get("since"), "24h"))
	if err != nil || since <= 0 || since > ledger.Retention {
		fail(w, http.StatusBadRequest, "since is a time of at most %v such as 24h, not %q", ledger.Retention, q.Get("since"))
		return
	}
	by, err := ledger.ParseGroups(cmp.Or(q.Get("by"), "service,table"))
	if err != nil {
		fail(w, http.StatusBadRequest, "by: %v", err)
		return
	}
	answer(w, http.StatusOK, s.ledger.Statement(ledger.Query{
		From: time.Now().Add(-since), Service: q.Get("service"), Table: q.Get("table"), By: by,
	}))
}

// reportTime is the period of the ledger on the report's page.
const reportTime = 24 * time.Hour

// statementOf adds the use of the origins in the last day to the report.
func statementOf(b *bytes.Buffer, l *ledger.Ledger) {
	if l == nil {
		return
	}
	s := l.Statement(ledger.Query{From: time.Now().Add(-reportTime), By: []string{"service", "table"}})
	if len(s.Rows) == 0 {
		return
	}
	b.WriteString("\nledger of the last 24 hours\n")
	s.Rows = s.Rows[:min(len(s.Rows), maxTableRows)]
	WriteStatement(b, &s, func(text string) string { return text })
}

// WriteStatement writes a statement as a table: a column for each of its groups, then the figures.
// shown returns text of clients in a form without effect on a terminal.
func WriteStatement(out io.Writer, s *ledger.Statement, shown func(string) string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, g := range ledger.Groups {
		if slices.Contains(s.By, g) {
			fmt.Fprintf(w, "%s\t", bytes.ToUpper([]byte(g)))
		}
	}
	fmt.Fprint(w, "REQUESTS\tHIT%\tREAD UNITS\tWRITE UNITS\tSAVED UNITS\tUNUSED UNITS\tTIME SAVED\tTIME ADDED")
	if s.Currency != "" {
		fmt.Fprintf(w, "\tSPENT %[1]s\tSAVED %[1]s", s.Currency)
	}
	fmt.Fprintln(w)
	for i := range s.Rows {
		statementRow(w, s, &s.Rows[i], "", shown)
	}
	if len(s.By) > 0 {
		statementRow(w, s, &s.Total, "(total)", shown)
	}
}

// statementRow writes a row. first replaces the text of the first group if it is not empty.
func statementRow(w io.Writer, s *ledger.Statement, r *ledger.Row, first string, shown func(string) string) {
	texts := map[string]string{
		"service": r.Service, "table": r.Table, "index": r.Index, "operation": r.Operation, "shape": r.Shape, "principal": r.Principal,
	}
	if r.Hour != nil {
		texts["hour"] = r.Hour.Format("2006-01-02 15:04")
	}
	for _, g := range ledger.Groups {
		if slices.Contains(s.By, g) {
			text := cmp.Or(first, texts[g])
			if first != "" {
				first = "-"
			}
			fmt.Fprintf(w, "%s\t", orDash(shown(text)))
		}
	}
	var hits *float64
	if r.Requests > 0 {
		share := float64(r.Hits) / float64(r.Requests)
		hits = &share
	}
	fmt.Fprint(w, join(count(r.Requests), percent(hits), unitsText(r.ReadUnits), unitsText(r.WriteUnits), unitsText(r.SavedUnits),
		unitsText(r.UnusedUnits), spanText(r.SavedSeconds), spanText(&r.AddedSeconds)))
	if s.Currency != "" {
		fmt.Fprint(w, "\t"+join(amountText(r.Spent), amountText(r.Saved)))
	}
	fmt.Fprintln(w)
}

// unitsText abbreviates a number of capacity units like count.
func unitsText(units float64) string {
	if units < 1e6 {
		return strconv.FormatFloat(units, 'f', -1, 64)
	}
	return count(uint64(units))
}

func spanText(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds * float64(time.Second))
	if d.Abs() >= time.Second {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Microsecond).String()
}

func amountText(amount *float64) string {
	if amount == nil {
		return ""
	}
	return strconv.FormatFloat(*amount, 'f', 4, 64)
}
