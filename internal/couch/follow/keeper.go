package follow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// KeeperConfig is the configuration of a Keeper.
type KeeperConfig struct {
	Nodes []ReplicationNode
	Jobs  []ReplicationJob
	Do    Do
	// CheckInterval is the interval at which each replication is checked. Default 10s.
	CheckInterval time.Duration
	// RetryInterval is the time until the next check after a node could not be reached. It
	// doubles up to CheckInterval. Default 500ms.
	RetryInterval time.Duration
	// Changed is called when a replication was started or restarted, when its phase changes,
	// and when checks of it begin to fail or to succeed again. It is called by one goroutine
	// per node, and may be nil.
	Changed func(before, after Replication)
}

// ReplicationKind is the way in which a replication exists on its node.
type ReplicationKind uint8

// The kinds of replications.
const (
	NotStarted           ReplicationKind = iota
	DocumentReplication                  // a document in _replicator
	TransientReplication                 // a request to _replicate, which a restart of the node ends
)

func (h ReplicationKind) String() string { return [...]string{"not yet", "document", "transient"}[h] }

// Replication is the state of one replication.
type Replication struct {
	ReplicationJob
	Kind      ReplicationKind
	Phase     string    // as the node reports it: "running", "crashing"; "" if it does not report one
	Restarts  int       // the number of times it was started again
	CheckedAt time.Time // of the last successful check
	Err       error     // of the last check, if it failed
}

// Keeper keeps continuous replications between nodes running while Run runs.
//
// CouchDB has two kinds of them. A document in the database _replicator survives restarts,
// but the node may have given the replication up, and the document may have been deleted. A
// replication started with POST _replicate disappears when the node restarts.
//
// A Keeper writes a document for each replication if the node has a _replicator database,
// and otherwise uses _replicate. It checks them periodically, and at once when a node
// returns or lags. In these two cases it also replaces the documents of replications that
// may be stuck.
type Keeper struct {
	cfg     KeeperConfig
	wakeups []chan struct{} // by node; capacity 1 each

	mu         sync.Mutex
	states     []Replication
	renewals   []renewal // by replication, like states
	awayCounts []int     // calls of NodeReturned, by node
}

// NewKeeper returns a keeper. Run starts it.
func NewKeeper(cfg KeeperConfig) *Keeper {
	cfg.CheckInterval = cmp.Or(cfg.CheckInterval, 10*time.Second)
	cfg.RetryInterval = cmp.Or(cfg.RetryInterval, 500*time.Millisecond)
	k := &Keeper{cfg: cfg, awayCounts: make([]int, len(cfg.Nodes))}
	for range cfg.Nodes {
		k.wakeups = append(k.wakeups, make(chan struct{}, 1))
	}
	for _, j := range cfg.Jobs {
		k.states = append(k.states, Replication{ReplicationJob: j})
	}
	k.renewals = make([]renewal, len(k.states))
	return k
}

// States returns the states of all replications.
func (k *Keeper) States() []Replication {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Replication(nil), k.states...)
}

// NodeReturned is called when a node is back and may have been restarted. Its _replicate
// replications are gone, and other nodes may have given up reading from it.
func (k *Keeper) NodeReturned(node int) {
	k.restart(func(s *Replication) bool {
		return s.From == node || s.To == node && s.Kind == TransientReplication // a node starts the replications of its documents itself
	}, func() { k.awayCounts[node]++ })
}

// Stalled is called when changes of a database don't reach a node. The replication to it may
// be gone or stuck.
func (k *Keeper) Stalled(db string, node int) {
	k.restart(func(s *Replication) bool { return s.To == node && s.DB == db }, func() {})
}

// restart checks and restarts the selected replications at once.
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
	for _, wakeup := range k.wakeups {
		select {
		case wakeup <- struct{}{}:
		default:
		}
	}
}

// Run keeps the replications running until ctx ends. A node that does not answer does not
// delay the replications of others.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	for node := range k.cfg.Nodes {
		running.Go(func() { k.run(ctx, node) })
	}
	running.Wait()
}

// run keeps the replications running that run on a node.
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
		case <-k.wakeups[node]:
			failures = 0
		case <-t.C:
		}
		t.Stop()
	}
}

// checkNode checks the replications that run on a node, and reports whether all checks
// succeeded.
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

// sameAs reports whether two states differ in nothing that Changed reports.
func (s Replication) sameAs(o Replication) bool {
	return s.Kind == o.Kind && s.Phase == o.Phase && s.Restarts == o.Restarts && (s.Err == nil) == (o.Err == nil)
}

// errNoReplicator is returned if the node has no _replicator database.
var errNoReplicator = errors.New("no _replicator database")

// ensure starts a replication if it does not exist.
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
		return unexpectedStatus("_replicate", status, answer)
	}
	if aways != k.awayCount(s.ReplicationJob) {
		return nil // it may be gone already; NodeReturned has requested another check
	}
	k.started(i, TransientReplication)
	return nil
}

// awayCount returns how often the two nodes of a replication have returned.
func (k *Keeper) awayCount(j ReplicationJob) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.awayCounts[j.From] + k.awayCounts[j.To]
}

// started records that a replication was started or restarted.
func (k *Keeper) started(i int, how ReplicationKind) {
	k.update(i, func(s *Replication) {
		if !s.CheckedAt.IsZero() {
			s.Restarts++
		}
		s.Kind, s.Phase = how, ""
	})
}

// ensureDocument checks the job's document in _replicator, and writes it if necessary.
func (k *Keeper) ensureDocument(ctx context.Context, i int, s Replication) error {
	path, want := "/_replicator/"+k.documentID(s.ReplicationJob), k.document(s.ReplicationJob)
	status, answer, err := k.send(ctx, s.To, "GET", path, nil)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return k.write(ctx, i, s.To, path, want)
	case status != http.StatusOK:
		return unexpectedStatus("GET of its document", status, answer)
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

// replace writes the job's document again. While the node acts on a document, clients can't
// change it, but they can delete it.
func (k *Keeper) replace(ctx context.Context, i, node int, path string, found, want replicationDoc) error {
	want.Renewed = time.Now().UTC().Format(time.RFC3339Nano)
	if isFinal(found.State) {
		want.Rev = found.Rev
		return k.write(ctx, i, node, path, want)
	}
	status, answer, err := k.send(ctx, node, "DELETE", path+"?rev="+url.QueryEscape(found.Rev), nil)
	if err == nil && status/100 != 2 && status != http.StatusNotFound {
		err = unexpectedStatus("DELETE of its document", status, answer)
	}
	if err != nil {
		k.requestRenewal(i)
		return err
	}
	return k.write(ctx, i, node, path, want)
}

// write writes the job's document. A conflict means that another client has written it; the
// next check sees that one.
func (k *Keeper) write(ctx context.Context, i, node int, path string, want replicationDoc) error {
	status, answer, err := k.send(ctx, node, "PUT", path, want)
	switch {
	case err != nil:
		return err
	case status == http.StatusNotFound:
		return errNoReplicator
	case status/100 != 2:
		return unexpectedStatus("PUT of its document", status, answer)
	}
	k.started(i, DocumentReplication)
	return nil
}

// schedulerState returns the state of a document in the scheduler of CouchDB 2 and later; ""
// on other servers.
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

// send sends a request with body as JSON, or without a body if it is nil.
func (k *Keeper) send(ctx context.Context, node int, method, path string, body any) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return k.cfg.Do(ctx, node, method, path, text)
}

func unexpectedStatus(what string, status int, answer []byte) error {
	return fmt.Errorf("%s was answered with %d: %.200s", what, status, answer)
}
