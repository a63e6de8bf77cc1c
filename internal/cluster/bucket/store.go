package bucket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/pause"
)

// Config configures a Store.
type Config struct {
	// Cluster is the name of the cluster, which the keys begin with.
	Cluster string
	// Bucket is the name of the bucket.
	Bucket string
	// Replicas is the number of copies of a bucket that Prepare creates.
	Replicas int
	// Requester is the connection to NATS.
	Requester Requester
	// Log receives events of the bucket. nil discards them.
	Log *slog.Logger
}

// Store reads and writes the view of one cluster. Its methods may be called at the same time.
type Store struct {
	cfg    Config
	log    *slog.Logger
	stream string // of the bucket
	prefix string // of the subjects of all keys
	view   string // the subject of the view
	proof  string // the subject of proofs

	mu   sync.Mutex
	last stored // the newest view that was read or written; its value is not kept
}

// stored is a message with a view.
type stored struct {
	seq     uint64 // 0 if there is none
	value   []byte // nil if there is no view
	rev     uint64
	creator protocol.Instance
}

// New returns the store of the view of cfg.Cluster. It sends nothing.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, log: cfg.Log, stream: "KV_" + cfg.Bucket, prefix: "$KV." + cfg.Bucket + "."}
	s.view, s.proof = s.prefix+cfg.Cluster+".view", s.prefix+cfg.Cluster+".proof"
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Stream returns the name of the bucket's stream.
func (s *Store) Stream() string { return s.stream }

// maxBackoff limits the random time between two attempts that other members' reads or writes
// have made fail.
const maxBackoff = 10 * time.Millisecond

// backoff waits for a random time, and returns an error if ctx ends before.
func (s *Store) backoff(ctx context.Context) error {
	if !pause.For(ctx, time.Duration(rand.Int64N(int64(maxBackoff)))) {
		return s.errorf("other members' reads and writes did not end in time: %w", context.Cause(ctx))
	}
	return nil
}

// Read returns the view as it is now. Without one it returns the zero View. If the view can't be
// parsed, it returns an error.
func (s *Store) Read(ctx context.Context) (protocol.View, error) {
	m, err := s.current(ctx)
	if err != nil || m.value == nil {
		return protocol.View{}, err
	}
	v, err := view.Unmarshal(s.cfg.Cluster, m.value)
	if err != nil {
		return protocol.View{}, s.errorf("the value of %s.view: %w", s.cfg.Cluster, err)
	}
	s.remember(m.seq, &v)
	return v, nil
}

// current returns the newest message with the view, after a proof that it is.
func (s *Store) current(ctx context.Context) (stored, error) {
	m, err := s.get(ctx, false)
	for err == nil {
		_, err = s.publish(ctx, s.proof, nil, m.seq)
		switch {
		case err == nil:
			return m, nil
		case errors.Is(err, errBusy):
			err = s.backoff(ctx)
		case errors.Is(err, errChanged):
			if err = s.backoff(ctx); err == nil {
				m, err = s.get(ctx, true)
			}
		}
	}
	return stored{}, err
}

// Write replaces the view whose revision is expect and whose creator is that of v, or creates one
// if expect is 0. v.Rev must be expect+1. It returns view.ErrConflict if the stored one is
// another. After any other error the outcome is unknown, and the write may still take effect
// later.
func (s *Store) Write(ctx context.Context, expect uint64, v protocol.View) error {
	if v.Rev != expect+1 {
		return fmt.Errorf("cluster view: revision %d can't replace %d", v.Rev, expect)
	}
	seq, err := s.expected(ctx, expect, v.Creator)
	if err != nil {
		return err
	}
	return s.replace(ctx, seq, v)
}

// replace replaces the message with the view whose sequence number is seq; 0 means none, not
// even one that was deleted. Its errors are the ones of Write.
func (s *Store) replace(ctx context.Context, seq uint64, v protocol.View) error {
	value, err := view.Marshal(s.cfg.Cluster, &v)
	if err != nil {
		return err
	}
	for {
		written, err := s.publish(ctx, s.view, value, seq)
		switch {
		case err == nil:
			s.remember(written, &v)
			return nil
		case errors.Is(err, errChanged):
			return view.ErrConflict
		case !errors.Is(err, errBusy):
			return err
		}
		if err := s.backoff(ctx); err != nil {
			return err
		}
	}
}

// expected returns the sequence number of the view with the revision and the creator, or
// view.ErrConflict. The number is compared once more when the view is written, so an old answer
// of a server does no harm.
func (s *Store) expected(ctx context.Context, rev uint64, creator protocol.Instance) (uint64, error) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if rev > 0 && last.rev == rev && last.creator == creator {
		return last.seq, nil
	}
	m, err := s.get(ctx, true)
	if err != nil {
		return 0, err
	}
	if rev == 0 || m.value == nil {
		if rev == 0 && m.value == nil {
			return m.seq, nil
		}
		return 0, view.ErrConflict
	}
	v, err := view.Unmarshal(s.cfg.Cluster, m.value)
	switch {
	case err != nil:
		return 0, s.errorf("the value of %s.view: %w", s.cfg.Cluster, err)
	case v.Rev != rev || v.Creator != creator:
		return 0, view.ErrConflict
	}
	return m.seq, nil
}

// remember keeps the sequence number of a view for its next write.
func (s *Store) remember(seq uint64, v *protocol.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq > s.last.seq || v.Creator != s.last.creator {
		s.last = stored{seq: seq, rev: v.Rev, creator: v.Creator}
	}
}

// errorf returns an error that names the bucket.
func (s *Store) errorf(format string, args ...any) error {
	return fmt.Errorf("cluster view: bucket %s: "+format, append([]any{s.cfg.Bucket}, args...)...)
}
