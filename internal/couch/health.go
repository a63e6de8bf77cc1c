package couch

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/origin/balance"
)

const (
	upPath   = "/_up" // since CouchDB 2.0
	rootPath = "/"
)

// setHealthChecks sets the default health checks in g. A node that was killed counts as down
// after two seconds. Nothing is served from memory before that, since its feeds are silent.
func setHealthChecks(g *balance.Config) {
	if g.Check.Path == "" {
		g.Check = balance.Check{Path: upPath, Judge: healthJudge{}, Interval: time.Second, Timeout: 2 * time.Second, Window: 3, Threshold: 2}
	}
	// A 500 is the failure of a query, for example of a view's function, and not of the
	// node.
	if g.Ejection.Statuses == nil {
		g.Ejection.Statuses = []int{502, 503, 504}
	}
}

// healthJudge evaluates a CouchDB's answers to /_up, or to / if the product has no /_up.
type healthJudge struct{}

// Judge implements balance.Judge. A node in maintenance answers 404 with a "status" in the
// body. A 404 without one means that there is no such path. A node that requires a password
// answers 401, and is up.
func (healthJudge) Judge(target string, status int, body []byte) (other string, err error) {
	var answer struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}
	text := json.Unmarshal(body, &answer) == nil
	switch {
	case status == 401, status == 200 && target == upPath:
		return "", nil
	case status == 200 && text && answer.Version != "":
		return "", nil
	case status == 200:
		return "", fmt.Errorf("the answer to %s is not that of a CouchDB", target)
	case text && answer.Status != "":
		return "", fmt.Errorf("status %d: %s", status, answer.Status)
	case target == upPath && (status == 400 || status == 404 || status == 405):
		return rootPath, nil
	}
	return "", fmt.Errorf("status %d", status)
}
