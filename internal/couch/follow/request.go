package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// missing queries a node with _revs_diff for the revisions that it lacks.
func (d *Database) missing(ctx context.Context, node int, revs []revision) (map[revision]bool, error) {
	ask := map[string][]string{}
	for _, r := range revs {
		ask[r.ID] = append(ask[r.ID], r.Rev)
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("_revs_diff: %w", err)
	}
	answer, err := d.request(ctx, node, "POST", "/_revs_diff", body)
	if err != nil {
		return nil, err
	}
	var lacks map[string]struct {
		Missing []string `json:"missing"`
	}
	if err := json.Unmarshal(answer, &lacks); err != nil {
		return nil, fmt.Errorf("_revs_diff: %w", err)
	}
	missing := map[revision]bool{}
	for id, l := range lacks {
		for _, rev := range l.Missing {
			missing[revision{ID: id, Rev: rev}] = true
		}
	}
	return missing, nil
}

// newest requests up to limit changes of a node, newest first.
func (d *Database) newest(ctx context.Context, node, limit int) ([]revision, error) {
	answer, err := d.request(ctx, node, "GET", fmt.Sprintf("/_changes?descending=true&limit=%d", limit), nil)
	if err != nil {
		return nil, err
	}
	return rows(answer)
}

// after requests up to limit changes of a node after a position in its feed.
func (d *Database) after(ctx context.Context, node int, position string, limit int) ([]revision, error) {
	answer, err := d.request(ctx, node, "GET", fmt.Sprintf("/_changes?since=%s&limit=%d", escapePosition(position), limit), nil)
	if err != nil {
		return nil, err
	}
	return rows(answer)
}

// rows returns the changes of a complete feed.
func rows(feed []byte) (list []revision, err error) {
	r := api.NewFeedReader(bytes.NewReader(feed), api.NormalFeed)
	var row api.Change
	for {
		kind, object, err := r.Next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("_changes: %w", err)
		case kind == api.EndEvent:
			return list, nil
		case kind != api.ChangeEvent:
			continue
		}
		if err := row.Parse(object); err != nil {
			return nil, fmt.Errorf("_changes: %w", err)
		}
		list = append(list, revision{ID: string(row.ID), Rev: string(row.Rev)})
	}
}

// request sends a node a request about the database and returns the body of the answer. A
// status other than 200 is an error.
func (d *Database) request(ctx context.Context, node int, method, rest string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, answer, err := d.table.cfg.Do(ctx, node, method, d.path+rest, body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", method, rest, err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%s %s was answered with %d", method, rest, status)
	}
	return answer, nil
}
