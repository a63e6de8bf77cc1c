package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
)

// follower reads the stream of a table as consumers do: all shards at the same time, but a shard only
// after its parent.
type follower struct {
	s         *Store
	arn       string
	iterators map[string]string // of the shards that have been begun; empty at the end of a closed one
	got       map[string][]record
}

func newFollower(s *Store, arn string) *follower {
	return &follower{s, arn, map[string]string{}, map[string][]record{}}
}

// shards returns all shards of the stream, asked for in pages.
func (f *follower) shards(t testing.TB) (all []shard) {
	t.Helper()
	for start := ""; ; {
		page := f.s.describeStreamOf(t, f.arn, `,"Limit":3`+start)
		all = append(all, page.Shards...)
		if page.LastEvaluatedShardId == "" {
			return all
		}
		start = fmt.Sprintf(`,"ExclusiveStartShardId":%q`, page.LastEvaluatedShardId)
	}
}

// poll reads what there is to read.
func (f *follower) poll(t testing.TB) {
	t.Helper()
	for again := true; again; {
		again = false
		all := f.shards(t)
		for _, sh := range all {
			known := slices.ContainsFunc(all, func(p shard) bool { return p.ShardId == sh.ParentShardId })
			if next, begun := f.iterators[sh.ParentShardId]; known && (!begun || next != "") {
				continue
			}
			next, begun := f.iterators[sh.ShardId]
			if !begun {
				next = f.s.shardIterator(t, f.arn, sh.ShardId, "TRIM_HORIZON")
			}
			for next != "" {
				records, after := f.s.read(t, next, `,"Limit":7`)
				f.got[sh.ShardId] = append(f.got[sh.ShardId], records...)
				if next = after; len(records) == 0 {
					break
				}
			}
			again = again || !begun || next == "" && f.iterators[sh.ShardId] != ""
			f.iterators[sh.ShardId] = next
		}
	}
}

// partitions returns the values of n in the records of each partition, in order.
func (f *follower) partitions(t testing.TB) map[string][]string {
	t.Helper()
	all := map[string][]record{}
	for id, records := range f.got {
		last := ""
		for _, r := range records {
			if r.Dynamodb.SequenceNumber <= last {
				t.Errorf("shard %s has the number %s after %s", id, r.Dynamodb.SequenceNumber, last)
			}
			last = r.Dynamodb.SequenceNumber
			p := r.Dynamodb.Keys["p"]["S"]
			all[p] = append(all[p], r)
		}
	}
	out := map[string][]string{}
	for p, records := range all {
		// The order of a parent and its child is that of their numbers.
		slices.SortFunc(records, func(a, b record) int { return strings.Compare(a.Dynamodb.SequenceNumber, b.Dynamodb.SequenceNumber) })
		for _, r := range records {
			var image map[string]map[string]string
			if err := json.Unmarshal(r.Dynamodb.NewImage, &image); err != nil {
				t.Fatal(err)
			}
			out[p] = append(out[p], image["n"]["N"])
		}
	}
	return out
}

func (s *Store) shardIterator(t testing.TB, arn, id, kind string) string {
	t.Helper()
	var out struct{ ShardIterator string }
	reply := s.mustSend(t, "GetShardIterator", fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":%q}`, arn, id, kind))
	if err := json.Unmarshal([]byte(reply), &out); err != nil {
		t.Fatal(err)
	}
	return out.ShardIterator
}

func (s *Store) putN(t testing.TB, p string, n int) {
	t.Helper()
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":%q},"n":{"N":"%d"}}}`, p, n))
}

func isOpen(sh shard) bool { return sh.SequenceNumberRange.EndingSequenceNumber == "" }

// TestShards checks how many shards a stream has in the course of a day, and that they share its
// records.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	c := clockAt(time.Unix(1_700_000_000, 0))
	cfg := onDisk{Dir: dir, NoSync: true, Config: Config{StreamShards: 4}}
	s := openIdle(t, cfg, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	arn := s.describe(t, "tab").LatestStreamArn
	f := newFollower(s, arn)
	count := func(open, closed int) {
		t.Helper()
		all := f.shards(t)
		n := 0
		for _, sh := range all {
			if isOpen(sh) {
				n++
			}
		}
		if n != open || len(all)-n != closed {
			t.Errorf("%d open and %d closed shards, want %d and %d", n, len(all)-n, open, closed)
		}
	}
	follow := func(after time.Duration) {
		t.Helper()
		c.advance(after)
		if err := s.followShards(c.Now()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{}
	write := func() {
		t.Helper()
		for i := range 50 {
			p := fmt.Sprint(i)
			s.putN(t, p, len(want[p]))
			want[p] = append(want[p], fmt.Sprint(len(want[p])))
		}
	}
	count(4, 0)
	write()
	f.poll(t)
	for id, records := range f.got {
		if len(f.got) != 4 || len(records) < 4 {
			t.Errorf("shard %s of %d has %d records of 50", id, len(f.got), len(records))
		}
	}
	follow(4 * time.Hour)
	count(4, 0)
	follow(time.Second)
	count(8, 4)
	write()
	s.Close()
	s = openIdle(t, cfg, c.Now)
	f.s = s
	write()
	for _, parent := range f.shards(t)[:4] {
		children := s.describeStreamOf(t, arn, fmt.Sprintf(`,"ShardFilter":{"Type":"CHILD_SHARDS","ShardId":%q}`, parent.ShardId)).Shards
		if len(children) != 2 || children[0].ParentShardId != parent.ShardId || children[1].ParentShardId != parent.ShardId ||
			children[0].SequenceNumberRange.StartingSequenceNumber <= parent.SequenceNumberRange.EndingSequenceNumber {
			t.Errorf("the children of %+v are %+v", parent, children)
		}
	}
	follow(5 * time.Hour)
	follow(time.Hour)
	count(8, 12)
	f = newFollower(s, arn) // the iterators have expired
	f.poll(t)
	if got := f.partitions(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %v, want %v", got, want)
	}
	for id, next := range f.iterators {
		if i := slices.IndexFunc(f.shards(t), func(sh shard) bool { return sh.ShardId == id }); isOpen(f.shards(t)[i]) != (next != "") {
			t.Errorf("the iterator after reading all of %+v is %q", f.shards(t)[i], next)
		}
	}
	old := s.shardIterator(t, arn, f.shards(t)[0].ShardId, "LATEST")
	if records, next := s.read(t, old, ""); len(records) != 0 || next != "" {
		t.Errorf("a closed shard has %d records after its end, and the next iterator %q", len(records), next)
	}
	// The first ones were closed 25 hours ago.
	c.advance(19 * time.Hour)
	old = s.shardIterator(t, arn, f.shards(t)[0].ShardId, "LATEST")
	if err := s.trimStreams(c.Now()); err != nil {
		t.Fatal(err)
	}
	count(8, 8)
	s.expectError(t, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, old), "TrimmedDataAccessException", "The data you are trying to access has been trimmed")
	s.mustSend(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":false}}`)
	count(0, 16)
}

// TestOneShard checks that a stream with one shard is followed by one shard.
func TestOneShard(t *testing.T) {
	c := clockAt(time.Unix(1_700_000_000, 0))
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, c.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
	for n := range 4 {
		s.putN(t, "a", n)
		c.advance(5 * time.Hour)
		if err := s.followShards(c.Now()); err != nil {
			t.Fatal(err)
		}
		if got := f.shards(t); len(got) != n+2 || got[n+1].ParentShardId != got[n].ShardId {
			t.Errorf("got the shards %+v", got)
		}
	}
	f.poll(t)
	if got := f.partitions(t)["a"]; fmt.Sprint(got) != "[0 1 2 3]" {
		t.Errorf("read %v", got)
	}
}

// TestSplitShards splits the only shard of a stream again and again. Consumers get all records.
func TestSplitShards(t *testing.T) {
	diskAndMemory(t, func(t *testing.T, s *Store) {
		s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
		s.mustSend(t, "CreateTable", streamTable("other", "NEW_IMAGE"))
		f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
		want := map[string][]string{}
		for n, open := range []int{1, 2, 4, 8, 16, 32, 64, 64, 64} {
			for i := range 50 {
				p := fmt.Sprint(i)
				s.putN(t, p, n)
				want[p] = append(want[p], fmt.Sprint(n))
			}
			if n%2 == 0 { // otherwise the reader falls behind
				f.poll(t)
			}
			closed, err := s.SplitShards(faults.Patterns{"ta?", "nothing"})
			if err != nil || closed != open {
				t.Fatalf("%d shards were split, want %d: %v", closed, open, err)
			}
		}
		f.poll(t)
		if got := f.partitions(t); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("read %v, want %v", got, want)
		}
		if n, err := s.SplitShards(nil); n != maxSplitShards+1 || err != nil {
			t.Errorf("%d shards of all streams were split: %v", n, err)
		}
		st := s.streams.find("tab", s.describe(t, "tab").LatestStreamLabel)
		for len(st.info.Load().Shards) <= maxShards {
			if _, err := s.SplitShards(faults.Patterns{"tab"}); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := s.SplitShards(nil); n != 0 || !errors.Is(err, ErrShards) {
			t.Errorf("%d of too many shards were split: %v", n, err)
		}
		if n, err := s.SplitShards(faults.Patterns{"other"}); n != 2 || err != nil {
			t.Errorf("%d shards of the other stream were split, want 2: %v", n, err)
		}
		s.mustSend(t, "UpdateTable", `{"TableName":"tab","StreamSpecification":{"StreamEnabled":false}}`)
		if n, err := s.SplitShards(faults.Patterns{"tab"}); n != 0 || err != nil {
			t.Errorf("%d shards of a closed stream were split: %v", n, err)
		}
	})
}

// TestForeignRecords reads a shard among many records of another one: a reply may have none, but each
// continues behind the one before.
func TestForeignRecords(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true, Config: Config{StreamShards: 2}}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
	const many, own = "0", "1" // partitions in different shards
	for n := range maxForeign + 5 {
		s.putN(t, many, n)
	}
	s.putN(t, own, 1)
	f.poll(t)
	for _, sh := range f.shards(t) {
		if records := f.got[sh.ShardId]; len(records) > 1 {
			continue
		}
		next, pages := s.shardIterator(t, f.arn, sh.ShardId, "TRIM_HORIZON"), 0
		var records []record
		for ; len(records) == 0 && pages < 5; pages++ {
			records, next = s.read(t, next, "")
		}
		if len(records) != 1 || records[0].Dynamodb.Keys["p"]["S"] != own || pages != 2 {
			t.Errorf("read %d records in %d pages", len(records), pages)
		}
		return
	}
	t.Error("the partitions are in the same shard")
}

// TestShardsFollowed reads a stream while shards are closed and the store is restarted, in random order.
func TestShardsFollowed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir := t.TempDir()
		c := clockAt(time.Unix(1_700_000_000, 0))
		cfg := onDisk{Dir: dir, NoSync: true, Config: Config{StreamShards: rapid.IntRange(1, 5).Draw(r, "shards"), ShardLife: time.Second}}
		s := openIdle(t, cfg, c.Now)
		s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
		f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
		want := map[string][]string{}
		n := 0
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "step") {
			case 0:
				s.Close()
				s = openIdle(t, cfg, c.Now)
				f.s = s
			case 1, 2, 3, 4:
				for range rapid.IntRange(1, 6).Draw(r, "writes") {
					p := fmt.Sprint(rapid.IntRange(0, 4).Draw(r, "partition"))
					s.putN(t, p, n)
					want[p] = append(want[p], fmt.Sprint(n))
					n++
				}
			case 5, 6, 7:
				c.advance(time.Duration(rapid.IntRange(0, 1500).Draw(r, "ms")) * time.Millisecond)
				if err := s.followShards(c.Now()); err != nil {
					r.Fatal(err)
				}
			default:
				f.poll(t)
			}
		}
		f.poll(t)
		if got := f.partitions(t); fmt.Sprint(got) != fmt.Sprint(want) {
			r.Fatalf("read %v, want %v", got, want)
		}
		s.Close()
	})
}

// TestShardsUnderLoad reads a stream while it is written to and its shards are closed.
func TestShardsUnderLoad(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), Config: Config{StreamShards: 3, ShardLife: time.Nanosecond}}, time.Now)
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
	const writers, writes = 4, 150
	var working sync.WaitGroup
	for w := range writers {
		working.Go(func() {
			for n := range writes {
				s.putN(t, fmt.Sprint(w), n)
				if rand.IntN(50) == 0 {
					if err := s.followShards(time.Now()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { working.Wait(); close(done) }()
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
		}
		f.poll(t)
	}
	for p, got := range f.partitions(t) {
		if len(got) != writes || !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) {
			t.Errorf("partition %s: read %v", p, got)
		}
	}
	if len(f.partitions(t)) != writers {
		t.Error("a partition has no records")
	}
}
