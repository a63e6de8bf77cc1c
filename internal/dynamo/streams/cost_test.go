package streams

import (
	"context"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestCost counts the calls for idle shards in a minute.
func TestCost(t *testing.T) {
	seconds := race.Part(60)
	for _, test := range []struct {
		shards   int
		maxLag   time.Duration
		perShard float64 // GetRecords a second
	}{
		{1, time.Second, 4}, {100, time.Second, 4}, {1000, time.Second, 4}, {1000, 20 * time.Second, 0.2},
	} {
		bubble(t, func(t *testing.T) {
			s := newScene(t, test.shards)
			s.shardPage = 100
			s.cfg.MaxLag = test.maxLag
			s.cfg.Call = func(ctx context.Context, operation string, body []byte) ([]byte, error) {
				if operation == "GetRecords" { // without the time that the origin takes
					return []byte(`{"Records":[],"NextShardIterator":"next"}`), nil
				}
				return s.call(ctx, operation, body)
			}
			s.start()
			s.pass(12 * time.Second)
			describes, iterators, reads := s.count("DescribeStream"), s.count("GetShardIterator"), int(s.cfg.Metrics.Reads.Value())
			if pages := (test.shards + 99) / 100; describes != pages || iterators != test.shards {
				t.Errorf("%d shards: %d calls of DescribeStream and %d of GetShardIterator at the start", test.shards, describes, iterators)
			}
			s.pass(time.Duration(seconds) * time.Second)
			describes, iterators, reads = s.count("DescribeStream")-describes, s.count("GetShardIterator")-iterators, int(s.cfg.Metrics.Reads.Value())-reads
			t.Logf("%d idle shards, MaxLag %v: GetRecords %.1f/s, DescribeStream %d, GetShardIterator %d",
				test.shards, test.maxLag, float64(reads)/float64(seconds), describes, iterators)
			limit := test.perShard * float64(seconds) * float64(test.shards)
			if describes != 0 || iterators != 0 || float64(reads) > limit+float64(test.shards) || float64(reads) < limit-float64(test.shards) {
				t.Errorf("%d shards: %d calls of GetRecords", test.shards, reads)
			}
			s.wantLag(0, test.maxLag/4+time.Millisecond)
			s.end()
		})
	}
}

// TestSharedLimiter checks that followers of one origin share its calls of DescribeStream.
func TestSharedLimiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limiter := NewLimiter()
		var scenes []*scene
		for range 10 {
			s := newScene(t, 1)
			s.cfg.Describe = limiter
			s.listedAfter = func() time.Duration { return time.Hour }
			s.start()
			scenes = append(scenes, s)
		}
		s := scenes[0]
		s.pass(20 * time.Second)
		calls := func() (n int) {
			for _, s := range scenes {
				n += s.count("DescribeStream")
			}
			return n
		}
		for _, s := range scenes {
			s.split(s.shards[0], 1)
		}
		before := calls()
		s.pass(time.Minute)
		n := calls() - before
		t.Logf("10 followers that look for children: DescribeStream %d/min", n)
		if n > 60+describeBurst {
			t.Errorf("%d calls of DescribeStream in a minute", n)
		}
	})
}
