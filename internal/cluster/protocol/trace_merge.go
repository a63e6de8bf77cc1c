//go:build kasokutrace

package protocol

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// LogLine is a line of the log that a process writes. The logs of processes on one machine
// have one clock, so that Merge can put their steps in one order.
type LogLine struct {
	Time    int64 // nanoseconds
	Process string
	Kind    LogKind
	Step    *Step    `json:",omitempty"`
	ID      uint64   `json:",omitempty"` // of a read or a write of the view
	By      Instance `json:",omitempty"`
	View    *View    `json:",omitempty"`
	Done    bool     `json:",omitempty"` // without an error
	Config  *Config  `json:",omitempty"`
	Fresh   bool     `json:",omitempty"`
}

// LogKind is the kind of a LogLine.
type LogKind string

// The kinds of lines.
const (
	LogStart  LogKind = "start"  // of the process, with Config and Fresh
	LogStep   LogKind = "step"   // with Step
	LogJoins  LogKind = "joins"  // By is a number of this process from now on
	LogAsks   LogKind = "asks"   // a read of the view is sent
	LogReads  LogKind = "reads"  // its answer has arrived: View, if Done
	LogWrites LogKind = "writes" // a write of View by the membership By is sent
	LogWrote  LogKind = "wrote"  // its answer has arrived; the write took effect if Done
)

// ReadLog returns the lines of a log. The last one may be cut.
func ReadLog(r io.Reader) (lines []LogLine, err error) {
	in := json.NewDecoder(r)
	for {
		var l LogLine
		switch err := in.Decode(&l); {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return lines, nil
		case err != nil:
			return nil, err
		}
		lines = append(lines, l)
	}
}

// access is a read or a write of the view. It was executed between two times.
type access struct {
	process  string
	by       Instance
	view     View
	from, to int64
	done     bool
}

// event is a step of a node or of the origin in the merged order.
type mergedEvent struct {
	at   int64
	rank uint64
	do   func()
}

// Merge returns the trace of the writes of a tag, from the lines of the logs of all processes.
// The origin writes no log: the order of what it has executed follows from the revisions of the
// view, and each execution is put at the earliest time that this order allows.
func Merge(lines []LogLine, tag uint64) (*Recorder, Header, error) {
	slices.SortStableFunc(lines, func(a, b LogLine) int { return cmp.Compare(a.Time, b.Time) })
	var now int64
	r := NewRecorder(func() int64 { return (now - lines[0].Time) / int64(Millisecond) }, func(tags []uint64, _ []byte) bool {
		return slices.Contains(tags, tag)
	})
	header := Header{Action: "Start", Tick: 10}
	var events []mergedEvent
	for i := range lines {
		l := &lines[i]
		switch l.Kind {
		case LogStart:
			header.Lease, header.Wait = int64(l.Config.Lease/Millisecond), int64(l.Config.Wait/Millisecond)
			header.Reach, header.Quarantine = int64(l.Config.Reach/Millisecond), int64(l.Config.Quarantine/Millisecond)
			header.Fresh = header.Fresh || l.Fresh
		case LogJoins:
			r.Joins(l.Process, l.By)
		case LogStep:
			events = append(events, mergedEvent{l.Time, 0, func() { r.step(l.Process, *l.Step) }})
		}
	}
	reads := accesses(lines, LogAsks, LogReads)
	reads = slices.DeleteFunc(reads, func(a *access) bool { return !a.done })
	writes, err := executed(accesses(lines, LogWrites, LogWrote), reads)
	if err != nil {
		return nil, header, err
	}
	before := &View{}
	for _, w := range writes {
		from := before
		events = append(events, mergedEvent{w.from, 2 * w.view.Rev, func() { r.View(w.process, w.by, from, &w.view) }})
		before = &w.view
	}
	for _, a := range reads {
		at := a.from
		if a.view.Rev > 0 {
			at = max(at, writes[a.view.Rev-1].from)
		}
		if at > a.to {
			return nil, header, fmt.Errorf("%s has read revision %d before it was written", a.process, a.view.Rev)
		}
		events = append(events, mergedEvent{at, 2*a.view.Rev + 1, func() { r.Read(a.process) }})
	}
	slices.SortStableFunc(events, func(a, b mergedEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	for _, e := range events {
		now = e.at
		e.do()
	}
	return r, header, nil
}

// accesses returns the reads or writes of the view.
func accesses(lines []LogLine, begin, end LogKind) (all []*access) {
	type key struct {
		process string
		id      uint64
	}
	open := map[key]*access{}
	for i := range lines {
		l := &lines[i]
		k := key{l.Process, l.ID}
		switch l.Kind {
		case begin:
			a := &access{process: l.Process, by: l.By, from: l.Time, to: 1<<63 - 1}
			if l.View != nil {
				a.view = *l.View
			}
			open[k] = a
			all = append(all, a)
		case end:
			a := open[k]
			a.to, a.done = l.Time, l.Done
			if l.View != nil {
				a.view = *l.View
			}
		}
	}
	return all
}

// executed returns the writes that took effect, in the order of their revisions, and sets the
// time of each to the earliest possible one.
func executed(writes, reads []*access) (chain []*access, err error) {
	newest := uint64(0)
	for _, a := range slices.Concat(writes, reads) {
		if a.done {
			newest = max(newest, a.view.Rev)
		}
	}
	at := int64(0)
	for rev := uint64(1); rev <= newest; rev++ {
		w := winner(rev, writes, reads)
		if w == nil {
			return nil, fmt.Errorf("no process has written revision %d of the view", rev)
		}
		at = max(at, w.from)
		for _, a := range reads {
			if a.view.Rev < rev {
				at = max(at, a.from)
			}
		}
		if at > w.to {
			return nil, fmt.Errorf("revision %d of the view was written too late", rev)
		}
		w.from = at
		chain = append(chain, w)
	}
	return chain, nil
}

// winner returns the write of a revision that took effect: the one with an answer, or one of
// unknown outcome that was read.
func winner(rev uint64, writes, reads []*access) *access {
	var read *View
	for _, a := range reads {
		if a.view.Rev == rev {
			read = &a.view
		}
	}
	var found *access
	for _, w := range writes {
		switch {
		case w.view.Rev != rev:
		case w.done:
			return w
		case read != nil && w.view.Creator == read.Creator && w.view.equal(read):
			found = w
		}
	}
	return found
}

// TracedTag returns the tag with most writes of those that have up to limit, and their number.
func TracedTag(lines []LogLine, limit int) (tag uint64, count int) {
	counts := map[uint64]int{}
	for _, l := range lines {
		if l.Kind == LogStep && l.Step.Action == "Begin" {
			for _, t := range l.Step.Tags {
				counts[t]++
			}
		}
	}
	for t, n := range counts {
		if n <= limit && (n > count || n == count && t < tag) {
			tag, count = t, n
		}
	}
	return tag, count
}
