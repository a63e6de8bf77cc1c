package embedded

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// newIndex returns the UpdateTable members that add the index byx with the keys x and y.
const newIndex = `"AttributeDefinitions":[{"AttributeName":"x","AttributeType":"S"},{"AttributeName":"y","AttributeType":"N"}],` +
	`"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"byx","KeySchema":[{"AttributeName":"x","KeyType":"HASH"},` +
	`{"AttributeName":"y","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}}]`

// finishBackfill does all the work that the background would do.
func (s *Store) finishBackfill(t testing.TB) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.fillSome(); err != nil {
			t.Fatal(err)
		}
	}
}

// indexed returns the partition keys p of the items in an index, as they are on disk.
func (s *Store) indexed(t testing.TB, name, index string) string {
	t.Helper()
	info, err := s.info(name)
	if err != nil {
		t.Fatal(err)
	}
	prefix := appendIndex(nil, info.ID, info.Index(index).ID)
	it, err := s.db.Iter(prefix, prefixEnd(nil, prefix))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	seen := map[string]bool{}
	n := int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		_, text, err := splitImage(it.Value())
		if err != nil {
			t.Fatal(err)
		}
		item, err := value.Stored(text)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(item.Get("p").Text)] = true
		n++
	}
	// The index counts its entries.
	sums, err := kv.ReadSums(s.db, counterKey(nil, info.ID, info.Index(index).ID))
	if err != nil {
		t.Fatal(err)
	}
	if sums[0] != n {
		t.Errorf("the counter of %s is %d, but it has %d items", index, sums[0], n)
	}
	var out []string
	for i := range 1000 {
		if p := fmt.Sprint(i); seen[p] {
			out = append(out, p)
		}
	}
	return strings.Join(out, " ")
}

// putX stores the item p with x.
func (s *Store) putX(t testing.TB, p int, x string) {
	t.Helper()
	s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"p":{"S":"%d"},"x":%s,"y":{"N":"1"}}}`, p, x))
}

func upTo(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, " ")
}

func TestBackfill(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	for i := range 200 {
		s.putX(t, i, fmt.Sprintf(`{"S":"x%d"}`, i%7))
	}
	// Values that are not in the index: of another type, missing, too long.
	s.putX(t, 500, `{"N":"3"}`)
	s.putX(t, 501, `{"S":""}`)
	s.putX(t, 502, `{"S":"`+strings.Repeat("x", 2049)+`"}`)
	s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"503"},"x":{"S":"x"}}}`)
	s.putX(t, 200, `{"S":"`+strings.Repeat("x", 2048)+`"}`)

	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	got := s.describe(t, "tab")
	if got.TableStatus != "ACTIVE" || got.GlobalSecondaryIndexes[0].IndexStatus != "CREATING" || !got.GlobalSecondaryIndexes[0].Backfilling {
		t.Fatalf("got the description %+v", got)
	}
	const read = `{"TableName":"tab","IndexName":"byx"}`
	s.expectError(t, "Scan", read, "ValidationException", "Cannot read from backfilling global secondary index: byx")
	// Writes are checked against the index from the beginning.
	s.expectError(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"900"},"x":{"N":"3"}}}`, "ValidationException",
		"One or more parameter values were invalid: Type mismatch for Index Key x Expected: S Actual: N IndexName: byx")
	s.finishBackfill(t)
	if got := s.describe(t, "tab").GlobalSecondaryIndexes[0]; got.IndexStatus != "ACTIVE" || got.Backfilling || got.ItemCount != 201 {
		t.Errorf("got the description %+v", got)
	}
	s.checkNoCursor(t)
	if got := s.indexed(t, "tab", "byx"); got != upTo(201) {
		t.Errorf("the index has the items %s", got)
	}
	if reply := s.mustSend(t, "Scan", `{"TableName":"tab","IndexName":"byx","Select":"COUNT"}`); !strings.Contains(reply, `"Count":201`) {
		t.Errorf("a scan of the index returned %s", reply)
	}

	deleted := readDescription(t, s.mustSend(t, "UpdateTable", `{"TableName":"tab","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"byx"}}]}`))
	if deleted.TableStatus != "UPDATING" || deleted.GlobalSecondaryIndexes[0].IndexStatus != "DELETING" || s.describe(t, "tab").GlobalSecondaryIndexes != nil {
		t.Errorf("after the deletion: %+v", deleted)
	}
	s.expectError(t, "Scan", read, "ValidationException", "The table does not have the specified index: byx")
	s.putX(t, 900, `{"N":"3"}`)
	for _, key := range s.keysOnDisk(t) {
		if key[0] == spaceTable && key[12] != tableIndex || key[0] == spaceCounter && key[12] != tableIndex || key[0] == spaceCursor {
			t.Fatalf("a key of the deleted index is left: %q", key)
		}
	}
}

// checkNoCursor checks that no backfill has left its cursor.
func (s *Store) checkNoCursor(t testing.TB) {
	t.Helper()
	for _, key := range s.keysOnDisk(t) {
		if key[0] == spaceCursor {
			t.Errorf("a cursor is left: %q", key)
		}
	}
}

// TestChunkSize checks that a chunk, for which writers wait, has few items and few bytes.
func TestChunkSize(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	for i := range 5 {
		s.putX(t, i, `{"B":"`+strings.Repeat("xxxx", 100<<10)+`"}`)
	}
	keys, _, err := s.chunk((*s.tables.Load())["tab"], 1)
	if err != nil || len(keys) != 3 {
		t.Errorf("a chunk has %d large items, %v; want 3", len(keys), err)
	}
}

// TestWritesAtCursorOfBackfill changes items before, after and at the backfill's cursor: the
// index is correct afterwards.
func TestWritesAtCursorOfBackfill(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	for i := range 3 * chunkItems {
		s.putX(t, i, fmt.Sprintf(`{"S":"x%d"}`, i))
	}
	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	if more, err := s.fillSome(); !more || err != nil {
		t.Fatal(more, err)
	}
	var want []string
	for i := range 3 * chunkItems {
		switch i % 4 {
		case 0: // unchanged
		case 1:
			s.putX(t, i, `{"S":"other"}`)
		case 2:
			s.mustSend(t, "UpdateItem", fmt.Sprintf(`{"TableName":"tab","Key":{"p":{"S":"%d"}},"UpdateExpression":"SET v = p"}`, i))
		case 3:
			s.mustSend(t, "DeleteItem", fmt.Sprintf(`{"TableName":"tab","Key":{"p":{"S":"%d"}}}`, i))
			continue
		}
		want = append(want, fmt.Sprint(i))
	}
	s.finishBackfill(t)
	if got := s.indexed(t, "tab", "byx"); got != strings.Join(want, " ") {
		t.Errorf("the index has the items %s", got)
	}
	s.checkIndexes(t, "tab")
}

// checkIndexes checks that all indexes of a table match its items.
func (s *Store) checkIndexes(t testing.TB, name string) {
	t.Helper()
	held, err := s.table(name)
	if err != nil {
		t.Fatal(err)
	}
	defer held.mu.RUnlock()
	want, got := map[string]string{}, map[string]string{}
	items := appendIndex(nil, held.id, tableIndex)
	entries := appendTable(nil, spaceTable, held.id)
	it, err := s.db.Iter(entries, prefixEnd(nil, entries))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if !strings.HasPrefix(string(it.Key()), string(items)) {
			got[string(it.Key())] = string(it.Value())
			continue
		}
		item, err := readImage(s.db, it.Key(), needTree)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range held.info.Indexes {
			if key, entry := held.entry(x, &item); entry.exists() {
				want[string(key)] = string(appendImage(nil, entry.size, entry.text))
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("entry %q: got %q, want %q", key, got[key], want[key])
		}
	}
}

// TestBackfillResumes closes the store after each chunk.
func TestBackfillResumes(t *testing.T) {
	dir := t.TempDir()
	s := openIdle(t, onDisk{Dir: dir}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	const n = 3*chunkItems + 5
	var requests []string
	for i := range n {
		requests = append(requests, fmt.Sprintf(`{"PutRequest":{"Item":{"p":{"S":"%d"},"x":{"S":"x"},"y":{"N":"%d"}}}}`, i, i))
		if len(requests) == 25 || i == n-1 {
			s.mustSend(t, "BatchWriteItem", `{"RequestItems":{"tab":[`+strings.Join(requests, ",")+`]}}`)
			requests = nil
		}
	}
	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	opened := 0
	for {
		more, err := s.fillSome()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		s.Close()
		s = openIdle(t, onDisk{Dir: dir}, time.Now)
		opened++
	}
	if opened != 5 {
		t.Errorf("the backfill took %d steps, want 5", opened)
	}
	if got := s.indexed(t, "tab", "byx"); got != upTo(n) {
		t.Errorf("the index has the items %s", got)
	}
	s.checkIndexes(t, "tab")
	if status := s.describe(t, "tab").GlobalSecondaryIndexes[0].IndexStatus; status != "ACTIVE" {
		t.Errorf("the index has the status %s", status)
	}
	// Open continues an interrupted backfill.
	s.mustSend(t, "UpdateTable", strings.ReplaceAll(`{"TableName":"tab",`+newIndex+`}`, "byx", "again"))
	s.Close()
	s = openStore(t, onDisk{Dir: dir})
	s.await(t, func() bool { return s.describe(t, "tab").GlobalSecondaryIndexes[1].IndexStatus == "ACTIVE" })
	s.checkIndexes(t, "tab")
}

// await polls until done returns true, and fails the test after a timeout.
func (s *Store) await(t testing.TB, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("timed out")
		}
	}
}

// TestBackfillUnderWrites runs a backfill during concurrent writes.
func TestBackfillUnderWrites(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", createP("tab"))
	const n = 400
	for i := range n {
		s.putX(t, i, `{"S":"x"}`)
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := w; i < n; i += 4 {
				key := fmt.Sprintf(`{"TableName":"tab","Key":{"p":{"S":"%d"}}`, i*7%n)
				switch i / 4 % 3 {
				case 0:
					s.send(t, "DeleteItem", key+"}")
				case 1:
					s.send(t, "UpdateItem", key+`,"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"S":"z"}}}`)
				default:
					s.send(t, "UpdateItem", key+`,"UpdateExpression":"REMOVE x"}`)
				}
			}
		})
	}
	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	writers.Wait()
	s.await(t, func() bool { return s.describe(t, "tab").GlobalSecondaryIndexes[0].IndexStatus == "ACTIVE" })
	s.checkIndexes(t, "tab")
	var counted struct{ Count int64 }
	if err := json.Unmarshal([]byte(s.mustSend(t, "Scan", `{"TableName":"tab","IndexName":"byx","Select":"COUNT"}`)), &counted); err != nil {
		t.Fatal(err)
	}
	if got := s.describe(t, "tab").GlobalSecondaryIndexes[0].ItemCount; got != counted.Count {
		t.Errorf("the index's ItemCount is %d, and it has %d items", got, counted.Count)
	}
}

// TestIndexDeletedDuringBackfill deletes an index before it is filled, and uses its name again.
func TestIndexDeletedDuringBackfill(t *testing.T) {
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", createP("tab"))
	for i := range 2 * chunkItems {
		s.putX(t, i, `{"S":"x"}`)
	}
	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	if _, err := s.fillSome(); err != nil {
		t.Fatal(err)
	}
	s.mustSend(t, "UpdateTable", `{"TableName":"tab","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"byx"}}]}`)
	s.checkNoCursor(t)
	s.mustSend(t, "UpdateTable", `{"TableName":"tab",`+newIndex+`}`)
	s.finishBackfill(t)
	if got := s.indexed(t, "tab", "byx"); got != upTo(2*chunkItems) {
		t.Errorf("the index has the items %s", got)
	}
}
