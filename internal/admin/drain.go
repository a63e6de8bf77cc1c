package admin

import (
	"context"
	"net/http"
)

// Drainer is a Service with several origins that can be drained one by one while it runs.
type Drainer interface {
	Service
	// Drain excludes an origin from new requests, or with r.Undo includes it again; requests
	// in flight continue. Repeating it is no error. It lasts until it is undone, the process
	// ends, or the origin is removed from the configuration. An error that wraps ErrInput
	// has changed nothing.
	Drain(ctx context.Context, r DrainRequest) (DrainResult, error)
}

// DrainRequest names an origin of a service.
type DrainRequest struct {
	Service string `json:"service"`
	Origin  string `json:"origin"` // as in the configuration
	Undo    bool   `json:"undo,omitempty"`
}

// DrainResult is the state of the origin afterwards.
type DrainResult struct {
	Origin   string `json:"origin"`
	State    string `json:"state"`     // as in Member
	InFlight int    `json:"in_flight"` // requests still in flight there
}

// Member is one of several origins.
type Member struct {
	Origin   string  `json:"origin"`
	State    string  `json:"state"` // up, drained, down, ejected, broken
	Why      string  `json:"why,omitempty"`
	Weight   float64 `json:"weight"`
	InFlight int     `json:"in_flight"`
}

func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	var req DrainRequest
	if !take(w, r, &req) {
		return
	}
	svc := s.find(w, req.Service)
	if svc == nil {
		return
	}
	d, ok := svc.(Drainer)
	if !ok {
		fail(w, http.StatusBadRequest, "service %s has no origins that could be drained", req.Service)
		return
	}
	result, err := d.Drain(r.Context(), req)
	if err != nil {
		s.failed(w, "drain", err)
		return
	}
	s.log.Info("drained", "service", req.Service, "origin", result.Origin, "undone", req.Undo, "by", r.RemoteAddr)
	answer(w, http.StatusOK, result)
}
