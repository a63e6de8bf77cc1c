package follow

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
)

// ReplicationNode is a node as the others reach it.
type ReplicationNode struct {
	URL            string // without a slash at the end
	User, Password string // with which the others read from it and write to it; empty for none
}

// ReplicationJob is a replication of one database from one node to another, by their numbers.
// It runs on the node that it writes to.
type ReplicationJob struct {
	DB       string // without escapes
	From, To int
}

// ReplicateBothWays returns the jobs that replicate a database between all nodes, each way.
func ReplicateBothWays(db string, nodes int) (jobs []ReplicationJob) {
	for from := range nodes {
		for to := range nodes {
			if from != to {
				jobs = append(jobs, ReplicationJob{db, from, to})
			}
		}
	}
	return jobs
}

// endpoint is one end of a replication, in the form that keeps credentials out of
// the URL. Without credentials it is written as its URL: all versions know that.
type endpoint struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// MarshalJSON chooses the form.
func (e endpoint) MarshalJSON() ([]byte, error) {
	if e.Headers == nil {
		return json.Marshal(e.URL)
	}
	type members endpoint
	return json.Marshal(members(e))
}

// UnmarshalJSON also takes the form in which an endpoint is its URL.
func (e *endpoint) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &e.URL) == nil {
		return nil
	}
	type members endpoint
	return json.Unmarshal(text, (*members)(e))
}

// replicationDoc is what describes a replication, in _replicator as well as to
// _replicate.
type replicationDoc struct {
	Rev        string   `json:"_rev,omitempty"`
	Source     endpoint `json:"source"`
	Target     endpoint `json:"target"`
	Continuous bool     `json:"continuous"`
	State      string   `json:"_replication_state,omitempty"`
	// Renewed tells documents apart that replace each other: PouchDB takes one like
	// another that it has had for the same replication, and starts nothing.
	Renewed string `json:"renewed,omitempty"`
}

func (n ReplicationNode) endpoint(db string) endpoint {
	e := endpoint{URL: n.URL + "/" + url.PathEscape(db)}
	if n.User != "" {
		basic := base64.StdEncoding.EncodeToString([]byte(n.User + ":" + n.Password))
		e.Headers = map[string]string{"Authorization": "Basic " + basic}
	}
	return e
}

// documentID is the id of a job's document: the same whoever makes it, so that two
// processes with the same settings keep one replication and not two.
func (k *Keeper) documentID(j ReplicationJob) string {
	sum := sha256.Sum256([]byte(k.cfg.Nodes[j.From].URL + "\x00" + k.cfg.Nodes[j.To].URL + "\x00" + j.DB))
	return "kasoku-" + hex.EncodeToString(sum[:10])
}

func (k *Keeper) document(j ReplicationJob) replicationDoc {
	return replicationDoc{Source: k.cfg.Nodes[j.From].endpoint(j.DB), Target: k.cfg.Nodes[j.To].endpoint(j.DB), Continuous: true}
}

// describes tells whether a document that was found is about the job. A node
// may hide credentials, so they don't count.
func (d *replicationDoc) describes(want replicationDoc) bool {
	return d.Continuous && d.Source.URL == want.Source.URL && d.Target.URL == want.Target.URL
}

// closed tells whether the state in a document is one that a node does not leave by
// itself. In the scheduler's answers "error" means that it will try again.
func isFinal(state string) bool {
	switch state {
	case "failed", "completed", "error", "cancelled":
		return true
	}
	return false
}
