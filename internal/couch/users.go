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

	"github.com/kasoku/kasoku/internal/pause"
)

const (
	usersDatabase = "_users"
	// maxUsers is the maximum number of users per node that are compared.
	maxUsers = 10_000
	// usersEvery is the pause between requests to a node that does not answer.
	usersEvery = 5 * time.Second
)

// compareUsers logs one warning if the nodes' users or passwords differ. CouchDB does not
// replicate users by default, so an old password remains valid on the other nodes. An
// unreachable node is queried until it answers; a node that does not show its users is
// ignored.
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

// users returns a node's users, sorted by id. ok is false if the node does not show them.
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
		if !pause.For(ctx, usersEvery) {
			return nil, false
		}
	}
}

// sameUsers reports whether two lists are equal, up to the shorter one if a list is
// truncated.
func sameUsers(a, b []userRevision) bool {
	if len(a) >= maxUsers || len(b) >= maxUsers {
		a, b = a[:min(len(a), len(b))], b[:min(len(a), len(b))]
	}
	return slices.Equal(a, b)
}
