package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
)

// Event is what happened between two moments, about a second apart.
type Event struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Time     time.Time `json:"time"` // the end
	Seconds  float64   `json:"seconds"`
	Ready    bool      `json:"ready"` // as /readyz answers
	Draining bool      `json:"draining"`
	// Services are in the order of the configuration.
	Services []ServiceEvent `json:"services"`
}

// ServiceEvent is what happened to a service.
type ServiceEvent struct {
	Service string `json:"service"`
	history.Requests
	HitRatio *float64 `json:"hit_ratio"` // null without reads
	// Decisions counts the requests by how they were answered.
	Decisions   map[string]uint64 `json:"decisions"`
	Connections int               `json:"connections"` // open now
	InFlight    int               `json:"in_flight"`   // at the origin now
	Queued      int               `json:"queued"`      // for the origin now
	// Latency has the number of requests in each bucket of histograms, and Origin that of the ones
	// that waited for the origin by how long.
	Latency []uint64 `json:"latency"`
	Origin  []uint64 `json:"origin_latency"`
}

const (
	// maxEventReaders is the maximum number of readers of events at a time.
	maxEventReaders = 16
	// eventBacklog is the number of events that a reader may be late before it is dropped.
	eventBacklog = 8
	eventStep    = time.Second
)

var errEventReaders = errors.New("too many readers of events at a time")

// events makes events while there are readers, each once for all of them.
type events struct {
	overview func() Overview

	mu      sync.Mutex
	readers map[chan []byte]bool
	end     context.CancelFunc // of the goroutine that makes events; nil without readers
}

func newEvents(overview func() Overview) *events {
	return &events{overview: overview, readers: map[chan []byte]bool{}}
}

// open returns a channel of events as JSON, which is closed if its reader is too slow.
func (e *events) open() (chan []byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.readers) == maxEventReaders {
		return nil, errEventReaders
	}
	reader := make(chan []byte, eventBacklog)
	e.readers[reader] = true
	if e.end == nil {
		var ctx context.Context
		ctx, e.end = context.WithCancel(context.Background())
		go e.run(ctx)
	}
	return reader, nil
}

// close removes a reader. No event is made after the last one.
func (e *events) close(reader chan []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(reader)
}

// remove removes a reader if it is there. mu must be held.
func (e *events) remove(reader chan []byte) {
	delete(e.readers, reader)
	if len(e.readers) == 0 && e.end != nil {
		e.end()
		e.end = nil
	}
}

// run makes events until ctx ends.
func (e *events) run(ctx context.Context) {
	t := time.NewTicker(eventStep)
	defer t.Stop()
	before := observe(e.overview())
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		now := observe(e.overview())
		text, err := json.Marshal(now.since(&before))
		if err != nil {
			panic(err) // it has only numbers and texts
		}
		before = now
		e.send(ctx, text)
	}
}

// send passes an event to the readers, except of a newer goroutine, and drops those that are too slow.
func (e *events) send(ctx context.Context, text []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	for reader := range e.readers {
		select {
		case reader <- text:
		default:
			e.remove(reader)
			close(reader)
		}
	}
}

// observation is the state of a process with the figures of its services.
type observation struct {
	Overview
	reports map[string]Report
	totals  map[string]history.Totals
}

func observe(o Overview) observation {
	all := observation{o, map[string]Report{}, map[string]history.Totals{}}
	for i := range o.Services {
		m := &o.Services[i]
		r := m.Report()
		all.reports[m.Name()], all.totals[m.Name()] = r, m.totals(r.Decisions)
	}
	return all
}

// since returns what happened between two observations.
func (o *observation) since(before *observation) *Event {
	_, status := readiness(&o.Overview)
	e := &Event{
		Version: o.Version, Started: o.Started, Time: o.Now.UTC(), Seconds: o.Now.Sub(before.Now).Seconds(),
		Ready: status == http.StatusOK, Draining: o.Draining, Services: []ServiceEvent{},
	}
	for i := range o.Services {
		m := &o.Services[i]
		now, base := o.reports[m.Name()], before.reports[m.Name()]
		decisions := grown(base.Decisions, now.Decisions)
		old, totals := before.totals[m.Name()], o.totals[m.Name()]
		s := ServiceEvent{
			Service: m.Name(), Requests: history.Count(decisions), Decisions: map[string]uint64{},
			Connections: m.Connections, InFlight: now.Origin.InFlight, Queued: now.Origin.Queued,
			Latency: grownBuckets(&old.Latency, &totals.Latency), Origin: grownBuckets(&old.Origin, &totals.Origin),
		}
		s.Errors = history.Grown(old.Errors, totals.Errors)
		for d, n := range decisions {
			s.Decisions[d.String()] = n
		}
		if ratio, ok := history.HitRatio(s.Hits, s.Misses); ok {
			s.HitRatio = &ratio
		}
		e.Services = append(e.Services, s)
	}
	return e
}

// grown returns the decisions that were made between two reports.
func grown(base, now map[telemetry.Decision]uint64) map[telemetry.Decision]uint64 {
	all := map[telemetry.Decision]uint64{}
	for d, n := range now {
		if n = history.Grown(base[d], n); n > 0 {
			all[d] = n
		}
	}
	return all
}

func grownBuckets(base, now *telemetry.Snapshot) []uint64 {
	all := make([]uint64, len(now.Counts))
	for i := range all {
		all[i] = history.Grown(base.Counts[i], now.Counts[i])
	}
	return all
}

// stream answers with events until the client closes the connection, is too slow, or the server is
// shut down.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	reader, err := s.events.open()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "%v: %d are open", err, maxEventReaders)
		return
	}
	defer s.events.close(reader)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for send := []byte("retry: 2000\n\n"); ; {
		_ = control.SetWriteDeadline(time.Now().Add(logWriteTime))
		if _, err := w.Write(send); err != nil || control.Flush() != nil {
			return
		}
		select {
		case text, ok := <-reader:
			if !ok {
				return
			}
			send = fmt.Appendf(nil, "event: figures\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		case <-s.stopping.Done():
			return
		}
	}
}
