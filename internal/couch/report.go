package couch

import (
	"context"
	"fmt"
	"strings"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/purge"
)

// Name is the service's name in the configuration.
func (s *Service) Name() string { return s.name }

// Ready returns an error if the service can't work now.
func (s *Service) Ready() error { return s.engine.Ready() }

// Report returns the service's present state.
func (s *Service) Report() admin.Report {
	r := s.engine.Report()
	r.Type = "couchdb"
	f := s.settings.Load().fleet
	r.Notes = append(append(r.Notes, f.notes()...), s.security.notes()...)
	r.Notes = append(r.Notes, s.security.differenceNotes()...)
	r.Feeds = f.sharedFeeds()
	return r
}

// Purge drops copies: all of them, or by a tag of the nodes, or by URL. For a
// document that includes its attachments, for a view all views, lists and queries, and for a
// database everything.
func (s *Service) Purge(ctx context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	kind := r.Selector.Kind
	known := kind == purge.All || kind == purge.URL || kind == purge.Tag
	switch {
	case r.ByTable() || !known || r.Soft:
		return admin.PurgeResult{}, fmt.Errorf("%w: service %s is purged as a whole, by the URL of a database, a document or a view, or by a tag", admin.ErrInput, s.name)
	case kind != purge.URL:
		return s.engine.Purge(ctx, r)
	}
	url := r.Selector.Text
	path, query, err := splitURL(url)
	if err != nil {
		return admin.PurgeResult{}, err
	}
	rt := api.Classify([]byte("GET"), nil, path, query)
	if len(rt.DB) == 0 {
		return admin.PurgeResult{}, fmt.Errorf("%w: %s names no database", admin.ErrInput, url)
	}
	tag, what := s.purgeTag(&rt)
	if err := s.cache.Invalidate(ctx, cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{tag}}); err != nil {
		return admin.PurgeResult{}, fmt.Errorf("the other nodes may not have dropped %s: %w", what, err)
	}
	return admin.PurgeResult{Dropped: what, Tags: 1}, nil
}

// purgeTag returns the tag that a purge of r's URL moves, and a description of the copies
// that it drops.
func (s *Service) purgeTag(r *api.Route) (tag cache.Tag, what string) {
	db := r.AppendDB(nil)
	switch {
	case r.Kind == api.Document, r.Kind == api.Attachment:
		id := r.AppendID(nil)
		return s.tagger.Document(db, id), fmt.Sprintf("document %s of database %s, with its attachments", id, db)
	case r.Kind == api.Result, r.Kind == api.Rendering:
		return s.tagger.Results(db), fmt.Sprintf("all views, lists and queries of database %s", db)
	}
	return s.tagger.Database(db), fmt.Sprintf("everything of database %s", db)
}

// Drain implements admin.Drainer. A drained node is still followed, since other clients may
// write to it.
func (s *Service) Drain(ctx context.Context, r admin.DrainRequest) (admin.DrainResult, error) {
	return s.engine.Drain(ctx, r)
}

// splitURL returns the path and the query of a URL or of a path.
func splitURL(url string) (path, query []byte, err error) {
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
