package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Store is the embedded store of a service. An error that wraps ErrInput has changed nothing.
type Store interface {
	// Reset removes all tables.
	Reset(ctx context.Context) error
	// Save keeps the whole store as a snapshot, which replaces one of the same name.
	Save(ctx context.Context, name string) error
	// Restore makes the store as it was when the snapshot was saved.
	Restore(ctx context.Context, name string) error
	// Remove removes a snapshot.
	Remove(ctx context.Context, name string) error
	// SetFaults replaces the faults of the store by a plan.
	SetFaults(ctx context.Context, plan json.RawMessage) error
	// AddFault adds a rule to the plan.
	AddFault(ctx context.Context, rule json.RawMessage) error
	// SplitShards splits the open shards of the streams of tables that match patterns, and returns
	// how many.
	SplitShards(ctx context.Context, tables []string) (int, error)
	// Faults returns the plan with the counts of its rules.
	Faults(ctx context.Context) (json.RawMessage, error)
	// Contents returns the names of the tables, and the snapshots; or those of all namespaces.
	Contents(ctx context.Context) (StoreContents, error)
	// Namespace returns a part of a store that has a part for each access key and region.
	Namespace(name string) (Store, error)
}

// StoreRequest names a service, and for some requests a snapshot of its store.
type StoreRequest struct {
	Service string `json:"service,omitempty"` // may be empty if one service has a store
	// Namespace is KEY/REGION for a store with a part for each access key and region.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// StoreContents is the state of a store after a request.
type StoreContents struct {
	Service   string          `json:"service"`
	Namespace string          `json:"namespace,omitempty"` // the one of the request
	Tables    []string        `json:"tables"`
	Snapshots []StoreSnapshot `json:"snapshots"`
	// Namespaces are all of a store that has some, unless the request names one.
	Namespaces []StoreNamespace `json:"namespaces,omitzero"`
}

// StoreNamespace is the state of the part of a store for an access key and a region.
type StoreNamespace struct {
	Name      string          `json:"name"` // KEY/REGION
	Tables    []string        `json:"tables"`
	Snapshots []StoreSnapshot `json:"snapshots"`
}

// StoreSnapshot is a snapshot of a store.
type StoreSnapshot struct {
	Name  string    `json:"name"`
	Saved time.Time `json:"saved"`
}

// storeAction is a request about a store.
type storeAction struct {
	name   string // in the log, and the end of the path
	named  bool   // it takes the name of a snapshot
	result string // for the log; empty: it changes nothing
	do     func(st Store, ctx context.Context, name string) error
}

var storeActions = []storeAction{
	{"reset", false, "all tables of a store were removed", func(st Store, ctx context.Context, _ string) error { return st.Reset(ctx) }},
	{"snapshot", true, "a snapshot of a store was saved", Store.Save},
	{"restore", true, "a store was restored", Store.Restore},
	{"remove", true, "a snapshot of a store was removed", Store.Remove},
	{"list", false, "", func(Store, context.Context, string) error { return nil }},
}

// handler returns the handler for an action.
func (a *storeAction) handler(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req StoreRequest
		if !take(w, r, &req) {
			return
		}
		if a.named != (req.Name != "") {
			fail(w, http.StatusBadRequest, "%s: name %s", a.name, map[bool]string{true: "the snapshot", false: "is for snapshots only"}[a.named])
			return
		}
		name, st := s.store(w, req.Service)
		if st == nil {
			return
		}
		c, err := a.run(r.Context(), st, &req)
		if err != nil {
			s.failed(w, a.name, err)
			return
		}
		if a.result != "" {
			s.log.Info(a.result, "service", name, "namespace", req.Namespace, "snapshot", req.Name, "by", r.RemoteAddr)
		}
		c.Service, c.Namespace = name, req.Namespace
		answer(w, http.StatusOK, c)
	})
}

// run acts on a store, or on the namespace of the request, and returns the contents afterwards.
func (a *storeAction) run(ctx context.Context, st Store, req *StoreRequest) (c StoreContents, err error) {
	whole := st
	if req.Namespace != "" {
		if st, err = whole.Namespace(req.Namespace); err != nil {
			return c, err
		}
	}
	if err := a.do(st, ctx, req.Name); err != nil {
		return c, err
	}
	return st.Contents(ctx)
}

// store returns the store of a service, or the only one if the name is empty. Otherwise it
// answers the request with an error and returns nil.
func (s *Server) store(w http.ResponseWriter, service string) (name string, st Store) {
	o := s.overview()
	var names []string
	for _, m := range o.Services {
		if m.Store != nil && (service == "" || m.Name() == service) {
			name, st = m.Name(), m.Store
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1:
		return name, st
	case len(names) > 1:
		fail(w, http.StatusBadRequest, "several services have an embedded store: name one of %s", fmt.Sprint(names))
	case service == "":
		fail(w, http.StatusBadRequest, "no service has an embedded store")
	default:
		if s.find(w, service) != nil {
			fail(w, http.StatusBadRequest, "service %s has no embedded store", service)
		}
	}
	return "", nil
}
