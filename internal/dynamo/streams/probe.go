package streams

import "context"

// Probe reports whether a stream can be read: it describes the stream and reads from one of its
// shards, without effect. It returns nil if that is possible, and the error of the first call that
// has failed otherwise. Only Call, Stream, Describe and Metrics of cfg are used.
func Probe(ctx context.Context, cfg Config) error {
	f := New(cfg)
	stream, err := f.describe(ctx, "")
	if err != nil || len(stream.shards) == 0 {
		return err
	}
	iterator, err := f.iterator(ctx, stream.shards[len(stream.shards)-1].id, latest, "")
	if err != nil {
		return err
	}
	_, err = f.records(ctx, iterator)
	return err
}
