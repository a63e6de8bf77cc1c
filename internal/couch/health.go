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

// setHealthChecks has nodes asked whether they are well, if g says nothing else. A node
// that was killed is down after two seconds: until then nothing is given out from
// memory, since its feeds are silent.
func setHealthChecks(g *balance.Config) {
	if g.Check.Path == "" {
		g.Check = balance.Check{Path: upPath, Judge: healthJudge{}, Interval: time.Second, Timeout: 2 * time.Second, Window: 3, Threshold: 2}
	}
	// A 500 tells of a query, such as a view whose function fails, and not of the node.
	if g.Ejection.Statuses == nil {
		g.Ejection.Statuses = []int{502, 503, 504}
	}
}

// healthJudge judges a CouchDB's answers to /_up, and to / where the product has no /_up.
type healthJudge struct{}

// Judge implements balance.Judge. A node in maintenance answers with 404 and says so
// in "status"; without that, 404 says that there is no such path. 401 comes from one
// that lets nobody in without a password, and is there.
func (healthJudge) Judge(target string, status int, body []byte) (other string, err error) {
	var said struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}
	text := json.Unmarshal(body, &said) == nil
	switch {
	case status == 401, status == 200 && target == upPath:
		return "", nil
	case status == 200 && text && said.Version != "":
		return "", nil
	case status == 200:
		return "", fmt.Errorf("the answer to %s is not that of a CouchDB", target)
	case text && said.Status != "":
		return "", fmt.Errorf("status %d: %s", status, said.Status)
	case target == upPath && (status == 400 || status == 404 || status == 405):
		return rootPath, nil
	}
	return "", fmt.Errorf("status %d", status)
}
