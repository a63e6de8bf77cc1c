package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
)

// Traffic is what clients saw of a service since its start.
type Traffic struct {
	Errors uint64 // answers with a status of 5xx
	// Latency are the times of requests, and Origin the times of requests to the origin.
	Latency, Origin telemetry.Snapshot
}

// Totals returns the figures of all services for the history.
func (o *Overview) Totals() []history.Totals {
	all := make([]history.Totals, len(o.Services))
	for i := range o.Services {
		m := &o.Services[i]
		all[i] = m.totals(m.Report().Decisions)
	}
	return all
}

func (m *Mounted) totals(decisions map[telemetry.Decision]uint64) history.Totals {
	t := history.Totals{Service: m.Name(), Requests: history.Count(decisions)}
	if m.Traffic != nil {
		traffic := m.Traffic()
		t.Errors, t.Latency, t.Origin = traffic.Errors, traffic.Latency, traffic.Origin
	}
	return t
}

// HistoryJSON is the figures of a service over a time, without its points.
type HistoryJSON struct {
	Service string `json:"service"`
	Since   string `json:"since"`
	// Bounds are the upper bounds of the buckets of latency and origin_latency, in seconds.
	Bounds []float64     `json:"bounds_seconds"`
	Total  history.Point `json:"total"` // of the whole time
	// LatencySeconds are the times of requests, OriginSeconds the times that requests to the origin
	// took; null if there were none.
	LatencySeconds *Times `json:"latency_seconds"`
	OriginSeconds  *Times `json:"origin_seconds"`
}

// past answers with the figures of a service over an hour or a day.
func (s *Server) past(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	span, since := history.Hour, q.Get("since")
	switch since {
	case "", "1h":
		since = "1h"
	case "24h":
		span = history.Day
	default:
		fail(w, http.StatusBadRequest, "since is 1h or 24h, not %q", since)
		return
	}
	svc := s.find(w, q.Get("service"))
	if svc == nil {
		return
	}
	past, ok := s.history.Since(svc.Name(), span)
	if !ok {
		fail(w, http.StatusNotFound, "service %q was removed", svc.Name())
		return
	}
	j := HistoryJSON{
		Service: svc.Name(), Since: since, Bounds: bounds(), Total: past.Total,
		LatencySeconds: times(&past.Latency), OriginSeconds: times(&past.Origin),
	}
	body, err := j.withPoints(past.Points)
	if err != nil {
		s.failed(w, "history", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

func bounds() []float64 {
	list := make([]float64, len(telemetry.Buckets))
	for i, b := range telemetry.Buckets {
		list[i] = b.Round(time.Microsecond).Seconds()
	}
	return list
}

// withPoints returns the JSON text with a line for each point.
func (j *HistoryJSON) withPoints(points []history.Point) ([]byte, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(text[:len(text)-1])
	b.WriteString(`,"points":[`)
	for i := range points {
		if i > 0 {
			b.WriteByte(',')
		}
		if text, err = json.Marshal(&points[i]); err != nil {
			return nil, err
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}
