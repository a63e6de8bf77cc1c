package embedded

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// A storm is many workers that write to one table with indexes and a stream. Each worker has
// its own items, and its nth operation depends only on its number and n. So the items of a
// worker show its progress.

// stormTable has every kind of index and a stream with both images.
const stormTable = `{"TableName":"storm","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[
	{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
	{"AttributeName":"l","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
	"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
	"LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
	"GlobalSecondaryIndexes":[{"IndexName":"global","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
	"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`

const (
	stormWorkers = 8
	stormItems   = 6 // of each worker
)

// stormOp is one operation and its effect on the worker's items: the number that each of them
// has afterwards, 0 for no item.
type stormOp struct {
	name, body string
	after      [stormItems]int
	counts     int // added to the item that all workers share
}

// stormPlan generates a worker's operations one after the other.
type stormPlan struct {
	worker int
	rng    *rand.Rand
	n      int // of the last operation generated
	items  [stormItems]int
	total  int
}

func newStormPlan(worker int) *stormPlan {
	return &stormPlan{worker: worker, rng: rand.New(rand.NewPCG(uint64(worker), 1))}
}

func (p *stormPlan) key(i int) string {
	return fmt.Sprintf(`{"p":{"S":"w%d"},"s":{"N":"%d"}}`, p.worker, i)
}

// item returns the text of item i with the number n. It is always in the local index, and
// sometimes in the global one.
func (p *stormPlan) item(i, n int) string {
	global := ""
	if n%3 > 0 {
		global = fmt.Sprintf(`,"g":{"S":"g%d"}`, n%5)
	}
	return fmt.Sprintf(`{"p":{"S":"w%d"},"s":{"N":"%d"},"n":{"N":"%d"},"l":{"N":"%d"}%s,"v":{"S":"%s"}}`,
		p.worker, i, n, n%7, global, strings.Repeat("v", 1+n*37%900))
}

// next generates the next operation. Each changes at least one item.
func (p *stormPlan) next() stormOp {
	p.n++
	var op stormOp
	i := p.rng.IntN(stormItems)
	j := (i + 1 + p.rng.IntN(stormItems-1)) % stormItems
	put := func(i int) string { return fmt.Sprintf(`{"TableName":"storm","Item":%s}`, p.item(i, p.n)) }
	key := func(i int) string { return fmt.Sprintf(`{"TableName":"storm","Key":%s}`, p.key(i)) }
	set := func(i int) string {
		return fmt.Sprintf(`{"TableName":"storm","Key":%s,"UpdateExpression":"SET n = :n, l = :n, g = :g","ExpressionAttributeValues":{":n":{"N":"%d"},":g":{"S":"g%d"}}}`, p.key(i), p.n, p.n%5)
	}
	switch kind := p.rng.IntN(10); {
	case kind < 3 || kind < 6 && p.items[i] == 0:
		op.name, op.body = "PutItem", put(i)
		p.items[i] = p.n
	case kind < 5:
		op.name, op.body = "UpdateItem", set(i)
		p.items[i] = p.n
	case kind < 6:
		op.name, op.body = "DeleteItem", key(i)
		p.items[i] = 0
	case kind < 7:
		op.name = "BatchWriteItem"
		op.body = fmt.Sprintf(`{"RequestItems":{"storm":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]}}`, p.item(i, p.n), p.key(j))
		p.items[i], p.items[j] = p.n, 0
	default:
		op.name = "TransactWriteItems"
		token := ""
		if kind == 9 {
			token = fmt.Sprintf(`,"ClientRequestToken":"w%d-%d"`, p.worker, p.n)
		}
		op.body = transact(token, `{"Update":`+set(i)+`}`, `{"Delete":`+key(j)+`}`,
			`{"Update":{"TableName":"storm","Key":{"p":{"S":"total"},"s":{"N":"0"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}`)
		p.items[i], p.items[j] = p.n, 0
		p.total++
	}
	op.after, op.counts = p.items, p.total
	return op
}

// skip generates operations that were executed before.
func (p *stormPlan) skip(n int) *stormPlan {
	for p.n < n {
		p.next()
	}
	return p
}

// runStorm runs all workers, each from operation done[worker] on, until more returns false. It
// calls acknowledged for each answered operation.
func (s *Store) runStorm(t testing.TB, done [stormWorkers]int, more func(worker, n int) bool, acknowledged func(worker int)) {
	var workers sync.WaitGroup
	for w := range stormWorkers {
		workers.Go(func() {
			for p := newStormPlan(w).skip(done[w]); more(w, p.n); {
				op := p.next()
				if status, reply := s.send(t, op.name, op.body); status != 200 {
					t.Errorf("worker %d, operation %d: %s %s: %d %s", w, p.n, op.name, op.body, status, reply)
					return
				}
				acknowledged(w)
			}
		})
	}
	workers.Wait()
}

// stormItem holds the checked attributes of an item.
type stormItem struct {
	P struct{ S string }
	S struct{ N string }
	N struct{ N json.Number }
}

func (i *stormItem) key() string { return i.P.S + "/" + i.S.N }

// stormState reads the table and returns the number of each item.
func (s *Store) stormState(t testing.TB) map[string]int {
	t.Helper()
	state := map[string]int{}
	for start := ""; ; {
		var page struct {
			Items            []stormItem
			LastEvaluatedKey json.RawMessage
		}
		if err := json.Unmarshal([]byte(s.mustSend(t, "Scan", `{"TableName":"storm","ConsistentRead":true`+start+`}`)), &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			n, err := item.N.N.Int64()
			if err != nil {
				t.Fatal(err)
			}
			state[item.key()] = int(n)
		}
		if page.LastEvaluatedKey == nil {
			return state
		}
		start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
	}
}

// checkStorm determines the progress of each worker, which must be done[worker] or one more,
// checks everything that depends on it, and updates done.
func (s *Store) checkStorm(t testing.TB, done *[stormWorkers]int, replayed *stormReplay) {
	t.Helper()
	state := s.stormState(t)
	total := 0
	for w := range stormWorkers {
		var items [stormItems]int
		for i := range items {
			items[i] = state[fmt.Sprintf("w%d/%d", w, i)]
		}
		p := newStormPlan(w).skip(done[w])
		if items != p.items {
			if op := p.next(); items != op.after {
				t.Fatalf("operation %[2]d of worker %[1]d was acknowledged; its items are %[3]v, not %[4]v or, after %[5]s, %[6]v",
					w, done[w], items, newStormPlan(w).skip(done[w]).items, op.name, op.after)
			}
			done[w]++
		}
		total += p.total
	}
	if state["total/0"] != total {
		t.Fatalf("the transactions' total is %d after %d transactions", state["total/0"], total)
	}
	s.checkTable(t, "storm")
	replayed.catchUp(t, s)
	if !maps.Equal(replayed.state, state) {
		t.Fatalf("the stream leads to the table %v, want %v", replayed.state, state)
	}
}

// stormReplay follows the table's stream from its beginning.
type stormReplay struct {
	state  map[string]int
	images map[string]string
	last   string // number of the last record
	count  int    // of records
}

type stormRecord struct {
	EventName string
	Dynamodb  struct {
		SequenceNumber     string
		Keys               stormItem
		NewImage, OldImage json.RawMessage
	}
}

// catchUp reads the new records. The old image of each must be the new image of the one before.
func (r *stormReplay) catchUp(t testing.TB, s *Store) {
	t.Helper()
	if r.state == nil {
		r.state, r.images = map[string]int{}, map[string]string{}
	}
	for iterator := r.iterator(t, s); ; {
		var page struct {
			Records           []stormRecord
			NextShardIterator string
		}
		if err := json.Unmarshal([]byte(s.mustSend(t, "GetRecords", `{"ShardIterator":"`+iterator+`"}`)), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Records) == 0 {
			return
		}
		for i := range page.Records {
			r.apply(t, &page.Records[i])
		}
		iterator = page.NextShardIterator
	}
}

func (r *stormReplay) iterator(t testing.TB, s *Store) string {
	t.Helper()
	var table struct {
		Table struct{ LatestStreamArn string }
	}
	var stream struct {
		StreamDescription struct{ Shards []struct{ ShardId string } }
	}
	var got struct{ ShardIterator string }
	ask := func(op, body string, to any) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.mustSend(t, op, body)), to); err != nil {
			t.Fatal(err)
		}
	}
	ask("DescribeTable", `{"TableName":"storm"}`, &table)
	ask("DescribeStream", `{"StreamArn":"`+table.Table.LatestStreamArn+`"}`, &stream)
	from := `"ShardIteratorType":"TRIM_HORIZON"`
	if r.last != "" {
		from = `"ShardIteratorType":"AFTER_SEQUENCE_NUMBER","SequenceNumber":"` + r.last + `"`
	}
	ask("GetShardIterator", `{"StreamArn":"`+table.Table.LatestStreamArn+`","ShardId":"`+stream.StreamDescription.Shards[0].ShardId+`",`+from+`}`, &got)
	return got.ShardIterator
}

func (r *stormReplay) apply(t testing.TB, rec *stormRecord) {
	t.Helper()
	d := &rec.Dynamodb
	if d.SequenceNumber <= r.last {
		t.Fatalf("record %s follows %s", d.SequenceNumber, r.last)
	}
	r.last = d.SequenceNumber
	r.count++
	key := d.Keys.key()
	if string(d.OldImage) != r.images[key] {
		t.Fatalf("record %s of %s has the old image %s, want %s", r.last, key, d.OldImage, r.images[key])
	}
	if d.NewImage == nil {
		delete(r.images, key)
		delete(r.state, key)
		return
	}
	var item stormItem
	if err := json.Unmarshal(d.NewImage, &item); err != nil {
		t.Fatal(err)
	}
	n, err := item.N.N.Int64()
	if err != nil {
		t.Fatal(err)
	}
	r.images[key], r.state[key] = string(d.NewImage), int(n)
}

// TestStorm runs a storm in this process, under the race detector if it is enabled.
func TestStorm(t *testing.T) { diskAndMemory(t, checkStorms) }

func checkStorms(t *testing.T, s *Store) {
	s.mustSend(t, "CreateTable", stormTable)
	var done [stormWorkers]int
	var replayed stormReplay
	for range 3 {
		from := done
		s.runStorm(t, done, func(w, n int) bool { return n < from[w]+100 }, func(w int) { done[w]++ })
		s.checkStorm(t, &done, &replayed)
	}
}
