package catalog

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestUpgradeStream reads a stream as the first versions wrote it.
func TestUpgradeStream(t *testing.T) {
	const id = "shardId-00000001700000000000-0badcafe"
	for _, closed := range []string{"", `,"Closed":"2023-11-15T00:00:00Z","End":9`} {
		var s Stream
		if err := json.Unmarshal([]byte(`{"ID":1,"Table":"tab","Shard":"`+id+`","Created":"2023-11-14T00:00:00Z","Start":5`+closed+`}`), &s); err != nil {
			t.Fatal(err)
		}
		s.Upgrade()
		s.Upgrade()
		shard := s.Shard(id)
		if len(s.Shards) != 1 || shard == nil || !shard.Whole() || shard.Has(5, 7) || !shard.Has(6, 7) || !shard.Created.Equal(s.Created) {
			t.Fatalf("%s: got %+v", closed, s.Shards)
		}
		if wasClosed := closed != ""; (shard.Closed != nil) != wasClosed || shard.Has(10, 7) == wasClosed || !shard.Has(9, 7) {
			t.Errorf("%s: got %+v", closed, *shard)
		}
	}
}

// TestEachRecordHasOneShard closes shards at random and checks that each record that may exist is in
// exactly one of them.
func TestEachRecordHasOneShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Unix(1_700_000_000, 0)
		shards := rapid.IntRange(0, 9).Draw(t, "shards")
		s := &Stream{Table: "tab", Label: "label", Start: 100}
		s.open(shards, begin)
		last, now := s.Start, begin
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		for range rapid.IntRange(0, 6).Draw(t, "times") {
			last += uint64(rapid.IntRange(0, 3).Draw(t, "records"))
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
			if next := s.Follow(now.Add(-2*time.Second), now, last, limit); next != nil {
				s = next
			}
		}
		closed := rapid.Bool().Draw(t, "closed")
		if closed {
			s = s.Close(now, last)
		}
		open, ids := 0, map[string]bool{}
		for i := range s.Shards {
			ids[s.Shards[i].ID] = true
			if s.Shards[i].Closed == nil {
				open++
			}
		}
		if len(ids) != len(s.Shards) {
			t.Errorf("two of the shards %+v have the same ID", s.Shards)
		}
		if want := max(limit, shards, 1); open > want || closed && open > 0 {
			t.Errorf("%d open shards, want at most %d", open, want)
		}
		for number := s.Start - 1; number <= last+2; number++ {
			for _, hash := range []uint32{0, 1, math.MaxUint32 / 2, math.MaxUint32/2 + 1, math.MaxUint32, rapid.Uint32().Draw(t, "hash")} {
				has := 0
				for i := range s.Shards {
					if s.Shards[i].Has(number, hash) {
						has++
					}
				}
				want := 1
				if number <= s.Start || closed && number > last {
					want = 0
				}
				if has != want {
					t.Errorf("record %d of partition %x is in %d of the shards %+v", number, hash, has, s.Shards)
				}
			}
		}
	})
}

// TestShardPage lists shards in pages.
func TestShardPage(t *testing.T) {
	s := &Stream{Table: "tab", Label: "label"}
	s.open(5, time.Unix(1_700_000_000, 0))
	s = s.Follow(time.Unix(1_700_000_001, 0), time.Unix(1_700_000_001, 0), 7, 10)
	var all []string
	for after, more := "", true; more; {
		var page []Shard
		page, more = ShardPage(s.Shards, after, 4)
		for _, shard := range page {
			if shard.ID <= after {
				t.Errorf("%s after %s", shard.ID, after)
			}
			after = shard.ID
			all = append(all, after)
		}
	}
	if len(all) != 15 {
		t.Errorf("got %d shards", len(all))
	}
	for i := range 5 {
		if children := s.Children(s.Shards[i].ID); len(children) != 2 || children[0].Parent != s.Shards[i].ID {
			t.Errorf("got the children %+v", children)
		}
	}
	if none := s.Children(all[14]); len(none) != 0 {
		t.Errorf("an open shard has the children %+v", none)
	}
	if s.Shard("none") != nil {
		t.Error("found a shard that does not exist")
	}
}
