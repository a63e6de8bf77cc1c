package admin

import (
	"context"
	"encoding/json"
	"net/http"
)

// FaultRequest is a request about the faults of an embedded store.
type FaultRequest struct {
	Service string          `json:"service,omitempty"` // may be empty if one service has a store
	Plan    json.RawMessage `json:"plan,omitempty"`
	Rule    json.RawMessage `json:"rule,omitempty"`
}

// FaultStatus is the faults of a store after a request.
type FaultStatus struct {
	Service string          `json:"service"`
	Faults  json.RawMessage `json:"faults"`
}

// faultAction is a request about faults.
type faultAction struct {
	name   string // in the log
	path   string
	member string // of the request that it needs; empty for none
	result string // for the log; empty: it changes nothing
	do     func(st Store, ctx context.Context, r *FaultRequest) error
}

var faultActions = []faultAction{
	{"set faults", "/api/v1/faults", "plan", "the faults of a store were set",
		func(st Store, ctx context.Context, r *FaultRequest) error { return st.SetFaults(ctx, r.Plan) }},
	{"add a fault", "/api/v1/faults/add", "rule", "a fault of a store was added",
		func(st Store, ctx context.Context, r *FaultRequest) error { return st.AddFault(ctx, r.Rule) }},
	{"clear faults", "/api/v1/faults/clear", "", "the faults of a store were cleared",
		func(st Store, ctx context.Context, _ *FaultRequest) error { return st.SetFaults(ctx, []byte(`{}`)) }},
	{"list faults", "/api/v1/faults/list", "", "", func(Store, context.Context, *FaultRequest) error { return nil }},
}

// takes reports whether the request has the member that the action needs, and no other.
func (a *faultAction) takes(r *FaultRequest) bool {
	return (a.member == "plan") == (r.Plan != nil) && (a.member == "rule") == (r.Rule != nil)
}

// handler returns the handler for an action.
func (a *faultAction) handler(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req FaultRequest
		if !take(w, r, &req) {
			return
		}
		if !a.takes(&req) {
			need := "a plan or a rule is not for this request"
			if a.member != "" {
				need = "give " + a.member + ", and nothing else"
			}
			fail(w, http.StatusBadRequest, "%s: %s", a.name, need)
			return
		}
		name, st := s.store(w, req.Service)
		if st == nil {
			return
		}
		out := FaultStatus{Service: name}
		err := a.do(st, r.Context(), &req)
		if err == nil {
			out.Faults, err = st.Faults(r.Context())
		}
		if err != nil {
			s.failed(w, a.name, err)
			return
		}
		if a.result != "" {
			s.log.Info(a.result, "service", name, "by", r.RemoteAddr)
		}
		answer(w, http.StatusOK, out)
	})
}
