package accel

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// records waits until the records of all writes were applied, and checks how many of them node a has
// recognized since the last call.
func (p *feedPair) records(what string, own uint64) {
	p.t.Helper()
	was := p.recognized
	time.Sleep(500 * time.Millisecond) // of the bubble
	if p.recognized = p.a.metrics.own.Value(); p.recognized-was != own {
		p.t.Errorf("%s: %d records are recognized, want %d", what, p.recognized-was, own)
	}
}

// lose sets what is lost of all further questions to node b about records.
func (p *feedPair) lose(request, answer bool) {
	p.cl.Lose(func(to *cache.Cache) (bool, bool) { return request && to == p.b.cache, answer && to == p.b.cache })
}

// The reader of a stream recognizes writes through other nodes, whose records cost no hits.
func TestFeedOfWritesOfOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		p.put(p.b, "0")
		p.records("the first batch of the shard", 0)
		for i, svc := range []*Service{p.a, p.b} {
			p.put(svc, fmt.Sprint("own", i))
			p.warm()
			p.records("an own write", 1)
			p.expect("an own write", telemetry.Hit, telemetry.Hit)
		}
		p.write("foreign")
		p.records("a foreign write", 0)
		p.expect("a foreign write", telemetry.MissInvalidated, telemetry.MissInvalidated)
		p.warm()
		// Several records in one batch.
		p.put(p.b, "1")
		p.put(p.a, "2")
		p.put(p.b, "3")
		p.warm()
		p.records("three writes", 3)
		p.expect("three writes", telemetry.Hit, telemetry.Hit)
		// Node b begins to read the stream.
		p.cl.Own(p.b.cache)
		time.Sleep(5 * time.Second)
		p.warm()
		for i, value := range []string{"4", "5"} { // the first record only lets node a begin the run
			was := p.b.metrics.own.Value()
			p.put(p.a, value)
			p.warm()
			p.records("read by the other node", 0)
			if own := p.b.metrics.own.Value() - was; own != uint64(i) {
				t.Errorf("node b has recognized %d records, want %d", own, i)
			}
		}
		p.expect("read by the other node", telemetry.Hit, telemetry.Hit)
	})
}

// After a gap in the records that a node has received, it recognizes no record by an earlier write.
func TestFeedOfLostRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		p.put(p.b, "x")
		p.records("the first batch of the shard", 0)
		p.warm()
		lose := func(request, answer bool) {
			t.Helper()
			p.lose(request, answer)
			p.put(p.b, "y")
			p.warm()
			p.records("an own write", 0)
			p.expect("an own write", telemetry.MissInvalidated, telemetry.MissInvalidated)
			p.write("x")
			p.records("a foreign write that reverts it", 0)
			p.lose(false, false)
			p.warm()
			p.write("y") // as the own write, which node b would still expect
			p.records("a foreign write that repeats it", 0)
			p.expect("a foreign write that repeats it", telemetry.MissInvalidated, telemetry.MissInvalidated)
			p.warm()
			p.put(p.b, "x")
			p.warm()
			p.records("a later write", 1)
			p.expect("a later write", telemetry.Hit, telemetry.Hit)
		}
		lose(true, false)
		lose(false, true)
		// In the last batch of a shard too.
		p.lose(true, false)
		p.put(p.b, "y")
		p.write("x")
		p.records("lost", 0)
		p.lose(false, false)
		p.setOrigin("roll")
		time.Sleep(5 * time.Second)
		p.warm()
		p.write("y")
		p.records("a new shard", 0)
		p.expect("a new shard", telemetry.MissInvalidated, telemetry.MissInvalidated)
	})
}

// The partitions of indexes that a write through another node has affected are not dropped again.
func TestFeedOfIndexedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		const item = `{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"},"v":{"S":"1"}}`
		for i, exact := range []bool{false, true} { // the first batch of the shard, and the second one
			body := `{"TableName":"t","Item":` + strings.Replace(item, `"1"}}`, fmt.Sprintf(`"%d"}}`, i), 1) + `}`
			p.b.Serve(edge.Detached(t.Context(), request("PutItem"), []byte(body), time.Now()))
			synctest.Wait()
			tb := p.a.peek([]byte("t"))
			ix := tb.index([]byte("byg"))
			hash, ok := ix.indexHash([]byte(item))
			st := p.a.cache.Note(tb.indexPartitionTag(ix, hash))
			p.records("an indexed write", uint64(i))
			if got := p.a.cache.Current(&st); !ok || got != exact {
				t.Errorf("write %d: the partition is kept: %t, want %t", i, got, exact)
			}
		}
	})
}

// The reader recognizes the records of updates in transactions through another node, whose images
// are not known, once it sends the old images along.
func TestFeedOfUpdatesOfOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		value := 0
		update := func(what string, own uint64) {
			t.Helper()
			value++
			p.send(p.b, "TransactWriteItems", fmt.Sprintf(`{"TransactItems":[{"Update":{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},`+
				`"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"S":"%d"}}}}]}`, value))
			p.warm()
			p.records(what, own)
		}
		update("the first batch of the shard", 0)
		update("an update", 1)
		p.expect("an update", telemetry.Hit, telemetry.Hit)
		p.write("foreign")
		p.records("a foreign write", 0)
		p.expect("a foreign write", telemetry.MissInvalidated, telemetry.MissInvalidated)
		time.Sleep(itemsWanted)
		update("an update after a while, without the old image", 0)
		update("an update", 1)
		p.expect("an update", telemetry.Hit, telemetry.Hit)
	})
}

// A reader begins another run when it starts, and when it has missed records.
func TestFeedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		runs := map[uint64]string{}
		begun := func(what string) {
			t.Helper()
			p.put(p.b, what)
			time.Sleep(500 * time.Millisecond)
			run, _ := p.a.feeds.list()[0].batches.next("x")
			if runs[run] != "" {
				t.Errorf("the run after the %s is that after the %s", what, runs[run])
			}
			runs[run] = what
		}
		begun("start")
		if err := p.a.feeds.list()[0].fence(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun("fence")
		p.cl.Own(p.b.cache)
		time.Sleep(5 * time.Second)
		p.cl.Own(p.a.cache)
		time.Sleep(5 * time.Second)
		begun("return")
	})
}

// Everything of a table is dropped for a record that can't be read, and the other nodes forget their
// writes.
func TestFeedOfUnreadableRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		p.put(p.b, "x")
		p.records("the first batch", 0)
		f := p.a.feeds.list()[0]
		for i, r := range []streams.Record{
			{Kind: streams.Insert, Keys: []byte(`{"q":{"S":"a"}}`)},
			{Kind: streams.Insert, Keys: []byte(`{"p":{"S":"a"},"s":{"N":"1"}}`), New: []byte(`{`)},
			{Kind: streams.Remove, Keys: []byte(`{"p":{"S":"a"},"s":{"N":"1"}}`), Old: []byte(`{`)},
		} {
			p.warm()
			run, _ := f.batches.next("x")
			if err := f.apply(t.Context(), "x", []streams.Record{r}); err != nil {
				t.Error(err)
			}
			if next, _ := f.batches.next("x"); next == run {
				t.Errorf("record %d: the run is the same", i)
			}
			p.expect("an unreadable record", telemetry.MissInvalidated, telemetry.MissInvalidated)
		}
	})
}

// Questions about another table or stream are declined.
func TestFeedOfOtherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFollowedPair(t)
		tb := p.b.peek([]byte("t"))
		for _, c := range []struct {
			table, stream string
			want          bool
		}{{"t", tb.stream, true}, {"t", "other", false}, {"u", tb.stream, false}} {
			b := recordOf(1, "x", 1, "A>B")
			b.table, b.stream, b.indexes = c.table, c.stream, tb.indexSum()
			q := peerRequest{origin: tb.tags.origin, kind: keyRecords, body: b.append(nil)}
			if _, ok := p.b.answerPeer(t.Context(), q.encode()); ok != c.want {
				t.Errorf("%s, %s: answered: %t", c.table, c.stream, ok)
			}
			q.body = q.body[:len(q.body)-1]
			if _, ok := p.b.answerPeer(t.Context(), q.encode()); ok {
				t.Error("a part of a question is answered")
			}
		}
	})
}
