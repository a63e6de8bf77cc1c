package couch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
)

// compareLater compares the nodes' _security of a database in the background, when the
// database begins to be followed.
func (s *security) compareLater(f *fleet, db string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.urls) < 2 || s.closed || s.comparing[db] {
		return
	}
	s.comparing[db] = true
	s.running.Go(func() {
		s.compare(s.stopping, f, db)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.comparing, db)
	})
}

// compare logs a warning if the nodes' _security differs, for example after a write directly
// to one of them, or because a node had missed a write before Kasoku was restarted. It is
// unknown which one is newer. Nodes that don't show their _security are ignored.
func (s *security) compare(ctx context.Context, f *fleet, db string) {
	done, err := s.lock(ctx, []byte(db))
	if err != nil {
		return
	}
	defer done()
	first, differs := "", ""
	var known any
	for node, name := range f.urls {
		found, ok := f.nodes.security(ctx, node, db)
		switch {
		case !ok:
		case first == "":
			first, known = name, found
		case differs == "" && !reflect.DeepEqual(known, found):
			differs = name
		}
	}
	if first == "" {
		return
	}
	s.mu.Lock()
	named := s.differences[db] != ""
	s.mu.Unlock()
	if differs != "" && !named {
		s.svc.log.Warn("the nodes' _security differs, so a user's permissions depend on the node; write it again through Kasoku",
			slog.String("database", db), slog.String("node", first), slog.String("other", differs))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.differences, db)
	if differs != "" {
		s.differences[db] = fmt.Sprintf("database %s: %s and %s differ in _security, so a user's permissions depend on the node; write it again through Kasoku", db, first, differs)
	}
}

// security returns a node's _security of a database. ok is false if the node does not show
// it.
func (n *nodes) security(ctx context.Context, node int, db string) (found any, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, text, err := n.do(ctx, node, http.MethodGet, "/"+url.PathEscape(db)+"/_security", nil)
	if err != nil || status != http.StatusOK || json.Unmarshal(text, &found) != nil {
		return nil, false
	}
	return found, true
}

// differenceNotes returns sentences about the databases whose nodes differ in _security.
func (s *security) differenceNotes() (notes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, db := range slices.Sorted(maps.Keys(s.differences)) {
		notes = append(notes, s.differences[db])
	}
	return notes
}
