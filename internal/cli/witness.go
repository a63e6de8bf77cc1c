package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cluster/nats"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/pause"
)

// witness is this process as a witness of a cluster: its NATS server keeps a copy of the list of
// members. It is no member, so it only reads the list, for people and for its connections.
type witness struct {
	cfg       *config.Cluster
	view      bucketView
	transport *nats.Transport
	log       *slog.Logger
	cancel    context.CancelFunc
	following sync.WaitGroup

	mu      sync.Mutex
	last    protocol.View // the newest that was read
	trouble error         // of the newest read; nil if it succeeded
}

// errNotRead is the state of a witness before its first read.
var errNotRead = errors.New("the list of members was not read yet")

// newWitness starts a witness of the cluster of cfg.
func (n *Node) newWitness(cfg *config.Config) (w *witness, err error) {
	w = &witness{cfg: cfg.Cluster, log: n.log.With(slog.String("cluster", cfg.Cluster.Name)), trouble: errNotRead}
	if w.transport, err = newTransport(cfg, w.log); err != nil {
		return nil, err
	}
	w.view = newBucket(cfg, w.transport, w.log)
	observeTransport(n.registry, w.transport)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.following.Go(func() { w.follow(ctx) })
	return w, nil
}

// witnessInterval is the time between two reads of the list by a witness, and the limit of each.
const witnessInterval = time.Second

// follow reads the list of members again and again until ctx ends.
func (w *witness) follow(ctx context.Context) {
	if !until(ctx, w.log, "the place of the cluster's members is not ready", func() error { return w.view.Prepare(ctx) }) {
		return
	}
	var peers map[string]string
	for {
		v, err := w.read(ctx)
		w.mu.Lock()
		before := w.trouble
		if w.trouble = err; err == nil {
			w.last = v
		}
		w.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && (before == nil || before.Error() != err.Error()):
			w.log.Warn("this witness has no current copy of the list of members", slog.Any("error", err))
		case err == nil && before != nil:
			w.log.Info("this witness has a current copy of the list of members")
		}
		addresses := make(map[string]string, len(v.Members))
		for _, m := range v.Members {
			addresses[m.Node] = m.Address
		}
		if err == nil && !maps.Equal(addresses, peers) {
			peers = addresses
			w.transport.SetPeers(peers)
		}
		w.transport.Repair()
		if !pause.For(ctx, witnessInterval) {
			return
		}
	}
}

// read returns the list of members, if this node's copy of it is current.
func (w *witness) read(ctx context.Context) (protocol.View, error) {
	if err := w.transport.CopyState(w.view.Stream()); err != nil {
		return protocol.View{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*witnessInterval)
	defer cancel()
	return w.view.Read(ctx)
}

// close ends the witness.
func (w *witness) close() {
	w.cancel()
	w.following.Wait()
	w.transport.Close()
}

// Status implements admin.Cluster.
func (w *witness) Status() admin.ClusterStatus {
	w.mu.Lock()
	v, trouble := w.last, w.trouble
	w.mu.Unlock()
	out := admin.ClusterStatus{Name: w.cfg.Name, Node: w.cfg.NodeName(), Epoch: v.Epoch, Rev: v.Rev, State: admin.NodeWitness, Away: away(&v)}
	if trouble != nil {
		out.Obstacle = trouble.Error()
	}
	for i := range v.Members {
		out.Members = append(out.Members, adminMember(&v, &v.Members[i]))
	}
	return out
}

// Evict implements admin.Cluster.
func (w *witness) Evict(context.Context, string) error {
	return fmt.Errorf("%w: node %s is a witness; ask a member", admin.ErrInput, w.cfg.NodeName())
}

// Warm implements admin.Cluster.
func (w *witness) Warm(context.Context, *admin.WarmRequest, func(admin.WarmProgress)) error {
	return fmt.Errorf("%w: node %s is a witness, which has no cache", admin.ErrInput, w.cfg.NodeName())
}

// Unreached implements admin.Cluster. A witness has nothing to purge.
func (w *witness) Unreached(error) bool { return false }
