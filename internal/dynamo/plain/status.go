package plain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// statusPage is the content of /Status.
type statusPage struct {
	Status            string
	AvailableHandlers []string
	Args              map[string]string
	Summary           summary
}

// summary holds texts for people, in bbpd's format.
type summary struct {
	StartTime       string
	RunningTime     string
	LongestResponse string
	AverageResponse string
	LastResponse    string
	ResponseCount   string
}

func (t *task) status() {
	page := statusPage{
		Status:            "ready",
		AvailableHandlers: t.h.routes.paths,
		Args: map[string]string{
			fieldIndent:  "set '-H \"" + fieldIndent + ": True\" ' to indent the top-level json",
			fieldVerbose: "set '-H \"" + fieldVerbose + ": True\" ' to get verbose output",
		},
		Summary: t.h.stats.summary(time.Now()),
	}
	text, err := json.Marshal(page)
	if err != nil {
		panic(err) // all fields are strings
	}
	t.x.Record.Operation = t.r.name
	t.answer(http.StatusOK, append(t.x.Reply.Buf[:0], text...))
	t.local()
}

// stats are the statistics in /Status about replies with status 200.
type stats struct {
	start     time.Time
	durations *telemetry.Histogram
	longest   atomic.Int64 // written only when it grows
	last      atomic.Int64 // Unix milliseconds, in steps of lastResolution so that it is rarely written
}

const lastResolution = 100 * time.Millisecond

func newStats() *stats { return &stats{start: time.Now(), durations: telemetry.NewHistogram()} }

func (s *stats) record(x *edge.Exchange) {
	if x.Reply.Status != http.StatusOK {
		return
	}
	d := time.Since(x.Start())
	s.durations.Observe(d)
	for longest := s.longest.Load(); int64(d) > longest && !s.longest.CompareAndSwap(longest, int64(d)); {
		longest = s.longest.Load()
	}
	now := x.Start().Add(d).UnixMilli()
	if last := s.last.Load(); now-last >= lastResolution.Milliseconds() {
		s.last.CompareAndSwap(last, now)
	}
}

func (s *stats) summary(now time.Time) summary {
	seen := s.durations.Snapshot()
	average := time.Duration(0)
	last := "no requests made yet"
	if seen.Count > 0 {
		average = seen.Sum / time.Duration(seen.Count)
		at := time.UnixMilli(s.last.Load())
		last = fmt.Sprintf("%v, (%v ago)", at, max(0, now.Sub(at)).Round(time.Millisecond))
	}
	return summary{
		StartTime:       s.start.Round(0).String(),
		RunningTime:     now.Sub(s.start).String(),
		LongestResponse: milliseconds(time.Duration(s.longest.Load())),
		AverageResponse: milliseconds(average),
		LastResponse:    last,
		ResponseCount:   strconv.FormatUint(seen.Count, 10),
	}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + "ms"
}
