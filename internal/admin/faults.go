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
	Tables  []string        `json:"tables,omitempty"` // patterns; empty: all
}

// FaultStatus is the faults of a store after a request.
type FaultStatus struct {
	Service string          `json:"service"`
	Faults  json.RawMessage `json:"faults"`
	Shards  int             `json:"shards,omitempty"` // that were split
}

// faultAction is a request about faults.
type faultAction struct {
	name   string // in the log
	path   string
	member string // of the request that it needs; empty for none
	tables bool   // the request may have tables
	result string // for the log; empty: it changes nothing
	do     func(st Store, ctx context.Context, r *FaultRequest, out *FaultStatus) error
}

var faultActions = []faultAction{
	{"set faults", "/api/v1/faults", "plan", false, "the faults of a store were set",
		func(st Store, ctx context.Context, r *FaultRequest, _ *FaultStatus) error {
			return st.SetFaults(ctx, r.Plan)
		}},
	{"add a fault", "/api/v1/faults/add", "rule", false, "a fault of a store was added",
		func(st Store, ctx context.Context, r *FaultRequest, _ *FaultStatus) error {
			return st.AddFault(ctx, r.Rule)
		}},
	{"split shards", "/api/v1/faults/split", "", true, "shards of streams of a store were split",
		func(st Store, ctx context.Context, r *FaultRequest, out *FaultStatus) (err error) {
			out.Shards, err = st.SplitShards(ctx, r.Tables)
			return err
		}},
	{"clear faults", "/api/v1/faults/clear", "", false, "the faults of a store were cleared",
		func(st Store, ctx context.Context, _ *FaultRequest, _ *FaultStatus) error {
			return st.SetFaults(ctx, []byte(`{}`))
		}},
	{"list faults", "/api/v1/faults/list", "", false, "", func(Store, context.Context, *FaultRequest, *FaultStatus) error { return nil }},
}

// takes reports whether the request has the member that the action needs, and no other.
func (a *faultAction) takes(r *FaultRequest) bool {
	return (a.member == "plan") == (r.Plan != nil) && (a.member == "rule") == (r.Rule != nil) && (a.tables || r.Tables == nil)
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
			switch {
			case a.member != "":
				need = "give " + a.member + ", and nothing else"
			case req.Tables != nil && !a.tables:
				need = "tables are not for this request"
			}
			fail(w, http.StatusBadRequest, "%s: %s", a.name, need)
			return
		}
		name, st := s.store(w, req.Service)
		if st == nil {
			return
		}
		out := FaultStatus{Service: name}
		err := a.do(st, r.Context(), &req, &out)
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
