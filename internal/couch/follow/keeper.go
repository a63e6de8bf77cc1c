package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// KeeperConfig says what is to be replicated.
type KeeperConfig struct {
	Nodes []ReplicationNode
	Jobs  []ReplicationJob
	Do    Do
	// CheckInterval is how often each replication is looked after. Default 10s.
	CheckInterval time.Duration
	// RetryInterval is when it is looked after again if a node could not be asked; it
	// doubles up to Check. Default 500ms.
	RetryInterval time.Duration
	// Changed is told when a replication was made, made anew, has another phase, or
	// can't be looked after, or can again. It is called by one goroutine for each node.
	// Nil tells nobody.
	Changed func(before, after Replication)
}

// ReplicationKind says by what a replication exists.
type ReplicationKind uint8

// The ways in which a replication can exist.
const (
	NotStarted           ReplicationKind = iota
	DocumentReplication                  // a document in _replicator
	TransientReplication                 // a request to _replicate, since the node was away the last time
)

func (h ReplicationKind) String() string { return [...]string{"not yet", "document", "transient"}[h] }

// Replication is what is known of one replication.
type Replication struct {
	ReplicationJob
	Kind      ReplicationKind
	Phase     string    // as the node calls it: "running", "crashing"; "" if it does not say
	Restarts  int       // how often it was made anew after the first time
	CheckedAt time.Time // of the last look at it that succeeded
	Err       error     // of the last look, if it failed
}

// Keeper keeps replications alive while Run runs.
type Keeper struct {
	cfg   KeeperConfig
	kicks []chan struct{} // by node; each holds one

	mu         sync.Mutex
	states     []Replication
	renewals   []renewal // by replication, as states
	awayCounts []int     // calls of Away, by node
}

// NewKeeper makes a keeper that does nothing yet.
func NewKeeper(cfg KeeperConfig) *Keeper {
	if cfg.CheckInterval == 0 {
		cfg.CheckInterval = 10 * time.Second
	}
	if cfg.RetryInterval == 0 {
		cfg.RetryInterval = 500 * time.Millisecond
	}
	k := &Keeper{cfg: cfg, awayCounts: make([]int, len(cfg.Nodes))}
	for range cfg.Nodes {
		k.kicks = append(k.kicks, make(chan struct{}, 1))
	}
	for _, j := range cfg.Jobs {
		k.states = append(k.states, Replication{ReplicationJob: j})
	}
	k.renewals = make([]renewal, len(k.states))
	return k
}

// States returns what is known of each replication.
func (k *Keeper) States() []Replication {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Replication(nil), k.states...)
}

// NodeReturned tells that a node was away and may have been restarted: what was started
// there by _replicate is gone, and what was started elsewhere may have given up
// reading from it.
func (k *Keeper) NodeReturned(node int) {
	k.restart(func(s *Replication) bool {
		return s.From == node || s.To == node && s.Kind == TransientReplication // by a document a node starts it itself
	}, func() { k.awayCounts[node]++ })
}

// Stalled tells that changes of a database don't reach a node: what was started
// there may be gone, or wait for nothing.
func (k *Keeper) Stalled(db string, node int) {
	k.restart(func(s *Replication) bool { return s.To == node && s.DB == db }, func() {})
}

// restart has some replications looked after at once, and started again.
func (k *Keeper) restart(which func(s *Replication) bool, note func()) {
	k.mu.Lock()
	note()
	for i := range k.states {
		s := &k.states[i]
		switch {
		case s.Kind == NotStarted || !which(s):
		case s.Kind == TransientReplication:
			s.Kind = NotStarted
		default:
			k.renewals[i].wanted = true
		}
	}
	k.mu.Unlock()
	for _, kick := range k.kicks {
		select {
		case kick <- struct{}{}:
		default:
		}
	}
}

// Run keeps the replications until ctx ends. Those of a node that does not answer hold
// up no other node's.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	for node := range k.cfg.Nodes {
		running.Go(func() { k.run(ctx, node) })
	}
	running.Wait()
}

// runKeeper keeps the replications that run on a node.
func (k *Keeper) run(ctx context.Context, node int) {
	failures := 0
	for ctx.Err() == nil {
		pause := k.cfg.CheckInterval
		if k.checkNode(ctx, node) {
			failures = 0
		} else {
			pause = min(k.cfg.RetryInterval<<min(failures, 16), pause)
			failures++
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-k.kicks[node]:
			failures = 0
		case <-t.C:
		}
		t.Stop()
	}
}

// checkNode looks after the replications that run on a node, and tells whether it could.
func (k *Keeper) checkNode(ctx context.Context, node int) (well bool) {
	well = true
	for i, s := range k.States() {
		if s.To != node {
			continue
		}
		err := k.ensure(ctx, i, s)
		if ctx.Err() != nil {
			return false
		}
		k.update(i, func(s *Replication) {
			if s.Err = err; err == nil {
				s.CheckedAt = time.Now()
			}
		})
		well = well && err == nil
	}
	return well
}

func (k *Keeper) update(i int, change func(s *Replication)) {
	k.mu.Lock()
	before := k.states[i]
	change(&k.states[i])
	after := k.states[i]
	k.mu.Unlock()
	if k.cfg.Changed != nil && !after.sameAs(before) {
		k.cfg.Changed(before, after)
	}
}

// sameAs tells whether nothing has happened between two states that is worth to be
// told.
func (s Replication) sameAs(o Replication) bool {
	return s.Kind == o.Kind && s.Phase == o.Phase && s.Restarts == o.Restarts && (s.Err == nil) == (o.Err == nil)
}

// errNoReplicator says that the node has no _replicator database.
var errNoReplicator = errors.New("no _replicator database")

// ensure makes one replication exist.
func (k *Keeper) ensure(ctx context.Context, i int, s Replication) error {
	err := k.ensureDocument(ctx, i, s)
	if !errors.Is(err, errNoReplicator) {
		return err
	}
	if s.Kind == TransientReplication {
		return nil
	}
	aways := k.awayCount(s.ReplicationJob)
	status, answer, err := k.send(ctx, s.To, "POST", "/_replicate", k.document(s.ReplicationJob))
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return statusRefused("_replicate", status, answer)
	}
	if aways != k.awayCount(s.ReplicationJob) {
		return nil // it may be gone already; Away has called for another look
	}
	k.started(i, TransientReplication)
	return nil
}

// awayCount counts how often one of a replication's nodes was away.
func (k *Keeper) awayCount(j ReplicationJob) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.awayCounts[j.From] + k.awayCounts[j.To]
}

// started takes note that a replication was made, or made anew.
func (k *Keeper) started(i int, how ReplicationKind) {
	k.update(i, func(s *Replication) {
		if !s.CheckedAt.IsZero() {
			s.Restarts++
		}
		s.Kind, s.Phase = how, ""
	})
}

// ensureDocument sees to the job's document in _replicator.
func (k *Keeper) ensureDocument(ctx context.Context, i int, s Replication) error {
	path, want := "/_replicator/"+k.documentID(s.ReplicationJob), k.document(s.ReplicationJob)
	status, answer, err := k.send(ctx, s.To, "GET", path, nil)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return k.write(ctx, i, s.To, path, want)
	case status != http.StatusOK:
		return statusRefused("GET of its document", status, answer)
	}
	var found replicationDoc
	if err := json.Unmarshal(answer, &found); err != nil {
		return fmt.Errorf("its document: %w", err)
	}
	state := found.State
	scheduled := k.schedulerState(ctx, s.To, k.documentID(s.ReplicationJob))
	if scheduled != "" {
		state = scheduled
	}
	if !found.describes(want) || isFinal(found.State) || scheduled == "failed" || scheduled == "completed" || k.takeRenewal(i, scheduled) {
		return k.replace(ctx, i, s.To, path, found, want)
	}
	k.update(i, func(s *Replication) { s.Kind, s.Phase = DocumentReplication, state })
	return nil
}

// replace writes the job's document anew. Nobody but the node may change one that it
// acts on, but it may be deleted.
func (k *Keeper) replace(ctx context.Context, i, node int, path string, found, want replicationDoc) error {
	want.Renewed = time.Now().UTC().Format(time.RFC3339Nano)
	if isFinal(found.State) {
		want.Rev = found.Rev
		return k.write(ctx, i, node, path, want)
	}
	status, answer, err := k.send(ctx, node, "DELETE", path+"?rev="+url.QueryEscape(found.Rev), nil)
	if err == nil && status/100 != 2 && status != http.StatusNotFound {
		err = statusRefused("DELETE of its document", status, answer)
	}
	if err != nil {
		k.requestRenewal(i)
		return err
	}
	return k.write(ctx, i, node, path, want)
}

// write writes the job's document. A conflict means that somebody else has written
// it: the next look will tell.
func (k *Keeper) write(ctx context.Context, i, node int, path string, want replicationDoc) error {
	status, answer, err := k.send(ctx, node, "PUT", path, want)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return errNoReplicator
	case status/100 != 2:
		return statusRefused("PUT of its document", status, answer)
	}
	k.started(i, DocumentReplication)
	return nil
}

// schedulerState asks the scheduler of a CouchDB of version 2 or later for a document's
// state. Others have none.
func (k *Keeper) schedulerState(ctx context.Context, node int, id string) string {
	status, answer, err := k.send(ctx, node, "GET", "/_scheduler/docs/_replicator/"+id, nil)
	if err != nil || status != http.StatusOK {
		return ""
	}
	var doc struct {
		State string `json:"state"`
	}
	if json.Unmarshal(answer, &doc) != nil {
		return ""
	}
	return doc.State
}

// send sends a request, with a document as its body unless it is nil.
func (k *Keeper) send(ctx context.Context, node int, method, path string, body any) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	return k.cfg.Do(ctx, node, method, path, text)
}

func statusRefused(what string, status int, answer []byte) error {
	return fmt.Errorf("%s was answered with %d: %.200s", what, status, answer)
}
