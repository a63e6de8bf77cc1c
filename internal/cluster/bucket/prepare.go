package bucket

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
)

// maxBytes limits the size of the bucket: a few views of the largest size.
const maxBytes = 16 << 20

// prepareTimeout limits an attempt to prepare the bucket.
const prepareTimeout = 10 * time.Second

// Prepare checks the bucket, and creates it if it is missing. The first one that finds it empty
// stores a view without members, which shows that no earlier cluster has requests in flight. It
// may be called again after an error.
func (s *Store) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	d, err := s.describe(ctx)
	if hasCode(err, codeStreamNotFound) {
		if err := s.create(ctx); err != nil {
			return s.advise(err)
		}
		d, err = s.describe(ctx)
	}
	if err != nil {
		return s.advise(err)
	}
	if err := s.accept(&d.Config); err != nil {
		return err
	}
	if d.unused() {
		creator := protocol.Instance(rand.Uint64()>>1 | 1)
		err := s.replace(ctx, 0, protocol.View{Rev: 1, Creator: creator, Clean: true})
		if err != nil && !errors.Is(err, view.ErrConflict) {
			return err
		}
	}
	return s.check(ctx)
}

// description is the part of a stream's description that Prepare checks.
type description struct {
	Config jetstream.StreamConfig `json:"config"`
	State  struct {
		LastSeq uint64 `json:"last_seq"`
	} `json:"state"`
}

// unused reports whether the stream has never had a message.
func (d *description) unused() bool { return d.State.LastSeq < max(d.Config.FirstSeq, 1) }

// describe returns the description of the bucket's stream.
func (s *Store) describe(ctx context.Context) (*description, error) {
	d := &description{}
	if err := s.call(ctx, callTimeout, "$JS.API.STREAM.INFO."+s.stream, nil, d); err != nil {
		return nil, err
	}
	return d, nil
}

// create creates the bucket. That another member creates it at the same time is no error.
func (s *Store) create(ctx context.Context) error {
	config := jetstream.StreamConfig{
		Name:              s.stream,
		Description:       "the list of members of Kasoku clusters",
		Subjects:          []string{s.prefix + ">"},
		Storage:           jetstream.FileStorage,
		Replicas:          s.cfg.Replicas,
		MaxMsgsPerSubject: 1,
		MaxBytes:          maxBytes,
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxMsgSize:        -1,
		Discard:           jetstream.DiscardNew,
		AllowDirect:       true,
		AllowRollup:       true,
		DenyDelete:        true,
		FirstSeq:          1<<32 + rand.Uint64N(1<<50),
	}
	err := s.call(ctx, createTimeout, "$JS.API.STREAM.CREATE."+s.stream, config, &struct{}{})
	if hasCode(err, codeNameInUse) {
		return nil
	}
	if err == nil {
		s.log.Info("created the bucket of the cluster's view", slog.String("bucket", s.cfg.Bucket))
	}
	return err
}

// accept returns an error for a bucket that can't hold the view.
func (s *Store) accept(c *jetstream.StreamConfig) error {
	switch {
	case !slices.Contains(c.Subjects, s.prefix+">"):
		return s.errorf("its stream has the subjects %q without %s>", c.Subjects, s.prefix)
	case c.Mirror != nil || len(c.Sources) > 0 || c.NoAck || c.Sealed:
		return s.errorf("it is a mirror, has sources, is sealed or without acknowledgements")
	case c.MaxAge > 0:
		return s.errorf("its values expire after %v; it needs to be without a TTL", c.MaxAge)
	case c.Storage != jetstream.FileStorage:
		return s.errorf("it is in memory; it needs to be in files")
	case c.Discard == jetstream.DiscardOld && (c.MaxMsgs > 0 || c.MaxBytes > 0):
		return s.errorf("it discards old values at its limit; it needs to refuse new ones")
	case c.MaxMsgsPerSubject < 1:
		return s.errorf("its stream keeps all values of a key; it needs a limit, for example 1")
	case c.Replicas < 3:
		s.log.Warn("the bucket of the cluster's view has few copies: without the servers that have them nothing is cached",
			slog.String("bucket", s.cfg.Bucket), slog.Int("replicas", c.Replicas))
	}
	return nil
}

// check checks that the server evaluates conditions on another key than the message's own: one
// on a key without a value has to fail, although the number is right for the message's own key.
func (s *Store) check(ctx context.Context) error {
	seq, err := s.append(ctx, nats.NewMsg(s.proof))
	if err != nil {
		return err
	}
	m := nats.NewMsg(s.proof)
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(seq, 10))
	m.Header.Set(expectedSubjectHeader, s.prefix+s.cfg.Cluster+".none")
	switch _, err := s.append(ctx, m); {
	case err == nil:
		return s.errorf("the NATS server is too old: it needs to support the header %s, as version 2.12 does", expectedSubjectHeader)
	case errors.Is(err, errChanged), errors.Is(err, errBusy):
		return nil
	default:
		return err
	}
}

// advise adds to an error what JetStream needs.
func (s *Store) advise(err error) error {
	switch {
	case hasCode(err, codeNotEnabled), hasCode(err, codeNotForAccount):
		return s.errorf("the account needs JetStream: %w", err)
	case hasCode(err, codeNotAvailable):
		return s.errorf("JetStream has no leader%s: %w", needsServers, err)
	}
	return err
}
