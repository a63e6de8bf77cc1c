package follow

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
)

// ReplicationNode is a node with the address and the credentials that other nodes use.
type ReplicationNode struct {
	URL            string // without a trailing slash
	User, Password string // credentials to read from it and write to it; may be empty
}

// ReplicationJob is the replication of one database between two nodes, given by their
// indexes. It runs on the target.
type ReplicationJob struct {
	DB       string // unescaped
	From, To int
}

// ReplicateBothWays returns the jobs that replicate a database from each node to each other
// node.
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

// endpoint is the source or the target of a replication, in the form that keeps credentials
// out of the URL. Without credentials it is written as a URL, which all versions accept.
type endpoint struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (e endpoint) MarshalJSON() ([]byte, error) {
	if e.Headers == nil {
		return json.Marshal(e.URL)
	}
	type members endpoint
	return json.Marshal(members(e))
}

// UnmarshalJSON also accepts the form of a plain URL.
func (e *endpoint) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &e.URL) == nil {
		return nil
	}
	type members endpoint
	return json.Unmarshal(text, (*members)(e))
}

// replicationDoc describes a replication, as a document in _replicator or as the body of a
// request to _replicate.
type replicationDoc struct {
	Rev        string   `json:"_rev,omitempty"`
	Source     endpoint `json:"source"`
	Target     endpoint `json:"target"`
	Continuous bool     `json:"continuous"`
	State      string   `json:"_replication_state,omitempty"`
	// Renewed distinguishes documents that replace each other. PouchDB starts nothing for a
	// document that is equal to a former one of the same replication.
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

// documentID returns the id of a job's document. It depends on the settings only, so that
// two processes with the same settings share one replication.
func (k *Keeper) documentID(j ReplicationJob) string {
	sum := sha256.Sum256([]byte(k.cfg.Nodes[j.From].URL + "\x00" + k.cfg.Nodes[j.To].URL + "\x00" + j.DB))
	return "kasoku-" + hex.EncodeToString(sum[:10])
}

func (k *Keeper) document(j ReplicationJob) replicationDoc {
	return replicationDoc{Source: k.cfg.Nodes[j.From].endpoint(j.DB), Target: k.cfg.Nodes[j.To].endpoint(j.DB), Continuous: true}
}

// describes reports whether a document is for the job. A node may hide credentials, so they
// are not compared.
func (d *replicationDoc) describes(want replicationDoc) bool {
	return d.Continuous && d.Source.URL == want.Source.URL && d.Target.URL == want.Target.URL
}

// isFinal reports whether a node keeps a document in that state. In answers of the
// scheduler, however, "error" means that the node retries.
func isFinal(state string) bool {
	switch state {
	case "failed", "completed", "error", "cancelled":
		return true
	}
	return false
}
