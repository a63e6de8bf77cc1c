package couch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// keeper runs a follow.Keeper for the replications of Config.Replicate.
type keeper struct {
	*follow.Keeper
	urls    []string
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// newKeeper returns a running keeper.
func newKeeper(cfg *Config, n *nodes, registry *telemetry.Registry, log *slog.Logger) *keeper {
	k := &keeper{urls: cfg.Nodes, log: log}
	rc := follow.KeeperConfig{Jobs: replicationJobs(cfg), Do: n.do, Changed: k.changed}
	for _, url := range cfg.Nodes {
		rc.Nodes = append(rc.Nodes, follow.ReplicationNode{URL: url, User: cfg.User, Password: cfg.Password})
	}
	k.Keeper = follow.NewKeeper(rc)
	k.observe(cfg.Name, registry)
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.running.Go(func() { k.Run(ctx) })
	return k
}

func (k *keeper) close() {
	k.cancel()
	k.running.Wait()
}

// replicationJobs returns the configured replications.
func replicationJobs(cfg *Config) (jobs []follow.ReplicationJob) {
	for _, db := range cfg.Replicate.Databases {
		if cfg.Replicate.Both {
			jobs = append(jobs, follow.ReplicateBothWays(db, len(cfg.Nodes))...)
			continue
		}
		for to := 1; to < len(cfg.Nodes); to++ {
			jobs = append(jobs, follow.ReplicationJob{DB: db, From: 0, To: to})
		}
	}
	return jobs
}

// changed logs a change of a replication's state.
func (k *keeper) changed(before, after follow.Replication) {
	log := k.log.With(slog.String("database", after.DB), slog.String("from", k.urls[after.From]), slog.String("to", k.urls[after.To]))
	switch {
	case after.Err != nil:
		if before.Err == nil {
			log.Warn("a replication can't be checked", slog.Any("error", after.Err))
		}
	case after.Restarts > before.Restarts:
		log.Warn("a replication was started again, since it is gone or may be", slog.String("by", after.Kind.String()))
	case before.Kind == follow.NotStarted:
		log.Info("a replication was started", slog.String("by", after.Kind.String()))
	case before.Err != nil:
		log.Info("a replication can be checked again")
	case failing(after.Phase) != failing(before.Phase):
		log.Warn("a replication is "+after.Phase, slog.String("before", before.Phase))
	}
}

// failing reports whether a phase is a failure that the node retries.
func failing(phase string) bool { return phase == "crashing" || phase == "error" }

// isHealthy reports whether a replication exists and has no known failure.
func isHealthy(s *follow.Replication) bool {
	return s.Err == nil && s.Kind != follow.NotStarted && !failing(s.Phase)
}

func (k *keeper) observe(service string, r *telemetry.Registry) {
	for i, s := range k.States() {
		labels := []string{"service", service, "database", s.DB, "from", k.urls[s.From], "to", k.urls[s.To]}
		r.Gauge("kasoku_couch_replication_up", "1 while the replication exists and its node reports no failure.", func() float64 {
			if isHealthy(&k.States()[i]) {
				return 1
			}
			return 0
		}, labels...)
		r.CounterFunc("kasoku_couch_replication_mended_total", "Times the replication was started again, since it was gone or might be.",
			func() float64 { return float64(k.States()[i].Restarts) }, labels...)
	}
}

// notes returns sentences about the replications that are not healthy.
func (k *keeper) notes() (notes []string) {
	for _, s := range k.States() {
		what := fmt.Sprintf("replication of %s from %s to %s", s.DB, k.urls[s.From], k.urls[s.To])
		switch {
		case s.Err != nil:
			notes = append(notes, fmt.Sprintf("%s: %v", what, s.Err))
		case s.Kind == follow.NotStarted:
			notes = append(notes, what+": not yet started")
		case failing(s.Phase):
			notes = append(notes, what+": "+s.Phase)
		}
	}
	return notes
}
