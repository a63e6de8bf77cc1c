package accel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// batchStore answers GetItem and BatchGetItem for the keys {"p":{"S":"..."},"s":{"N":"..."}} of any
// table. The value of each item is its table and sort key with the pad. Sort keys from 1000 on have
// no items, and those from 2000 on remain unprocessed.
type batchStore struct {
	pad string

	mu      sync.Mutex
	batches [][]string // the sort keys of each BatchGetItem
	hold    chan struct{}
	held    int // batches that wait for hold, their items read
}

type batchItem map[string]map[string]string

func (s *batchStore) item(table string, k batchItem) batchItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return batchItem{"p": k["p"], "s": k["s"], "v": {"S": table + k["s"]["N"] + s.pad}}
}

func (s *batchStore) serve(op, body string) (status int, reply string) {
	switch op {
	case "DescribeTable":
		var r struct{ TableName string }
		_ = json.Unmarshal([]byte(body), &r)
		return 200, strings.Replace(describeT, `"TableName":"t"`, `"TableName":"`+r.TableName+`"`, 1)
	case "GetItem":
		var r struct {
			TableName string
			Key       batchItem
		}
		_ = json.Unmarshal([]byte(body), &r)
		b, _ := json.Marshal(map[string]batchItem{"Item": s.item(r.TableName, r.Key)})
		return 200, string(b)
	case "BatchGetItem":
		return 200, s.batch(body)
	}
	return 0, ""
}

func (s *batchStore) batch(body string) string {
	var r struct {
		RequestItems map[string]struct{ Keys []batchItem }
	}
	_ = json.Unmarshal([]byte(body), &r)
	responses, left, all := map[string][]batchItem{}, map[string]map[string][]batchItem{}, []string(nil)
	for table, part := range r.RequestItems {
		responses[table] = []batchItem{}
		for _, k := range part.Keys {
			key := k["s"]["N"]
			all = append(all, key)
			switch {
			case len(key) < 4:
				responses[table] = append(responses[table], s.item(table, k))
			case key >= "2000":
				if left[table] == nil {
					left[table] = map[string][]batchItem{}
				}
				left[table]["Keys"] = append(left[table]["Keys"], k)
			}
		}
	}
	s.mu.Lock()
	slices.Sort(all)
	s.batches = append(s.batches, all)
	hold := s.hold
	if hold != nil {
		s.held++
	}
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	b, _ := json.Marshal(map[string]any{"Responses": responses, "UnprocessedKeys": left})
	return string(b)
}

// asked returns the sort keys of each BatchGetItem since the last call, sorted.
func (s *batchStore) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.batches, slices.Compare)
	out := fmt.Sprint(s.batches)
	s.batches = nil
	return out
}

// setPad changes the values of all items.
func (s *batchStore) setPad(pad string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pad = pad
}

// holdBatches lets all further batches wait until release is called.
func (s *batchStore) holdBatches() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := make(chan struct{})
	s.hold = hold
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold, s.held = nil, 0
		close(hold)
	}
}

// holds reports whether n batches wait, whose answers are what the items are now.
func (s *batchStore) holds(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held == n
}

// newBatchPeers returns three nodes of which b and c own all keys.
func newBatchPeers(t *testing.T, pad string) (a, b, c *fixture, cl *clustertest.Cluster, store *batchStore) {
	t.Helper()
	a = newFixture(t)
	b, c = a.sibling(), a.sibling()
	cl = clustertest.Connect(a.svc.cache, b.svc.cache, c.svc.cache)
	cl.Share(b.svc.cache, c.svc.cache)
	store = &batchStore{pad: pad}
	a.origin.mu.Lock()
	a.origin.handler = store.serve
	a.origin.mu.Unlock()
	return a, b, c, cl, store
}

// batchOf returns a BatchGetItem of keys of the table t.
func batchOf(keys ...string) string { return `{"RequestItems":{"t":` + partOf("", keys...) + `}}` }

func partOf(more string, keys ...string) string {
	var all []string
	for _, k := range keys {
		all = append(all, `{"p":{"S":"a"},"s":{"N":"`+k+`"}}`)
	}
	return `{"Keys":[` + strings.Join(all, ",") + `]` + more + `}`
}

// values returns the values of a reply by table, sorted, and the unprocessed sort keys.
func values(t *testing.T, reply string) string {
	t.Helper()
	var r struct {
		Responses       map[string][]batchItem
		UnprocessedKeys map[string]struct{ Keys []batchItem }
	}
	if err := json.Unmarshal([]byte(reply), &r); err != nil {
		t.Fatalf("%v: %s", err, reply)
	}
	var out []string
	for _, table := range slices.Sorted(maps.Keys(r.Responses)) {
		var items []string
		for _, item := range r.Responses[table] {
			items = append(items, item["v"]["S"])
		}
		slices.Sort(items)
		out = append(out, table+" "+strings.Join(items, ","))
	}
	for table, part := range r.UnprocessedKeys {
		for _, k := range part.Keys {
			out = append(out, "unprocessed "+table+k["s"]["N"])
		}
	}
	return strings.Join(out, "; ")
}

// The keys that are not in memory are asked of their owners: one question for each, and one request
// of each owner to the origin. Later all have the items.
func TestBatchAsksTheOwners(t *testing.T) {
	keys := []string{"10", "11", "12", "13", "14", "15", "16", "17", "18", "19"}
	a, b, _, cl, store := newBatchPeers(t, "")
	const want = "t t10,t11,t12,t13,t14,t15,t16,t17,t18,t19"
	got := a.do("BatchGetItem", batchOf(keys...))
	if got.decision != telemetry.Miss || values(t, got.body) != want {
		t.Errorf("got %s %s", got.decision, got.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[fill fill]" {
		t.Errorf("the owners answer with %s", got)
	}
	a.origins("BatchGetItem", "BatchGetItem")
	if asked := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(store.asked())); len(asked) != len(keys) {
		t.Errorf("the origin is asked for %s", asked)
	}
	if d := a.do("BatchGetItem", batchOf(keys...)).decision; d != telemetry.Hit {
		t.Errorf("later it is a %s", d)
	}
	// A client of b gets the rest from c.
	if got := b.do("BatchGetItem", batchOf(keys...)); got.decision != telemetry.Partial || values(t, got.body) != want {
		t.Errorf("got %s %s", got.decision, got.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[hit]" {
		t.Errorf("c answers with %s", got)
	}
	for _, f := range []*fixture{a, b} {
		if d := f.do("GetItem", clusterGetOf("14")).decision; d != telemetry.Hit {
			t.Errorf("a GetItem is a %s", d)
		}
	}
	a.origins()
}

func clusterGetOf(key string) string {
	return `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"` + key + `"}}}`
}

// A batch returns the same whether owners answer for its keys or the origin.
func TestBatchThroughOwners(t *testing.T) {
	strong := `,"ConsistentRead":true`
	for _, test := range []struct {
		name, body string
		want       string
		fetches    string // of owners
		origin     string // the keys of each request
	}{
		{"missing", batchOf("1", "1000"), "t t1", "[fill]", "[[1 1000]]"},
		{"unprocessed", batchOf("1", "2000"), "t t1; unprocessed t2000", "[fill]", "[[1 2000] [2000]]"},
		{"all unprocessed", batchOf("2001"), "t ; unprocessed t2001", "[declined]", "[[2001] [2001]]"},
		{"two tables", `{"RequestItems":{"t":` + partOf("", "1", "2") + `,"u":` + partOf("", "1") + `}}`, "t t1,t2; u u1", "[fill]", "[[1 1 2]]"},
		{"projection", `{"RequestItems":{"t":` + partOf(`,"ProjectionExpression":"s"`, "1") + `}}`, "t ", "[fill]", "[[1]]"},
		{"strong", `{"RequestItems":{"t":` + partOf(strong, "1", "2") + `}}`, "t t1,t2", "[]", "[[1 2]]"},
		{"partly strong", `{"RequestItems":{"t":` + partOf(strong, "1") + `,"u":` + partOf("", "2") + `}}`, "t t1; u u2", "[fill]", "[[1] [2]]"},
		{"another spelling", strings.Replace(batchOf("1"), `"a"`, `"\u0061"`, 1), "t t1", "[fill]", "[[1]]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b, _, cl, store := newBatchPeers(t, "")
			cl.Share(b.svc.cache)
			got := a.do("BatchGetItem", test.body)
			if v := values(t, got.body); got.status != 200 || v != test.want {
				t.Errorf("got %s, want %s", got.body, test.want)
			}
			if test.name == "projection" && !strings.Contains(got.body, `[{"s":{"N":"1"}}]`) {
				t.Errorf("got %s", got.body)
			}
			if got := fmt.Sprint(cl.Fetches()); got != test.fetches {
				t.Errorf("the owner answers with %s, want %s", got, test.fetches)
			}
			if got := store.asked(); got != test.origin {
				t.Errorf("the origin is asked for %s, want %s", got, test.origin)
			}
		})
	}
}

// A DAX client's batch asks the owners too: its front serves requests of accel's Client.
func TestBatchOfClient(t *testing.T) {
	a, b, _, cl, store := newBatchPeers(t, "")
	cl.Share(b.svc.cache)
	b.do("BatchGetItem", batchOf("1"))
	c, _ := a.svc.Client(nil)
	x := edge.Detached(t.Context(), request("BatchGetItem"), []byte(batchOf("1", "2")), time.Now())
	c.Serve(x)
	if got := values(t, string(x.Reply.Body)); got != "t t1,t2" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(cl.Fetches(), store.asked()); got != "[fill][[1] [2]]" {
		t.Errorf("asked: %s", got)
	}
}

// Concurrent requests of all nodes for a batch and for one of its items cost one request to the
// origin.
func TestColdBatchOfNodes(t *testing.T) {
	a, b, c, cl, store := newBatchPeers(t, "")
	cl.Share(b.svc.cache)
	b.do("GetItem", clusterGetOf("9")) // describes the table
	a.origin.take()
	release := store.holdBatches()
	var all sync.WaitGroup
	ask := func(f *fixture, op, body, want string) {
		all.Go(func() {
			if got := f.do(op, body); !strings.Contains(got.body, want) {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
	ask(a, "BatchGetItem", batchOf("1", "2"), `"t2"`)
	await.Until(t, func() bool { return len(a.origin.ops()) == 1 })
	ask(c, "BatchGetItem", batchOf("1", "2"), `"t2"`)
	ask(b, "GetItem", clusterGetOf("1"), `"t1"`)
	ask(c, "GetItem", clusterGetOf("2"), `"t2"`)
	await.Until(t, func() bool { return b.svc.cache.Stats().Coalesced == 4 })
	release()
	all.Wait()
	a.origins("BatchGetItem")
	if got := store.asked(); got != "[[1 2]]" {
		t.Errorf("the origin is asked for %s", got)
	}
}

// ops returns the operations in the log, except those about tables.
func (f *fakeOrigin) ops() (ops []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.log {
		if !strings.HasPrefix(r.op, "Describe") {
			ops = append(ops, r.op)
		}
	}
	return ops
}

// A GetItem that waits for an item of a batch gets it also if the batch fails.
func TestItemOfFailedBatch(t *testing.T) {
	a, b, _, cl, store := newBatchPeers(t, "")
	cl.Share(b.svc.cache)
	b.do("GetItem", clusterGetOf("9")) // describes the table
	release := store.holdBatches()
	var all sync.WaitGroup
	all.Go(func() { a.do("BatchGetItem", batchOf("1", "2000")) })
	await.Until(t, func() bool { return len(a.origin.ops()) == 2 })
	all.Go(func() {
		if got := b.do("GetItem", clusterGetOf("2000")); got.status != 200 || !strings.Contains(got.body, `"t2000"`) {
			t.Errorf("got %d %s", got.status, got.body)
		}
	})
	await.Until(t, func() bool { return b.svc.cache.Stats().Coalesced == 1 })
	release()
	all.Wait()
}

// Errors of the origin reach the client byte for byte.
func TestOwnerSharesNoErrorsOfBatches(t *testing.T) {
	a, b, _, cl, _ := newBatchPeers(t, "")
	cl.Share(b.svc.cache)
	const refusal = `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"no"}`
	a.origin.mu.Lock()
	a.origin.handler = func(op, _ string) (int, string) {
		if op != "BatchGetItem" {
			return 0, ""
		}
		return 400, refusal
	}
	a.origin.mu.Unlock()
	if got := a.do("BatchGetItem", batchOf("1")); got.status != 400 || got.body != refusal {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[declined]" {
		t.Errorf("the owner answers with %s", got)
	}
}

// A write that happens between the question and its answer: the answer is not stored. During a
// write, the origin is asked for the key.
func TestBatchAndWrites(t *testing.T) {
	a, b, c, cl, store := newBatchPeers(t, "old")
	cl.Share(b.svc.cache)
	a.origin.reply("PutItem", `{}`)
	b.do("GetItem", clusterGetOf("9"))
	overtake := func(by func(), keys ...string) {
		a.origin.take()
		release := store.holdBatches()
		var all sync.WaitGroup
		all.Go(func() { a.do("BatchGetItem", batchOf(keys...)) })
		await.Until(t, func() bool { return store.holds(1) })
		by()
		release()
		all.Wait()
	}
	expect := func(name string, f *fixture, key, want string) {
		t.Helper()
		if got := f.stored(key); got != want {
			t.Errorf("the %s stores %q, want %q", name, got, want)
		}
	}
	overtake(func() {
		store.setPad("new")
		if got := c.do("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"t1new"}}}`); got.status != 200 {
			t.Fatal(got.body)
		}
	}, "1", "2")
	expect("owner", b, "1", "")
	expect("owner", b, "2", "t2old")
	expect("asker", a, "1", "t1new") // from the origin, as the owner did not store it
	expect("asker", a, "2", "t2old")
	overtake(func() {
		a.svc.cache.Apply(cache.Change{Tags: a.svc.peek([]byte("t")).itemTags(itemKeyOf(a, "5"))[:1]})
	}, "5")
	expect("owner", b, "5", "t5new")
	expect("asker", a, "5", "")
	// The write of another item is in flight, as another node has announced it.
	a.origin.take()
	cl.Fetches()
	store.asked()
	hold := a.svc.cache.Hold(a.svc.peek([]byte("t")).itemTags(itemKeyOf(a, "3"))[:1])
	defer hold.Release()
	a.do("BatchGetItem", batchOf("3", "4"))
	if got := fmt.Sprint(cl.Fetches(), store.asked()); got != "[fill][[3] [4]]" {
		t.Errorf("during a write: asked %s", got)
	}
}

// stored returns the value of an item of the table t that is in memory, or "".
func (f *fixture) stored(key string) string {
	f.t.Helper()
	e, found := f.svc.space.Peek(f.svc.peek([]byte("t")).cacheKey(itemKeyOf(f, key)), f.svc.cache.Now())
	if found != cache.Fresh {
		return ""
	}
	var item batchItem
	if err := json.Unmarshal(itemOf(e), &item); err != nil {
		f.t.Fatal(err)
	}
	return item["v"]["S"]
}

// itemKeyOf returns the key of an item of the table t.
func itemKeyOf(f *fixture, key string) itemKey {
	f.t.Helper()
	b, n, ok := f.svc.peek([]byte("t")).appendKey(nil, []byte(`{"p":{"S":"a"},"s":{"N":"`+key+`"}}`))
	if !ok {
		f.t.Fatal("no key")
	}
	return itemKey{b, n}
}
