package disk

import (
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// sums adds kv.Sums. Its name is stored in every directory and can't change.
var sums = &pebble.Merger{
	Name: "kasoku.sums",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := &sum{}
		return s, s.MergeNewer(value)
	},
}

type sum struct{ text []byte }

// MergeNewer adds the stored sums in value.
func (s *sum) MergeNewer(value []byte) (err error) {
	s.text, err = kv.AddStored(s.text, value)
	return err
}

// MergeOlder is MergeNewer, since the order does not matter for a sum.
func (s *sum) MergeOlder(value []byte) error { return s.MergeNewer(value) }

// Finish returns the sum.
func (s *sum) Finish(bool) ([]byte, io.Closer, error) { return s.text, nil, nil }
