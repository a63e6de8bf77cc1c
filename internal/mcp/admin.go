package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kasoku/kasoku/internal/admin"
)

// adminTools returns the tools that use the admin API.
func adminTools() []*tool {
	name := argument{"name", "", textKind, true, "The name of the snapshot: up to 64 letters, digits and -_."}
	return []*tool{
		{name: "explain", admin: true, run: explain,
			help: "Explain why the cache would answer a read with a hit or a miss, step by step. Nothing is sent to the store.",
			arguments: []argument{
				{"tool", "", oneOf("get_item", "query", "scan"), true, "The tool whose request is explained."},
				{"arguments", "", objectKind, true, "The arguments of that tool. They must be equal to the parameters of the application's request, since a request with another limit has another cache entry."}}},
		{name: "report", admin: true, run: report,
			help: "Summarize Kasoku's services: hit ratio, counts of hits and misses by reason, size of the cache, requests to the origin, problems."},
		{name: "list_snapshots", admin: true, run: snapshots("list"), help: "List the snapshots of the embedded store."},
		{name: "snapshot", admin: true, changes: true, whole: true, run: snapshots("snapshot"), arguments: []argument{name},
			help: "Save the whole embedded store under a name. A snapshot of the same name is replaced."},
		{name: "restore", admin: true, changes: true, whole: true, run: snapshots("restore"), arguments: []argument{name},
			help: "Make the whole embedded store as it was when a snapshot was saved. All later changes are lost."},
	}
}

// explain explains the request that a tool sends for its arguments.
func explain(ctx context.Context, s *Server, _ *tool, args arguments) (answer, error) {
	var t *tool
	for _, other := range readTools() {
		if other.name == text(args["tool"]) {
			t = other
		}
	}
	inner, err := t.read(args["arguments"])
	if err == nil {
		err = s.checkTable(inner)
	}
	if err != nil {
		return answer{}, err
	}
	body, err := json.Marshal(t.request(inner))
	if err != nil {
		return answer{}, err
	}
	e, err := s.o.Admin.Explain(ctx, t.operation, body)
	if err != nil {
		return answer{}, err
	}
	return bounded(e)
}

// bounded returns a value as an answer, if it is not too long.
func bounded(v any) (answer, error) {
	a, err := answerOf(v, "")
	if err == nil && len(a.body) > maxResult {
		return answer{}, errTooLong(len(a.body), "it can't be shortened")
	}
	return a, err
}

// snapshots returns the function of a tool about snapshots.
func snapshots(action string) run {
	return func(ctx context.Context, s *Server, _ *tool, args arguments) (answer, error) {
		name := text(args["name"])
		c, err := s.o.Admin.Store(context.WithoutCancel(ctx), action, name)
		if action != "list" {
			s.o.Log.Info("snapshots", "action", action, "name", name, "error", err)
		}
		if err != nil {
			return answer{}, err
		}
		if c.Namespaces != nil {
			return answer{}, fmt.Errorf("service %s has a store for each access key and region: start this server with --namespace", c.Service)
		}
		return bounded(map[string]any{"service": c.Service, "snapshots": c.Snapshots})
	}
}

// summary is the report of a service. It has no names of tables.
type summary struct {
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Ready     bool              `json:"ready"`
	Trouble   string            `json:"trouble,omitempty"`
	HitRatio  *float64          `json:"hit_ratio"`
	Decisions map[string]uint64 `json:"decisions"`
	Cache     admin.Usage       `json:"cache"`
	Origin    admin.Origin      `json:"origin"`
}

// report returns the state of the services.
func report(ctx context.Context, s *Server, _ *tool, _ arguments) (answer, error) {
	r, err := s.o.Admin.Report(ctx)
	if err != nil {
		return answer{}, err
	}
	services := []summary{}
	for i := range r.Services {
		from := &r.Services[i]
		services = append(services, summary{from.Name, from.Type, from.Ready, from.Trouble, from.HitRatio, from.Decisions, from.Cache, from.Origin})
	}
	return bounded(map[string]any{"version": r.Version, "uptime_seconds": r.Uptime, "services": services})
}
