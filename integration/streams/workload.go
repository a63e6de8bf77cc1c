package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// workload is a number of writers and readers of one table. Each item is written by one writer, past
// Kasoku and through it, in bursts with pauses between them. Readers read all items through
// Kasoku.
type workload struct {
	t     testing.TB
	store string  // URL for writes past Kasoku
	nodes []*node // for reads, and writes through Kasoku
	table string
	began time.Time
	items []*item
	byKey map[string]*item

	// Changed by tests before run.
	minPause, maxPause time.Duration // between the bursts of an item
	maxBurst           int           // writes of a burst
	throughIn          int           // one in that many writes is sent through Kasoku
	readPause          time.Duration

	// failing is set while reads may fail.
	failing atomic.Bool
	// onlyPast is set while no writes are sent through Kasoku.
	onlyPast atomic.Bool
	// running is read-locked by each write and locked by a test that stops all of them.
	running sync.RWMutex
	writes  [2]atomic.Int64 // through and past Kasoku
	reads   atomic.Int64    // answers to readers
	lagging atomic.Int64    // answers passed through because the stream lags
	refused atomic.Int64    // reads that failed while that was allowed

	mu        sync.Mutex
	sightings []sighting
	counts    map[string]*count
}

// node is a node of Kasoku as readers and writers use it.
type node struct {
	url  string
	gone sync.RWMutex // read-locked by each request
	down bool         // requests are sent to other nodes
}

// count counts the requests of an operation.
type count struct{ requests, hits int }

const (
	partitions = 8
	perPart    = 6
	groups     = 6
	readers    = 4

	// readsPerWrite is the least number of reads for each write. Without it a machine on which reads are slow
	// has so many writes among them that few reads are hits.
	readsPerWrite = 16
)

func newWorkload(t testing.TB, store, table string, urls ...string) *workload {
	w := &workload{
		t: t, store: store, table: table, began: time.Now(), byKey: map[string]*item{},
		minPause: 100 * time.Millisecond, maxPause: 6 * time.Second, maxBurst: 3, throughIn: 4, readPause: 4 * time.Millisecond,
		counts: map[string]*count{},
	}
	for _, url := range urls {
		w.nodes = append(w.nodes, &node{url: url})
	}
	for i := range partitions * perPart {
		it := &item{p: fmt.Sprint("p", i/perPart), s: i % perPart, versions: []version{{}}}
		w.items = append(w.items, it)
		w.byKey[it.p+"/"+strconv.Itoa(it.s)] = it
	}
	return w
}

func (w *workload) now() time.Duration { return time.Since(w.began) }

// runTime returns the length of a run: KASOKU_STREAMS_FOR, by default short.
func runTime(t testing.TB, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("KASOKU_STREAMS_FOR")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KASOKU_STREAMS_FOR: %v", err)
	}
	return d
}

// run runs readers and writers while f runs. Then the writers stop, and the readers read on until
// every write must be visible.
func (w *workload) run(f func(ctx context.Context)) {
	writeCtx, stopWriting := context.WithCancel(w.t.Context())
	readCtx, stopReading := context.WithCancel(w.t.Context())
	defer stopWriting()
	defer stopReading()
	for _, it := range w.items {
		w.write(w.t.Context(), it, rand.New(rand.NewPCG(1, 1)))
	}
	var writing, reading sync.WaitGroup
	for i, it := range w.items {
		writing.Go(func() { w.writer(writeCtx, it, rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	for i := range readers {
		reading.Go(func() { w.reader(readCtx, i, rand.New(rand.NewPCG(uint64(i), 2))) })
	}
	f(writeCtx)
	stopWriting()
	writing.Wait()
	pause.For(readCtx, bound+500*time.Millisecond)
	stopReading()
	reading.Wait()
}

// writer writes an item until ctx ends.
func (w *workload) writer(ctx context.Context, it *item, r *rand.Rand) {
	for pause.For(ctx, w.minPause+rand.N(w.maxPause-w.minPause)) {
		for w.manyWrites() && pause.For(ctx, w.readPause) {
		}
		for range 1 + r.IntN(w.maxBurst) {
			w.running.RLock()
			if ctx.Err() == nil {
				w.write(w.t.Context(), it, r)
			}
			w.running.RUnlock()
			pause.For(ctx, rand.N(20*time.Millisecond))
		}
	}
}

// manyWrites reports whether the writers have to wait for readers.
func (w *workload) manyWrites() bool {
	sent := w.writes[0].Load() + w.writes[1].Load() - int64(len(w.items)) // without the first write of each item
	return sent*readsPerWrite > w.reads.Load()
}

// write writes the next version of an item.
func (w *workload) write(ctx context.Context, it *item, r *rand.Rand) {
	past := len(it.versions) == 1 || w.onlyPast.Load() || r.IntN(w.throughIn) > 0
	number := len(it.versions)
	operation := []string{"PutItem", "UpdateItem", "BatchWriteItem", "TransactWriteItems", "ExecuteStatement", "ExecuteTransaction", "DeleteItem"}[r.IntN(7)]
	if number == 1 || operation == "DeleteItem" && r.IntN(2) > 0 {
		operation = "PutItem"
	}
	group := fmt.Sprint("g", r.IntN(groups))
	if operation == "DeleteItem" {
		group = ""
	}
	exists := it.versions[number-1].group != ""
	url := w.store
	if !past {
		n, release := w.pick(r)
		defer release()
		url = n.url
	}
	it.mu.Lock()
	it.versions = append(it.versions, version{group: group, past: past, sent: w.now(), acked: never, measure: number > 1})
	it.mu.Unlock()
	if _, err := send(ctx, url, operation, w.writeBody(operation, it, exists, number, group)); err != nil {
		if ctx.Err() == nil {
			w.t.Errorf("write, past Kasoku: %t: %v", past, err)
		}
		return
	}
	it.mu.Lock()
	it.versions[number].acked = w.now()
	it.mu.Unlock()
	kind := 0
	if past {
		kind = 1
	}
	w.writes[kind].Add(1)
}

// writeBody returns the request that writes version number of an item, which exists or not.
func (w *workload) writeBody(operation string, it *item, exists bool, number int, group string) string {
	key := fmt.Sprintf(`"p":{"S":%q},"s":{"N":"%d"}`, it.p, it.s)
	values := fmt.Sprintf(`"v":{"N":"%d"},"g":{"S":%q}`, number, group)
	put := fmt.Sprintf(`{"TableName":%q,"Item":{%s,%s}}`, w.table, key, values)
	switch operation {
	case "UpdateItem":
		return fmt.Sprintf(`{"TableName":%q,"Key":{%s},"UpdateExpression":"SET v = :v, g = :g","ExpressionAttributeValues":{":v":{"N":"%d"},":g":{"S":%q}}}`,
			w.table, key, number, group)
	case "DeleteItem":
		return fmt.Sprintf(`{"TableName":%q,"Key":{%s}}`, w.table, key)
	case "BatchWriteItem":
		return fmt.Sprintf(`{"RequestItems":{%q:[{"PutRequest":{"Item":{%s,%s}}}]}}`, w.table, key, values)
	case "TransactWriteItems":
		if number%2 == 0 {
			return fmt.Sprintf(`{"ClientRequestToken":"%s-%d-%d","TransactItems":[{"Update":{"TableName":%q,"Key":{%s},"UpdateExpression":"SET v = :v, g = :g",`+
				`"ExpressionAttributeValues":{":v":{"N":"%d"},":g":{"S":%q}}}}]}`, it.p, it.s, number, w.table, key, number, group)
		}
		return fmt.Sprintf(`{"TransactItems":[{"Put":%s}]}`, put)
	case "ExecuteStatement":
		return w.statement(it, exists, number, group)
	case "ExecuteTransaction":
		return fmt.Sprintf(`{"TransactStatements":[%s]}`, w.statement(it, exists, number, group))
	}
	return put
}

func (w *workload) statement(it *item, exists bool, number int, group string) string {
	text := `INSERT INTO \"%s\" VALUE {'v': ?, 'g': ?, 'p': '%s', 's': %d}`
	if exists {
		text = `UPDATE \"%s\" SET v = ? SET g = ? WHERE p = '%s' AND s = %d`
	}
	return fmt.Sprintf(`{"Statement":"%s","Parameters":[{"N":"%d"},{"S":%q}]}`, fmt.Sprintf(text, w.table, it.p, it.s), number, group)
}

// pick returns a node that is not down. release must be called after the request.
func (w *workload) pick(r *rand.Rand) (n *node, release func()) {
	for {
		n = w.nodes[r.IntN(len(w.nodes))]
		n.gone.RLock()
		if !n.down {
			return n, n.gone.RUnlock
		}
		n.gone.RUnlock()
	}
}

// takeOut makes clients use other nodes. It returns when no request uses the node.
func (n *node) takeOut() {
	n.gone.Lock()
	defer n.gone.Unlock()
	n.down = true
}

// reader sends reads until ctx ends.
func (w *workload) reader(ctx context.Context, id int, r *rand.Rand) {
	var list []sighting
	counts := map[string]*count{}
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sightings = append(w.sightings, list...)
		for operation, c := range counts {
			sum := w.counts[operation]
			if sum == nil {
				sum = &count{}
				w.counts[operation] = sum
			}
			sum.requests += c.requests
			sum.hits += c.hits
		}
	}()
	for pause.For(ctx, w.readPause) {
		operation, body, expected, group := w.read(r)
		n, release := w.pick(r)
		kind := operation
		if group != "" {
			kind = "Query of the index"
		}
		s := sighting{operation: kind, group: group, node: slices.Index(w.nodes, n), sent: w.now()}
		mayFail := w.failing.Load()
		a, err := send(ctx, n.url, operation, body)
		release()
		s.received, s.hit = w.now(), a.hit
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && (mayFail || w.failing.Load()):
			w.refused.Add(1)
			continue
		case err != nil:
			w.t.Errorf("reader %d: %v", id, err)
			return
		}
		c := counts[kind]
		if c == nil {
			c = &count{}
			counts[kind] = c
		}
		if c.requests++; a.hit {
			c.hits++
		}
		if a.lagging {
			w.lagging.Add(1)
		}
		w.reads.Add(1)
		if list, err = w.see(list, s, a.body, expected); err != nil {
			w.t.Errorf("reader %d: %s %s: %v", id, operation, body, err)
			return
		}
	}
}

// read returns a random read and the items that its answer may have.
func (w *workload) read(r *rand.Rand) (operation, body string, expected []*item, group string) {
	i := r.IntN(len(w.items))
	it := w.items[i]
	switch n := r.IntN(100); {
	case n < 52:
		return "GetItem", fmt.Sprintf(`{"TableName":%q,"Key":{"p":{"S":%q},"s":{"N":"%d"}}}`, w.table, it.p, it.s), w.items[i : i+1], ""
	case n < 60:
		first := i / 3 * 3
		var keys []string
		for _, it := range w.items[first : first+3] {
			keys = append(keys, fmt.Sprintf(`{"p":{"S":%q},"s":{"N":"%d"}}`, it.p, it.s))
		}
		return "BatchGetItem", fmt.Sprintf(`{"RequestItems":{%q:{"Keys":[%s]}}}`, w.table, strings.Join(keys, ",")), w.items[first : first+3], ""
	case n < 62:
		first := i / perPart * perPart
		return "Query", fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":%q}},"Limit":%d}`, w.table, it.p, perPart/2),
			w.items[first : first+perPart], ""
	case n < 64:
		last := i/perPart*perPart + perPart
		return "Query", fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":%q}},"ExclusiveStartKey":{"p":{"S":%q},"s":{"N":"%d"}}}`,
			w.table, it.p, it.p, it.s), w.items[i+1 : last], ""
	case n < 67:
		first := i / perPart * perPart
		return "Query", fmt.Sprintf(`{"TableName":%q,"IndexName":"by-version","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":%q}}}`, w.table, it.p),
			w.items[first : first+perPart], ""
	case n < 72:
		first := i / perPart * perPart
		return "Query", fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":%q}}}`, w.table, it.p),
			w.items[first : first+perPart], ""
	case n < 95:
		group = fmt.Sprint("g", r.IntN(groups))
		return "Query", fmt.Sprintf(`{"TableName":%q,"IndexName":"by-group","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":%q}}}`, w.table, group),
			w.items, group
	}
	return "Scan", fmt.Sprintf(`{"TableName":%q}`, w.table), w.items, ""
}

// see appends a sighting of each item that the answer to a read may have.
func (w *workload) see(list []sighting, s sighting, body []byte, expected []*item) ([]sighting, error) {
	type value struct{ S, N string }
	type attributes struct{ P, S, V value }
	var got struct {
		Item      *attributes
		Items     []attributes
		Responses map[string][]attributes
		Last      *attributes `json:"LastEvaluatedKey"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return list, err
	}
	if got.Item != nil {
		got.Items = append(got.Items, *got.Item)
	}
	got.Items = append(got.Items, got.Responses[w.table]...)
	seen := map[*item]int{}
	for _, a := range got.Items {
		it := w.byKey[a.P.S+"/"+a.S.N]
		number, err := strconv.Atoi(a.V.N)
		if it == nil || err != nil {
			return list, fmt.Errorf("unexpected item in %s", body)
		}
		seen[it] = number
	}
	for _, it := range expected {
		if got.Last != nil && strconv.Itoa(it.s) > got.Last.S.N {
			continue // on a later page of its partition
		}
		s.item, s.version = it, absent
		if number, found := seen[it]; found {
			s.version = number
			delete(seen, it)
		}
		list = append(list, s)
	}
	if len(seen) > 0 {
		return list, fmt.Errorf("unexpected items in %s", body)
	}
	return list, nil
}

// result is the outcome of a run.
type result struct {
	violations              []violation
	requests, hits, lagging int
}

// result checks the run and logs its figures.
func (w *workload) result() result {
	w.t.Helper()
	violations, unseen := check(w.sightings, bound)
	late, _ := check(w.sightings, maxLag)
	res := result{violations: violations, lagging: int(w.lagging.Load())}
	var kinds []string
	for operation, c := range w.counts {
		res.requests += c.requests
		res.hits += c.hits
		kinds = append(kinds, fmt.Sprintf("%s %d of %d", operation, c.hits, c.requests))
	}
	slices.Sort(kinds)
	w.t.Logf("%d writes past Kasoku and %d through it; %d reads, %d%% hits (%s), %d passed through because of the lag, %d refused; %d items of answers checked",
		w.writes[1].Load(), w.writes[0].Load(), res.requests, 100*res.hits/max(1, res.requests), strings.Join(kinds, ", "), res.lagging, w.refused.Load(), len(w.sightings))
	if n := len(unseen); n > 0 {
		w.t.Logf("%d writes past Kasoku were visible to all reads sent after p50 %s, p99 %s, at most %s; %d violations of the bound of %s, %d answers older than streams_max_lag",
			n, unseen[n/2].Round(time.Millisecond), unseen[n*99/100].Round(time.Millisecond), unseen[n-1].Round(time.Millisecond), len(violations), bound, len(late))
	}
	return res
}

// verify fails the test if an answer lacks a write.
func (r *result) verify(t testing.TB) {
	t.Helper()
	for i := range r.violations {
		if i == 10 {
			t.Fatalf("and %d more", len(r.violations)-i)
		}
		t.Error(&r.violations[i])
	}
}

// verifyHits fails the test if it has hardly tested the cache. Few reads may pass through because
// the stream lags, but a machine that runs other tests too may read it late.
func (r *result) verifyHits(t testing.TB) {
	t.Helper()
	if 2*r.hits <= r.requests-r.lagging || 5*r.hits < r.requests {
		t.Errorf("only %d of %d reads were hits, and %d passed through because of the lag: the run hardly tests the cache",
			r.hits, r.requests, r.lagging)
	}
}
