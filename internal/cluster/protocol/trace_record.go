//go:build kasokutrace

package protocol

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Recorder collects the steps of several nodes and of the origin in one order, as the lines of
// a trace. The specification has one item: only the writes of one tag are recorded.
type Recorder struct {
	// Clock returns the present time in milliseconds.
	Clock func() int64
	// Records reports whether a write is one of the item.
	Records func(tags []uint64, payload []byte) bool

	mu        sync.Mutex
	processes map[Instance]string
	lines     []*line
	begun     map[string]*line // the Begin lines, by write
	epoch     uint64           // the first one
}

// line is a line of a trace. specs/README.md describes it.
type line struct {
	Time   int64  `json:"time"`
	Node   string `json:"node,omitempty"`
	Action string `json:"action"`
	Of     string `json:"of,omitempty"`
	Write  string `json:"write,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Round  uint64 `json:"round,omitempty"`
	Epoch  uint64 `json:"epoch,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Same   bool   `json:"same,omitempty"`
}

// NewRecorder returns a Recorder without lines.
func NewRecorder(clock func() int64, records func(tags []uint64, payload []byte) bool) *Recorder {
	return &Recorder{Clock: clock, Records: records, processes: map[Instance]string{}, begun: map[string]*line{}}
}

// Watch records the steps of a process's machine.
func (r *Recorder) Watch(process string, m *Machine) {
	m.Trace(func(s Step) { r.step(process, s) })
}

// Joins assigns the number of a membership to a process.
func (r *Recorder) Joins(process string, i Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes[i] = process
}

// writeName returns the name of a write in a trace.
func writeName(process string, seq uint64) string { return fmt.Sprintf("%s-%d", process, seq) }

// add appends a line. The caller holds mu.
func (r *Recorder) add(l line) {
	l.Time = r.Clock()
	if l.Epoch != 0 {
		// An epoch is about the time in milliseconds, which TLC has no number for.
		if r.epoch == 0 {
			r.epoch = l.Epoch
		}
		l.Epoch -= r.epoch - 1
	}
	r.lines = append(r.lines, &l)
	if l.Action == "Begin" {
		r.begun[l.Write] = r.lines[len(r.lines)-1]
	}
}

// step records a step of a machine.
func (r *Recorder) step(process string, s Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := line{Node: process, Action: s.Action, Of: r.processes[s.Of], Kind: s.Kind, Round: s.Round, Epoch: s.Epoch, Mode: s.Mode}
	if s.Seq != 0 {
		owner := process
		if s.Owner != 0 {
			owner = r.processes[s.Owner]
		}
		l.Write = writeName(owner, s.Seq)
		begin := r.begun[l.Write]
		switch {
		case s.Action == "Begin" && !r.Records(s.Tags, s.Load):
			return
		case s.Action != "Begin" && begin == nil:
			return
		case s.Action == "Answer" && s.Kind != "":
			begin.Kind, l.Kind = s.Kind, ""
		}
	}
	r.add(l)
}

// Send records that a machine's host sends the request of a write to the origin.
func (r *Recorder) Send(m *Machine, seq uint64) { m.TraceSend(seq) }

// Apply records that the origin executes a write.
func (r *Recorder) Apply(process string, seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := writeName(process, seq); r.begun[name] != nil {
		r.add(line{Node: process, Action: "Apply", Write: name})
	}
}

// Serve records that a node serves from its cache what a write has stored at the origin, or an
// older value if the write is not of this trace.
func (r *Recorder) Serve(node, process string, seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := line{Node: node, Action: "Serve", Write: writeName(process, seq)}
	if r.begun[l.Write] == nil {
		l.Write = "none"
	}
	r.add(l)
}

// Read records that the origin executes a read of the view.
func (r *Recorder) Read(process string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(line{Node: process, Action: "ReadView"})
}

// Lose records the loss of the view.
func (r *Recorder) Lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(line{Action: "LoseItem"})
}

// View records that the origin replaces the view by another one, which a membership of a
// process has written. Each change of it is a step of the specification.
func (r *Recorder) View(process string, by Instance, from, to *View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := func(action string, of Instance) {
		r.add(line{Node: process, Action: action, Of: r.processes[of]})
	}
	for _, s := range to.Suspended {
		if s.By == by && !from.has(s) {
			step("Suspend", s.Of)
		}
	}
	for _, s := range from.Suspended {
		if s.By == by && !to.has(s) && to.Find(s.Of) != nil && to.Find(by) != nil {
			step("Clear", s.Of)
		}
	}
	changed := false
	epoch := func(action string, of Instance) {
		r.add(line{Node: process, Action: action, Of: r.processes[of], Epoch: to.Epoch, Same: changed})
		changed = true
	}
	for _, o := range from.Members {
		if o.Instance != by && to.Find(o.Instance) == nil {
			epoch("Evict", o.Instance)
		}
	}
	before, after := from.Find(by), to.Find(by)
	switch {
	case before == nil && after != nil:
		epoch("Join", 0)
	case before != nil && after == nil:
		epoch("Leave", 0)
	case before != nil && before.Joining && !after.Joining:
		step("JoinDone", 0)
	}
}

// Write writes the trace. The header has the settings.
func (r *Recorder) Write(w io.Writer, header any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := json.NewEncoder(w)
	if err := out.Encode(header); err != nil {
		return err
	}
	for l := range slices.Values(r.lines) {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// Header is the first line of a trace. Times are milliseconds.
type Header struct {
	Action string `json:"action"` // Start
	Time   int64  `json:"time"`
	Tick   int64  `json:"tick"`  // of the specification's clock
	Lease  int64  `json:"lease"` // the longest by any clock
	Wait   int64  `json:"wait"`  // the shortest
	Reach  int64  `json:"reach"` // the longest
	// Quarantine is the longest time from the loss of a connection until the origin applies
	// what was sent.
	Quarantine int64 `json:"quarantine"`
	Fresh      bool  `json:"fresh"` // nothing of an earlier cluster is in flight
}
