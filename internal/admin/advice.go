package admin

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/kasoku/kasoku/internal/advice"
)

// advise answers with suggested settings.
func (s *Server) advise(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.advice()) }

// none is the advice of a server without a function for it.
func none() advice.Report { return advice.Make(&advice.Input{}) }

// adviceOf adds the suggestions to the report.
func adviceOf(b *bytes.Buffer, r *advice.Report) {
	if len(r.Suggestions) > 0 {
		b.WriteString("\nadvice\n")
		WriteAdvice(b, &advice.Report{Suggestions: r.Suggestions}, func(text string) string { return text })
	}
}

// WriteAdvice writes the estimates for other sizes of the memory as a table, and then each
// suggestion. shown returns the name of a table in a form without effect on a terminal.
func WriteAdvice(out io.Writer, r *advice.Report, shown func(string) string) {
	if len(r.Memory) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "MEMORY\tCAPACITY\tLOOK-UPS\tSAMPLED\tFOUND AT HALF\tFOUND\tFOUND AT DOUBLE")
		for _, m := range r.Memory {
			name := m.Service
			if name == "" {
				name = "(shared)"
			}
			fmt.Fprintln(w, join(name, bytesText(m.Capacity), count(m.Lookups), count(m.Sampled), percent(m.Half), percent(m.HitRatio), percent(m.Double)))
		}
		w.Flush()
		fmt.Fprintln(out)
	}
	for i := range r.Suggestions {
		s := &r.Suggestions[i]
		subject := []string{s.Rule}
		if s.Service != "" {
			subject = append(subject, "service "+s.Service)
		}
		if s.Table != "" {
			subject = append(subject, "table "+shown(s.Table))
		}
		fmt.Fprintf(out, "%s\n  %s\n", strings.Join(subject, ", "), s.Finding)
		for line := range strings.Lines(s.Setting) {
			fmt.Fprintf(out, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
		fmt.Fprintf(out, "  effect: %s (%s)\n", s.Effect, s.Basis)
		if s.Coherence != "" {
			fmt.Fprintf(out, "  but: %s\n", s.Coherence)
		}
	}
}
