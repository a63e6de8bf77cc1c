package follow

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxNotes is the maximum number of notes about databases.
const maxNotes = 10

// Notes returns sentences for an administrator: databases that are not served from memory,
// and why, and nodes that lag.
func (t *Table) Notes() (notes []string) {
	now := t.cfg.Cache.Now()
	for _, d := range *t.databases.Load() {
		notes = append(notes, d.notes(now)...)
	}
	slices.Sort(notes)
	if more := len(notes) - maxNotes; more > 0 {
		notes = append(notes[:maxNotes], fmt.Sprintf("and %d more of that kind", more))
	}
	return notes
}

func (d *Database) notes(now int64) (notes []string) {
	d.mu.Lock()
	trouble := d.compareErr
	d.mu.Unlock()
	if trouble != nil {
		notes = append(notes, fmt.Sprintf("database %s: the nodes can't be compared, so nothing is cached%s", d.name, reason(trouble)))
	}
	for node, url := range d.table.cfg.Nodes {
		s, st := d.tracker.replicaState(node, now), d.followerState(node)
		switch quiet := d.silence(node, now); {
		case s.Out && st.Phase == Absent:
			notes = append(notes, fmt.Sprintf("database %s is not on %s, which gets no reads of it", d.name, url))
		case s.Out:
			notes = append(notes, fmt.Sprintf("database %s: %s can't be reached%s", d.name, url, reason(st.Err)))
		case quiet > d.table.cfg.MaxUnfollowed:
			notes = append(notes, fmt.Sprintf("database %s: no sign of life from %s for %s, so nothing is served from memory%s",
				d.name, url, quiet.Round(time.Millisecond), reason(st.Err)))
		case s.Lag > d.table.cfg.MaxLag:
			notes = append(notes, fmt.Sprintf("database %s: %s lacks %d changes, one for %s", d.name, url, s.Lacks, s.Lag.Round(time.Second)))
		}
	}
	return notes
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return ": " + strings.TrimSpace(err.Error())
}
