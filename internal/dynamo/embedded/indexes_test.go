package embedded

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// entries reads all entries with a prefix.
func entries(t testing.TB, r kv.Reader, prefix []byte) map[string]string {
	t.Helper()
	it, err := r.Iter(prefix, prefixEnd(nil, prefix))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	found := map[string]string{}
	for ok := it.First(); ok; ok = it.Next() {
		found[string(it.Key())] = string(it.Value())
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	return found
}

// checkTable computes the index entries and counters from a table's items, and compares them
// with the stored ones.
func (s *Store) checkTable(t testing.TB, name string) {
	t.Helper()
	tb, err := s.table(name)
	if err != nil {
		t.Fatal(err)
	}
	defer tb.mu.RUnlock()
	snapshot := s.db.Snapshot()
	defer snapshot.Close()
	items := entries(t, snapshot, appendIndex(nil, tb.id, tableIndex))
	s.checkCounter(t, snapshot, tb, tableIndex, items)
	for _, x := range tb.info.Indexes {
		want := map[string]string{}
		for key, stored := range items {
			size, text, err := splitImage([]byte(stored))
			if err != nil {
				t.Fatal(err)
			}
			item, err := value.ParseItem(text)
			if err != nil || item.ItemSize() != size {
				t.Fatalf("%s: item %q: %v, or its size is not %d", name, text, err, size)
			}
			if !bytes.Equal(appendItemKey(nil, tb.info, &item), []byte(key)) {
				t.Fatalf("%s: item %s is stored under %q", name, text, key)
			}
			if key, ok := appendEntryKey(nil, tb.info, x, &item); ok {
				want[string(key)] = string(entryOf(tb.info, x, &item))
			}
		}
		got := entries(t, snapshot, appendIndex(nil, tb.id, x.ID))
		for key, stored := range want {
			if got[key] != stored {
				t.Errorf("%s.%s: key %q: got %q, want %q", name, x.Name, key, got[key], stored)
			}
		}
		for key, stored := range got {
			if want[key] == "" {
				t.Errorf("%s.%s: key %q has %q, but there is no such item", name, x.Name, key, stored)
			}
		}
		s.checkCounter(t, snapshot, tb, x.ID, got)
	}
}

// entryOf returns the expected stored form of an item's index entry.
func entryOf(info *catalog.Table, x *catalog.Index, item *value.Value) []byte {
	kept := value.Value{Type: value.Map}
	for _, m := range item.Members {
		include := x.Projection.Type == catalog.ProjectAll || info.Key.Has(m.Name) || x.Key.Has(m.Name)
		for _, n := range x.Projection.NonKey {
			include = include || n == m.Name
		}
		if include {
			kept.Members = append(kept.Members, m)
		}
	}
	return appendImage(nil, kept.ItemSize(), kept.AppendItem(nil))
}

func (s *Store) checkCounter(t testing.TB, r kv.Reader, tb *table, index uint32, stored map[string]string) {
	t.Helper()
	var want kv.Sums
	got, err := kv.ReadSums(r, counterKey(nil, tb.id, index))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range stored {
		size, _, err := splitImage([]byte(v))
		if err != nil {
			t.Fatal(err)
		}
		want[0]++
		want[1] += int64(size)
	}
	if got != want {
		t.Errorf("%s, index %d: counters: %d items of %d bytes, want %d of %d", tb.info.Name, index, got[0], got[1], want[0], want[1])
	}
}

// TestEntries adds an item to indexes, changes it there and removes it from them.
func TestEntries(t *testing.T) {
	s := withTables(t)
	f := func(op, more string, want string) {
		t.Helper()
		body := `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}` + more + `}`
		if op == "PutItem" {
			body = `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}` + more + `}}`
		}
		s.mustSend(t, op, body)
		s.checkTable(t, "range")
		var got []string
		for _, x := range (*s.tables.Load())["range"].info.Indexes {
			for _, v := range entries(t, s.db, appendIndex(nil, (*s.tables.Load())["range"].id, x.ID)) {
				_, text, _ := splitImage([]byte(v))
				item, err := value.ParseItem(text)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, m := range item.Members {
					names = append(names, m.Name)
				}
				got = append(got, x.Name+"("+strings.Join(names, " ")+")")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s %s: got the entries %s, want %s", op, more, strings.Join(got, " "), want)
		}
	}
	f("PutItem", ``, "")
	f("PutItem", `,"v":{"S":"v"},"x":{"S":"x"}`, "")
	f("PutItem", `,"l":{"S":"l"},"v":{"S":"v"},"x":{"S":"x"}`, "zlx(p s l)")
	f("PutItem", `,"g":{"S":"g"},"v":{"S":"v"},"x":{"S":"x"}`, "byx(p s g x)") // byg needs l as well
	f("PutItem", `,"g":{"S":"g"},"l":{"S":"l"},"v":{"S":"v"},"x":{"S":"x"},"b":{"B":"AA=="}`, "zlx(p s l) zbx(p s g l v x b) byg(p s g l v x b) byx(p s g x)")
	f("UpdateItem", `,"UpdateExpression":"REMOVE l, v"`, "zbx(p s g x b) byx(p s g x)")
	f("UpdateItem", `,"UpdateExpression":"REMOVE x SET g = :g","ExpressionAttributeValues":{":g":{"S":"h"}}`, "zbx(p s g b) byx(p s g)")
	f("DeleteItem", ``, "")
}

// TestEntriesOfOneKey puts many items with one key of a global index.
func TestEntriesOfOneKey(t *testing.T) {
	s := withTables(t)
	for i := range 20 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"range","Item":{"p":{"S":"p%d"},"s":{"N":"%d"},"g":{"S":"g"},"l":{"S":"l"}}}`, i%3, i))
	}
	s.checkTable(t, "range")
	if n := len(entries(t, s.db, appendIndex(nil, (*s.tables.Load())["range"].id, (*s.tables.Load())["range"].info.Index("byg").ID))); n != 20 {
		t.Errorf("got %d entries", n)
	}
}
