package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/cluster/bucket"
	"github.com/kasoku/kasoku/internal/cluster/nats"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/pause"
)

// viewStore is the place of the list of a cluster's members: a table or a bucket.
type viewStore interface {
	cluster.Store
	// Prepare checks the place, and creates it if it is missing.
	Prepare(ctx context.Context) error
	// Empty returns a time at which the place had no list yet, if Prepare has created it. Otherwise
	// it returns the zero time.
	Empty() time.Time
	Close()
}

// tableView is a list in a table, with the connection to its origin.
type tableView struct {
	*view.Store
	origin *accel.Requester
}

func (v tableView) Close() { v.origin.Close() }

// bucketView is a list in a bucket. The connection is the transport's.
type bucketView struct {
	*bucket.Store
	transport *nats.Transport
}

// Prepare also waits until this node's copy of the bucket is current, if it keeps one. Then the
// node is not ready before another one that keeps a copy may be restarted.
func (v bucketView) Prepare(ctx context.Context) error {
	if err := v.Store.Prepare(ctx); err != nil {
		return err
	}
	return v.transport.CopyState(v.Stream())
}

// Empty returns the zero time: a new bucket has a list without members, which shows the same.
func (bucketView) Empty() time.Time { return time.Time{} }

func (bucketView) Close() {}

// newBucket returns the bucket with the members of the cluster of cfg.
func newBucket(cfg *config.Config, t *nats.Transport, log *slog.Logger) bucketView {
	c := cfg.Cluster
	replicas := len(c.View.Nodes)
	if replicas == 0 {
		replicas = c.View.Replicas // in the user's deployment
	}
	return bucketView{bucket.New(bucket.Config{
		Cluster: c.Name, Bucket: cfg.ViewBucket(), Replicas: replicas, Requester: t.Client(), Log: log,
	}), t}
}

// newView returns the place of the members of the cluster of cfg.
func (n *Node) newView(cfg *config.Config, t *nats.Transport, log *slog.Logger) (viewStore, error) {
	c := cfg.Cluster
	if cfg.ViewBucket() != "" {
		return newBucket(cfg, t, log), nil
	}
	ac, err := n.accelConfig(cfg, cfg.ViewService())
	if err != nil {
		return nil, err
	}
	origin, err := accel.NewRequester(ac)
	if err != nil {
		return nil, err
	}
	return tableView{view.New(view.Config{Cluster: c.Name, Table: c.View.Table, Call: origin.Call, Log: log}), origin}, nil
}

// prepareInterval is the time between two attempts to prepare the place of the members.
const prepareInterval = time.Second

// until calls f until it returns no error, and logs each different one. It returns false if
// ctx ends before that.
func until(ctx context.Context, log *slog.Logger, trouble string, f func() error) bool {
	for last := ""; ; {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		if text := err.Error(); text != last {
			log.Error(trouble, slog.Any("error", err))
			last = text
		}
		if !pause.For(ctx, prepareInterval) {
			return false
		}
	}
}
