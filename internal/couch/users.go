package couch

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	usersDatabase = "_users"
	// maxUsers is how many users of each node are compared.
	maxUsers = 10_000
	// usersEvery is the pause until a node that did not answer is asked again.
	usersEvery = 5 * time.Second
)

// compareUsers warns once if the nodes don't have the same users with the same passwords:
// CouchDB does not replicate them by itself, so that a password that was changed on one node
// stays valid on the others. A node that can't be reached is asked again until it answers;
// one that does not show its users to Kasoku is left out.
func (s *Service) compareUsers(ctx context.Context) {
	set := s.settings.Load()
	f := set.fleet
	if len(f.urls) < 2 || slices.Contains(set.cfg.Replicate.Databases, usersDatabase) {
		return
	}
	var first string
	var known []userRevision
	for node, url := range f.urls {
		users, ok := f.nodes.users(ctx, node)
		switch {
		case ctx.Err() != nil:
			return
		case !ok:
			continue
		case first == "":
			first, known = url, users
		case !sameUsers(known, users):
			s.log.Warn("the nodes' users or passwords differ: a changed password reaches one node only, unless replicate includes the database _users",
				slog.String("node", first), slog.String("other", url))
			return
		}
	}
}

// userRevision is a document of _users.
type userRevision struct {
	ID    string `json:"id"`
	Value struct {
		Rev string `json:"rev"`
	} `json:"value"`
}

// userFields returns the documents of a node's users, in the order of their ids; not ok: the node
// does not show them.
func (n *nodes) users(ctx context.Context, node int) (list []userRevision, ok bool) {
	for {
		ask, cancel := context.WithTimeout(ctx, requestTimeout)
		status, text, err := n.do(ask, node, http.MethodGet, "/"+usersDatabase+"/_all_docs?limit="+strconv.Itoa(maxUsers), nil)
		cancel()
		if err == nil && status < 500 {
			var answer struct{ Rows []userRevision }
			if status != http.StatusOK || json.Unmarshal(bytes.TrimSpace(text), &answer) != nil {
				return nil, false
			}
			return slices.DeleteFunc(answer.Rows, func(u userRevision) bool { return strings.HasPrefix(u.ID, "_design/") }), true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(usersEvery):
		}
	}
}

// sameUsers reports whether two nodes have the same users, as far as both lists go.
func sameUsers(a, b []userRevision) bool {
	if len(a) >= maxUsers || len(b) >= maxUsers {
		a, b = a[:min(len(a), len(b))], b[:min(len(a), len(b))]
	}
	return slices.Equal(a, b)
}
