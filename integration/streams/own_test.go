package streams

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// TestOwnWrites checks that records of writes through Kasoku do not drop what it has cached since.
// In each round items are written and all answers cached, while the records are held back. When
// they are applied, at least 99% of the reads must be hits, as without streams.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	url := store(t, 4*time.Hour)
	p := newProxy(t, url)
	const interval = maxLag              // of polls: four in the longer lag
	longer := func(o *harness.Options) { // than the records are held back
		o.Service[len(o.Service)-2] = "streams_max_lag: " + (4 * maxLag).String()
	}
	without, with := accelerate(t, url), accelerate(t, p.url, following, longer)
	var tables []*ownWrites
	for _, operations := range [][]string{
		{"PutItem", "UpdateItem", "PutItem", "DeleteItem"},
		{"UpdateItem", "UpdateItem-ADD", "UpdateItem-ADD", "UpdateItem-ADD"}, {"BatchWriteItem"},
		{"TransactWriteItems", "TransactWriteItems-SET", "TransactWriteItems-ADD", "TransactWriteItems-Delete"},
		{"PartiQL"},
	} {
		for _, n := range []*harness.Node{without, with} {
			o := &ownWrites{t: t, n: n, operations: operations, table: fmt.Sprint("table-", len(tables))}
			createTable(t, url, o.table)
			tables = append(tables, o)
			if n == with {
				awaitServed(t, n, o.table)
			}
		}
	}
	counted := 0
	for round := 0; counted < 4 && round < 9; round++ {
		var lagged atomic.Bool // on a slow machine the records may be held back for too long
		release := p.hold()
		each(tables, func(o *ownWrites, c, i int) {
			o.write(c, i, round)
			o.read(c, i)
		})
		// Answers of the index are cached for the time since the last write. Until then each shard
		// has a request that is held back.
		pause.For(t.Context(), interval+settled)
		began := time.Now()
		each(tables, func(o *ownWrites, c, i int) {
			for hits, lags := o.read(c, i); hits < readsOfItem && !lagged.Load(); hits, lags = o.read(c, i) {
				if lags {
					lagged.Store(true)
				}
				pause.For(t.Context(), 10*time.Millisecond)
			}
		})
		release()
		records := (round + 1) * len(tables) / 2 * ownClients * ownItems
		harness.Await(t, "the records of all writes are applied", startupLimit, func() bool {
			return metric(t, with, "kasoku_streams_records_total") >= float64(records)
		})
		each(tables, func(o *ownWrites, c, i int) {
			n, _ := o.read(c, i)
			o.ofRound.Add(n)
		})
		counts := !lagged.Load() && time.Since(began) < interval // else a cached answer may have expired
		for _, o := range tables {
			if n := o.ofRound.Swap(0); counts {
				o.reads += ownClients * ownItems * readsOfItem
				o.hits += n
			}
		}
		if counts {
			counted++
		}
	}
	if counted == 0 {
		t.Fatal("each round took too long")
	}
	for i := 0; i < len(tables); i += 2 {
		without, with := tables[i], tables[i+1]
		t.Logf("%s: %s of %d reads were hits without streams, %s with streams", strings.Join(with.operations, ", "),
			without.ratio(), with.reads, with.ratio())
		if 100*with.hits < 99*without.hits {
			t.Errorf("%s of the reads were hits with streams, %s without them, want 1%% less at most", with.ratio(), without.ratio())
		}
	}
	logStreams(t, with)
}

// each calls f for all items of all tables, with a goroutine for each client of a table.
func each(tables []*ownWrites, f func(o *ownWrites, c, i int)) {
	var clients sync.WaitGroup
	for _, o := range tables {
		for c := range ownClients {
			clients.Go(func() {
				for i := range ownItems {
					f(o, c, i)
				}
			})
		}
	}
	clients.Wait()
}

// ownWrites sends requests for a table through a node.
type ownWrites struct {
	t           testing.TB
	n           *harness.Node
	operations  []string // by turns
	table       string
	ofRound     atomic.Int64 // hits
	reads, hits int64        // after the records of writes
	token       atomic.Int64 // the last one
}

// ratio returns the share of hits.
func (o *ownWrites) ratio() string {
	return fmt.Sprintf("%.2f%%", 100*float64(o.hits)/float64(o.reads))
}

// ownClients is the number of clients. Each has a partition and a key of the index.
const (
	ownClients = 2
	ownItems   = 3
)

// write writes an item. Each write changes it.
func (o *ownWrites) write(c, i, round int) {
	key := fmt.Sprintf(`"p":{"S":"p%d"},"s":{"N":"%d"}`, c, i)
	item := fmt.Sprintf(`{%s,"g":{"S":"g%d"},"v":{"N":"%d"}}`, key, c, round+1)
	put := fmt.Sprintf(`{"TableName":%q,"Item":%s}`, o.table, item)
	switch o.operations[(round+i)%len(o.operations)] {
	case "PutItem":
		o.send("PutItem", put)
	case "DeleteItem":
		o.send("DeleteItem", fmt.Sprintf(`{"TableName":%q,"Key":{%s}}`, o.table, key))
	case "UpdateItem":
		o.send("UpdateItem", fmt.Sprintf(`{"TableName":%q,"Key":{%s},"UpdateExpression":"SET v = :v, g = :g","ExpressionAttributeValues":{":v":{"N":"%d"},":g":{"S":"g%d"}}}`,
			o.table, key, round+1, c))
	case "UpdateItem-ADD":
		o.send("UpdateItem", fmt.Sprintf(`{"TableName":%q,"Key":{%s},"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`, o.table, key))
	case "BatchWriteItem":
		o.send("BatchWriteItem", fmt.Sprintf(`{"RequestItems":{%q:[{"PutRequest":{"Item":%s}}]}}`, o.table, item))
	case "TransactWriteItems":
		o.transact("Put", put[1:])
	case "TransactWriteItems-SET":
		o.transact("Update", fmt.Sprintf(`"TableName":%q,"Key":{%s},"UpdateExpression":"SET v = :v, g = :g","ExpressionAttributeValues":{":v":{"N":"%d"},":g":{"S":"g%d"}}}`,
			o.table, key, round+1, c))
	case "TransactWriteItems-ADD":
		o.transact("Update", fmt.Sprintf(`"TableName":%q,"Key":{%s},"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}}}`, o.table, key))
	case "TransactWriteItems-Delete":
		o.transact("Delete", fmt.Sprintf(`"TableName":%q,"Key":{%s}}`, o.table, key))
	case "PartiQL":
		o.statement(c, i, round)
	}
}

// statement writes an item by a statement: it is inserted, changed twice, and deleted.
func (o *ownWrites) statement(c, i, round int) {
	item := fmt.Sprintf(`p = 'p%d' AND s = %d`, c, i)
	add := fmt.Sprintf(`{"Statement":"UPDATE \"%s\" SET v = v + ? WHERE %s","Parameters":[{"N":"1"}]}`, o.table, item)
	switch round % 4 {
	case 0:
		o.send("ExecuteStatement", fmt.Sprintf(`{"Statement":"INSERT INTO \"%s\" VALUE {'p': 'p%d', 's': %d, 'g': 'g%d', 'v': 1}"}`, o.table, c, i, c))
	case 1:
		o.send("BatchExecuteStatement", `{"Statements":[`+add+`]}`)
	case 2:
		o.send("ExecuteTransaction", fmt.Sprintf(`{"ClientRequestToken":"%s-%d","TransactStatements":[%s]}`, o.table, o.token.Add(1), add))
	case 3:
		o.send("ExecuteStatement", fmt.Sprintf(`{"Statement":"DELETE FROM \"%s\" WHERE %s"}`, o.table, item))
	}
}

// transact sends a transaction of one action, as SDKs do: with a token.
func (o *ownWrites) transact(action, rest string) {
	o.send("TransactWriteItems", fmt.Sprintf(`{"ClientRequestToken":"%s-%d","TransactItems":[{%q:{%s}]}`, o.table, o.token.Add(1), action, rest))
}

// readsOfItem is the number of requests of read.
const readsOfItem = 3

// read reads an item and what contains it. It returns the number of hits, and whether a read was
// passed through because the stream lags.
func (o *ownWrites) read(c, i int) (hits int64, lags bool) {
	for _, request := range [readsOfItem][2]string{
		{"GetItem", fmt.Sprintf(`{"TableName":%q,"Key":{"p":{"S":"p%d"},"s":{"N":"%d"}}}`, o.table, c, i)},
		{"Query", fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"p%d"}}}`, o.table, c)},
		{"Query", fmt.Sprintf(`{"TableName":%q,"IndexName":"by-group","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"g%d"}}}`, o.table, c)},
	} {
		a := o.send(request[0], request[1])
		lags = lags || a.lagging
		if a.hit {
			hits++
		}
	}
	return hits, lags
}

// send sends a request.
func (o *ownWrites) send(operation, body string) answer {
	a, err := send(o.t.Context(), o.n.URL, operation, body)
	if err != nil {
		o.t.Error(err)
	}
	return a
}
