package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Cluster is this process as a node of a cluster. All methods are safe for concurrent use.
type Cluster interface {
	// Status returns the cluster as this node sees it. It must be cheap: it sends nothing.
	Status() ClusterStatus
	// Evict takes a node out of the cluster, and returns once the others no longer wait for
	// it. If the node still runs, it empties its cache and joins again. For a name that is
	// no other member's the error wraps ErrInput.
	Evict(ctx context.Context, node string) error
	// Warm takes over the hottest answers of a service from the node r.Peer. progress is called
	// now and then, by one goroutine. It returns when all were taken over, or ctx ends. For a
	// name that is no other member's the error wraps ErrInput.
	Warm(ctx context.Context, r *WarmRequest, progress func(WarmProgress)) error
	// Unreached reports whether err, of a purge, means that other nodes may not have carried it
	// out. This node has.
	Unreached(err error) bool
}

// NodeState is the state of a node of a cluster.
type NodeState string

// The states of a node.
const (
	NodeServing   NodeState = "serving"
	NodeJoining   NodeState = "joining"   // a member that does not serve yet
	NodeSuspended NodeState = "suspended" // it did not answer another member, and serves until its lease ends
	NodeIsolated  NodeState = "isolated"  // not a member, or without a lease; reads are forwarded to the origin
	NodeLeaving   NodeState = "leaving"   // stopping
	NodeWitness   NodeState = "witness"   // not a member; it keeps a copy of the list of members
)

// trouble returns why a node in state s does not serve, or "" if it does.
func (s NodeState) trouble() string {
	switch s {
	case NodeServing, NodeSuspended, NodeWitness:
		return ""
	case NodeJoining:
		return "joining the cluster"
	case NodeIsolated:
		return "isolated: it has no proof that it is a member"
	case NodeLeaving:
		return "leaving the cluster"
	}
	return fmt.Sprintf("in the unknown state %q", string(s))
}

// ClusterStatus is a cluster as one of its nodes sees it.
type ClusterStatus struct {
	Name     string    `json:"name"`     // of the cluster
	Node     string    `json:"node"`     // of this node
	Instance string    `json:"instance"` // of this process, in hexadecimal
	Epoch    uint64    `json:"epoch"`    // advanced when the members change
	Rev      uint64    `json:"rev"`      // advanced by each write of the list of members
	State    NodeState `json:"state"`
	// LeaseMS is the time until this node's lease ends, in milliseconds; 0 without a lease.
	LeaseMS int64 `json:"lease_ms"`
	// Obstacle is why the node can't join, or why a witness has no current copy.
	Obstacle string `json:"obstacle,omitempty"`
	// Warming is set while this node has joined and takes over answers of other nodes.
	Warming *Warming        `json:"warming,omitempty"`
	Members []ClusterMember `json:"members"`
	// Away are nodes that left or were taken out lately.
	Away []AwayNode `json:"away"`
}

// Warming is the progress of a node that takes over answers of others.
type Warming struct {
	From   []string `json:"from"`   // names of the nodes
	Stored uint64   `json:"stored"` // answers taken over
	Bytes  uint64   `json:"bytes"`  // their size
}

// ClusterMember is a member of a cluster.
type ClusterMember struct {
	Node     string    `json:"node"`
	Address  string    `json:"address"`
	Zone     string    `json:"zone"`
	State    NodeState `json:"state"`
	Self     bool      `json:"self"` // this node
	Instance string    `json:"instance"`
	// AckMS is the time that its last acknowledgement took, in milliseconds, and SilentMS the
	// time since its last message; 0 for this node, and before the first one.
	AckMS    float64   `json:"ack_ms"`
	SilentMS int64     `json:"silent_ms"`
	Joined   time.Time `json:"joined"`
}

// AwayNode is a node that is no longer a member.
type AwayNode struct {
	Node   string    `json:"node"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// EvictRequest names a node to take out of the cluster.
type EvictRequest struct {
	Node string `json:"node"`
}

// EvictResult is the answer to an EvictRequest.
type EvictResult struct {
	Evicted string `json:"evicted"` // name of the node
}

// member returns the cluster, or answers the request with an error and returns nil.
func (s *Server) member(w http.ResponseWriter) Cluster {
	c := s.overview().Cluster
	if c == nil {
		fail(w, http.StatusNotFound, "this Kasoku is in no cluster: its configuration has no section cluster")
	}
	return c
}

func (s *Server) cluster(w http.ResponseWriter, _ *http.Request) {
	if c := s.member(w); c != nil {
		answer(w, http.StatusOK, status(c))
	}
}

// status returns the status of a cluster with lists that are not nil.
func status(c Cluster) *ClusterStatus {
	st := c.Status()
	if st.Members == nil {
		st.Members = []ClusterMember{}
	}
	if st.Away == nil {
		st.Away = []AwayNode{}
	}
	return &st
}

func (s *Server) evict(w http.ResponseWriter, r *http.Request) {
	var req EvictRequest
	if !take(w, r, &req) {
		return
	}
	c := s.member(w)
	if c == nil {
		return
	}
	if req.Node == "" {
		fail(w, http.StatusBadRequest, "give the name of a node")
		return
	}
	if err := c.Evict(r.Context(), req.Node); err != nil {
		s.failed(w, "evict", err)
		return
	}
	s.log.Info("evicted", "node", req.Node, "by", r.RemoteAddr)
	answer(w, http.StatusOK, EvictResult{Evicted: req.Node})
}

// trouble returns why the node does not serve, or "" if it does. A witness serves if it has a
// current copy.
func (st *ClusterStatus) trouble() string {
	if st.State == NodeWitness && st.Obstacle != "" {
		return "witness without a current copy of the list of members: " + st.Obstacle
	}
	if why := st.State.trouble(); why != "" && st.Obstacle != "" {
		return "can't join: " + st.Obstacle
	} else {
		return why
	}
}

// purged adds the nodes that have carried out a purge.
func (st *ClusterStatus) purged(result *PurgeResult) {
	for _, m := range st.Members {
		result.Nodes = append(result.Nodes, m.Node)
	}
	for _, a := range st.Away {
		result.Away = append(result.Away, a.Node)
	}
	for _, list := range []*[]string{&result.Nodes, &result.Away} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// step returns the step of an explanation that names the node.
func (st *ClusterStatus) step() Step {
	note := fmt.Sprintf("%s in cluster %s", st.State, st.Name)
	if st.trouble() != "" {
		note += "; without a lease reads are forwarded to the origin and nothing is stored"
	}
	return Step{What: "node", Value: st.Node, Note: note}
}

// WriteTable writes a line about the cluster, and tables of its members and of nodes that are
// away. now is the present time.
func (st *ClusterStatus) WriteTable(out io.Writer, now time.Time) {
	fmt.Fprintf(out, "cluster %s, node %s: %s, epoch %d, revision %d\n", st.Name, st.Node, st.State, st.Epoch, st.Rev)
	if st.Obstacle != "" {
		what := "it can't join"
		if st.State == NodeWitness {
			what = "it has no current copy of the list of members"
		}
		fmt.Fprintf(out, "%s: %s\n", what, st.Obstacle)
	}
	if m := st.Warming; m != nil {
		fmt.Fprintf(out, "it is being warmed by %s: %d answers, %d bytes so far\n", strings.Join(m.From, ", "), m.Stored, m.Bytes)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tADDRESS\tZONE\tSTATE\tLEASE\tACK\tSILENT\tJOINED")
	for _, m := range st.Members {
		name, lease, ack, silent := m.Node, "", milliseconds(m.AckMS), milliseconds(float64(m.SilentMS))
		if m.Self {
			name, lease, ack, silent = m.Node+" (this)", "none", "", ""
			if st.LeaseMS > 0 {
				lease = milliseconds(float64(st.LeaseMS))
			}
		}
		joined := ""
		if !m.Joined.IsZero() {
			joined = m.Joined.UTC().Format(time.DateTime)
		}
		fmt.Fprintln(w, join(name, m.Address, m.Zone, string(m.State), lease, ack, silent, joined))
	}
	w.Flush()
	if len(st.Away) == 0 {
		return
	}
	fmt.Fprintln(out)
	fmt.Fprintln(w, "AWAY\tFOR\tREASON")
	for _, a := range st.Away {
		fmt.Fprintln(w, join(a.Node, max(now.Sub(a.Since), 0).Round(time.Second).String(), strings.ReplaceAll(a.Reason, "\n", " ")))
	}
	w.Flush()
}

// milliseconds returns a number of milliseconds as a text; "" for 0, which is unknown.
func milliseconds(n float64) string {
	switch {
	case n == 0:
		return ""
	case n < 10:
		return strconv.FormatFloat(n, 'f', 2, 64) + "ms"
	case n >= 10_000:
		return (time.Duration(n) * time.Millisecond).Round(time.Second).String()
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + "ms"
}
