package admin

import (
	"context"
	"net/http"
)

// Drainer is a Service with several origins that can be taken out of service one by
// one while it runs.
type Drainer interface {
	Service
	// Drain lets an origin have no new requests from now on, or with r.Undo has it get
	// them again; what is under way there goes on. What was asked for already is no
	// error. It holds until it is undone, the process ends, or the origin leaves the
	// configuration. An error that wraps ErrInput has changed nothing.
	Drain(ctx context.Context, r DrainRequest) (DrainResult, error)
}

// DrainRequest names an origin of a service.
type DrainRequest struct {
	Service string `json:"service"`
	Origin  string `json:"origin"` // as the configuration has it
	Undo    bool   `json:"undo,omitempty"`
}

// DrainResult is how the origin is now.
type DrainResult struct {
	Origin   string `json:"origin"`
	State    string `json:"state"`     // as in Member
	InFlight int    `json:"in_flight"` // requests that are still under way there
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
