package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// report holds the results. -json prints its exported part.
type report struct {
	Machine string
	Rows    []row
	Goals   []goal
	Notes   []string `json:",omitempty"`

	// Values for the goals in addition to the rows; 0 means not measured.
	overhead float64 // bytes per entry
	storm    float64 // origin requests
	idle     float64 // bytes per connection
	memory   float64 // of the embedded store, in DynamoDB Locals
	start    float64 // nanoseconds of CPU to the first answer
	back     float64 // nanoseconds until the keys of a restarted memcached server are hits
}

// row is the result of one target in one scenario.
type row struct {
	Scenario, Target, Reference string
	Columns                     [columns]figure
	Also                        string `json:",omitempty"`
}

// figure is the median of a column, and of its ratio to the reference in the same round.
type figure struct {
	Name  string
	Value float64
	Ratio float64
}

var columnNames = [columns]string{"requests/s", "p50 ns", "p99 ns", "CPU ns/request", "RSS bytes"}

func (r *report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

func (r *report) add(scenario, target, reference string, rounds, referenceRounds []sample, also string) {
	values, relative := medians(rounds), ratios(rounds, referenceRounds)
	new := row{Scenario: scenario, Target: target, Reference: reference, Also: also}
	for c := range new.Columns {
		new.Columns[c] = figure{columnNames[c], values[c], relative[c]}
	}
	r.Rows = append(r.Rows, new)
}

func (r *report) find(scenario, target string) *row {
	for i := range r.Rows {
		if r.Rows[i].Scenario == scenario && r.Rows[i].Target == target {
			return &r.Rows[i]
		}
	}
	return nil
}

func (r *report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s; medians over rounds, and in brackets the ratio to the row marked =\n\n", r.Machine)
	fmt.Fprintln(t, "scenario\ttarget\treq/s\t\tp50\t\tp99\t\tCPU/req\t\tRSS MiB\t\t")
	scenario := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		name := row.Scenario
		if name == scenario {
			name = ""
		}
		scenario = row.Scenario
		fmt.Fprintf(t, "%s\t%s", name, row.Target)
		for c, f := range row.Columns {
			fmt.Fprintf(t, "\t%s\t%s", showValue(c, f.Value), showRatio(row, f))
		}
		fmt.Fprintf(t, "\t%s\n", row.Also)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.printGoals(w)
}

func (r *report) printGoals(w io.Writer) error {
	var b strings.Builder
	if len(r.Goals) > 0 {
		b.WriteString("\ngoals\n")
	}
	for _, g := range r.Goals {
		mark := "pass       "
		if !g.Pass {
			mark = "FALLS SHORT"
		}
		fmt.Fprintf(&b, "  %s  %s: %.3g (goal: %s %g)\n", mark, g.Name, g.Value, g.relation(), g.Bound)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func showValue(column int, v float64) string {
	switch {
	case v == 0:
		return "-"
	case column == rss:
		return fmt.Sprintf("%.0f", v/(1<<20))
	case column == throughput:
		return fmt.Sprintf("%.0f", v)
	case v < float64(10*time.Microsecond):
		return fmt.Sprintf("%.2f us", v/1e3)
	case v < float64(10*time.Millisecond):
		return fmt.Sprintf("%.0f us", v/1e3)
	default:
		return fmt.Sprintf("%.0f ms", v/1e6)
	}
}

func showRatio(r *row, f figure) string {
	switch {
	case r.Target == r.Reference:
		return "="
	case f.Ratio == 0:
		return ""
	case f.Ratio >= 100:
		return fmt.Sprintf("(%.0f)", f.Ratio)
	case f.Ratio >= 0.1:
		return fmt.Sprintf("(%.2f)", f.Ratio)
	default:
		return fmt.Sprintf("(%.3f)", f.Ratio)
	}
}
