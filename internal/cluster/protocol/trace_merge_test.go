//go:build kasokutrace

package protocol

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var (
	logDir      = flag.String("logs", "", "folder with logs of processes for TestMergeLogs")
	traceWrites = flag.Int("tracewrites", 30, "maximum number of writes in a trace of TestMergeLogs")
	traceTags   = flag.Int("tracetags", 1, "number of traces of TestMergeLogs")
)

// mergeSample returns the logs of two processes. The first one creates the view and gets no
// answer; the other one reads it, and writes before the first one has finished a slow read.
func mergeSample() []LogLine {
	first := View{Rev: 1, Creator: 7, Epoch: 900, Members: []Member{{Instance: 7, Joining: true}}}
	served := View{Rev: 2, Creator: 7, Epoch: 900, Members: []Member{{Instance: 7}}}
	second := View{Rev: 3, Creator: 7, Epoch: 905, Members: []Member{{Instance: 7}, {Instance: 8, Joining: true}}}
	ms := func(n int64) int64 { return n * int64(Millisecond) }
	return []LogLine{
		{Time: ms(1), Process: "a.1", Kind: LogStart, Config: &Config{Lease: Second, Wait: 1100 * Millisecond, Reach: 60 * Second}, Fresh: true},
		{Time: ms(2), Process: "a.1", Kind: LogJoins, By: 7},
		{Time: ms(3), Process: "a.1", Kind: LogWrites, ID: 1, By: 7, View: &first},
		{Time: ms(9), Process: "a.1", Kind: LogStep, Step: &Step{Action: "AdoptView", Epoch: 900}},
		{Time: ms(10), Process: "a.1", Kind: LogWrites, ID: 2, By: 7, View: &served},
		{Time: ms(12), Process: "a.1", Kind: LogWrote, ID: 2, Done: true},
		{Time: ms(13), Process: "a.1", Kind: LogAsks, ID: 3},
		{Time: ms(20), Process: "a.1", Kind: LogReads, ID: 3, View: &served, Done: true},
		{Time: ms(20), Process: "a.1", Kind: LogStep, Step: &Step{Action: "GotView", Epoch: 900}},
		{Time: ms(21), Process: "a.1", Kind: LogStep, Step: &Step{Action: "Begin", Seq: 1, Kind: "put", Tags: []uint64{5}}},
		{Time: ms(22), Process: "a.1", Kind: LogStep, Step: &Step{Action: "Begin", Seq: 2, Kind: "put", Tags: []uint64{6}}},

		{Time: ms(4), Process: "b.1", Kind: LogStart, Config: &Config{Lease: Second, Wait: 1100 * Millisecond, Reach: 60 * Second}},
		{Time: ms(4), Process: "b.1", Kind: LogJoins, By: 8},
		{Time: ms(5), Process: "b.1", Kind: LogAsks, ID: 1},
		{Time: ms(8), Process: "b.1", Kind: LogReads, ID: 1, View: &first, Done: true},
		{Time: ms(11), Process: "b.1", Kind: LogWrites, ID: 2, By: 8, View: &second},
		{Time: ms(16), Process: "b.1", Kind: LogWrote, ID: 2, Done: true},
	}
}

// TestMerge merges logs by hand.
func TestMerge(t *testing.T) {
	r, header, err := Merge(mergeSample(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range r.lines {
		got = append(got, fmt.Sprint(l.Time, " ", l.Node, " ", l.Action, l.Write))
	}
	want := []string{
		"2 a.1 Join", "4 b.1 ReadView", "8 a.1 AdoptView", "9 a.1 JoinDone",
		// b's write can't have been executed before a's read was sent.
		"12 a.1 ReadView", "12 b.1 Join", "19 a.1 GotView", "20 a.1 Begina.1-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if header.Lease != 1000 || header.Wait != 1100 || !header.Fresh {
		t.Errorf("the header is %+v", header)
	}
	late := mergeSample()
	late = append(late, LogLine{Time: 30 * int64(Millisecond), Process: "b.1", Kind: LogAsks, ID: 3},
		LogLine{Time: 31 * int64(Millisecond), Process: "b.1", Kind: LogReads, ID: 3, View: late[2].View, Done: true})
	if _, _, err := Merge(late, 5); err == nil {
		t.Error("a read of an old revision after the answer to the next write is no error")
	}
}

// TestMergeLogs writes traces of the logs of processes, for specs/trace-storm.sh.
func TestMergeLogs(t *testing.T) {
	lines := mergeSample()
	if *logDir != "" {
		lines = nil
		files, err := filepath.Glob(filepath.Join(*logDir, "*.log"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no logs: %v", *logDir, err)
		}
		for _, name := range files {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			more, err := ReadLog(f)
			f.Close()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines = append(lines, more...)
		}
	}
	limit := *traceWrites
	for i := range *traceTags {
		tag, count := TracedTag(lines, limit)
		if count == 0 {
			t.Fatal("no tag has a write")
		}
		r, header, err := Merge(lines, tag)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("tag %x: %d writes, %d lines", tag, count, len(r.lines))
		saveTrace(t, fmt.Sprintf("storm-%d", i+1), r, header)
		limit = count - 1
	}
}
