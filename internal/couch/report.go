package couch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/route"
)

// Name is the service's name in the configuration.
func (s *Service) Name() string { return s.name }

// Ready tells why the service can't work now.
func (s *Service) Ready() error { return s.engine.Ready() }

// Report reads the service's present state.
func (s *Service) Report() admin.Report {
	r := s.engine.Report()
	r.Type = "couchdb"
	r.Notes = append(r.Notes, s.settings.Load().fleet.notes()...)
	return r
}

// Purge drops what is kept: everything, what the nodes have tagged, or what a URL
// names: a document with its attachments, a view, or with the URL of a database all of
// it.
func (s *Service) Purge(ctx context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	switch {
	case r.Prefix != "" || r.Pattern != "" || r.Soft:
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s is purged as a whole, by the URL of a database, a document or a view, or by a tag", admin.ErrInput, s.name)
	case r.URL == "":
		return s.engine.Purge(ctx, r)
	}
	path, query, err := split(r.URL)
	if err != nil {
		return admin.PurgeResult{}, err
	}
	rt := route.Classify([]byte("GET"), nil, path, query)
	db := rt.AppendDB(nil)
	var tag cache.Tag
	switch {
	case len(db) == 0:
		return admin.PurgeResult{}, fmt.Errorf("%w: %s names no database", admin.ErrInput, r.URL)
	case rt.What == route.Document || rt.What == route.Attachment:
		tag = s.tagger.Document(db, rt.AppendID(nil))
	case rt.What == route.Result || rt.What == route.Rendering:
		tag = s.tagger.Results(db)
	default:
		tag = s.tagger.Database(db)
	}
	s.cache.Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{tag}})
	return admin.PurgeResult{Dropped: "what depends on " + r.URL, Tags: 1}, nil
}

// split returns the path and the query of a URL, which may be a path alone.
func split(url string) (path, query []byte, err error) {
	rest := url
	if _, after, ok := strings.Cut(url, "://"); ok {
		slash := strings.IndexByte(after, '/')
		if slash < 0 {
			return nil, nil, fmt.Errorf("%w: %s names no database", admin.ErrInput, url)
		}
		rest = after[slash:]
	}
	if !strings.HasPrefix(rest, "/") {
		return nil, nil, fmt.Errorf("%w: %q is no URL; write http://host/database/document", admin.ErrInput, url)
	}
	p, q, _ := strings.Cut(rest, "?")
	return []byte(p), []byte(q), nil
}

// Explain tells how a request would be answered now.
func (s *Service) Explain(_ context.Context, r admin.ExplainRequest) (admin.Explanation, error) {
	path, query, err := split(r.Path)
	if err != nil {
		return admin.Explanation{}, err
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	var e admin.Explanation
	step := func(what, value, note string) {
		e.Steps = append(e.Steps, admin.Step{What: what, Value: value, Note: note})
	}
	rt := route.Classify([]byte(r.Method), nil, path, query)
	step("class", rt.Class.String(), "of "+rt.What.String()+", for node: "+rt.Where.String())
	e.Decision = s.explain(&rt, step)
	return e, nil
}

// explain tells what is known of the database, and returns the decision.
func (s *Service) explain(rt *route.Route, step func(what, value, note string)) string {
	switch {
	case rt.Class == route.Stream:
		step("feed", "shared with those who ask the same, unless it is refused or rarely asked", "")
		return "coalesced"
	case rt.Class == route.Write:
		return "write"
	case rt.Class != route.Read && rt.Class != route.ReadByBody:
		return "pass"
	}
	table := s.settings.Load().table()
	name := rt.AppendDB(nil)
	if table == nil {
		step("database", string(name), "nothing of databases is kept: follow is off")
		return "pass"
	}
	db := table.Find(name)
	if db == nil {
		step("database", string(name), "not in use: the next read that is allowed begins to follow it")
		return "miss"
	}
	now := s.cache.At(time.Now())
	step("database", string(name), fmt.Sprintf("followed; copies may be given out: %v", db.Servable(now)))
	for node, url := range s.settings.Load().cfg.Nodes {
		st := db.Standing(node, now)
		step("node", url, fmt.Sprintf("out: %v, to be compared: %v, lacks %d changes, for %v", st.Out, st.Adrift, st.Lacks, st.Lag))
	}
	for _, tag := range s.cache.Generations(s.tagger.AppendReads(nil, rt)...) {
		step("depends on", tag, "")
	}
	return "hit"
}
