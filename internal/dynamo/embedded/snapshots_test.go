package embedded

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSnapshots saves and restores tables, items, indexes, streams and counts.
func TestSnapshots(t *testing.T) { diskAndMemory(t, checkSnapshots) }

func checkSnapshots(t *testing.T, s *Store) {
	put := func(id string) {
		s.mustSend(t, "PutItem", `{"TableName":"tab","Item":{"p":{"S":"`+id+`"}}}`)
	}
	s.mustSend(t, "CreateTable", streamTable("tab", "NEW_IMAGE"))
	put("1")
	first := s.whole(t)
	for _, err := range []error{s.Save("first"), s.Save("first")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	put("2")
	s.mustSend(t, "CreateTable", plainTable)
	s.mustSend(t, "DeleteTable", `{"TableName":"tab"}`)
	second := s.whole(t)
	if err := s.Save("second"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, want string }{{"first", first}, {"second", second}, {"first", first}} {
		if err := s.Restore(step.name); err != nil {
			t.Fatal(err)
		}
		if got := s.whole(t); got != step.want {
			t.Errorf("%s: got\n%s\nwant\n%s", step.name, got, step.want)
		}
	}
	put("3") // a restored table can be written to
	f := newFollower(s, s.describe(t, "tab").LatestStreamArn)
	f.poll(t)
	records := 0
	for _, got := range f.got {
		records += len(got)
	}
	if records != 2 {
		t.Errorf("the restored stream has %d records, want that of item 1 and that of item 3", records)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if got := s.mustSend(t, "ListTables", `{}`) + s.mustSend(t, "ListStreams", `{}`); got != `{"TableNames":[]}{"Streams":[]}` {
		t.Errorf("after a reset: %s", got)
	}
	if err := s.Forget("second"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Snapshots(); err != nil || len(list) != 1 || list[0].Name != "first" {
		t.Errorf("snapshots: %v, %v", list, err)
	}
	for _, test := range []struct {
		err, want error
	}{
		{s.Restore("second"), ErrNoSnapshot}, {s.Forget("second"), ErrNoSnapshot}, {s.Restore(""), ErrSnapshotName},
		{s.Save(".."), ErrSnapshotName}, {s.Save("a/b"), ErrSnapshotName}, {s.Save(strings.Repeat("a", 65)), ErrSnapshotName},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("got %v, want %v", test.err, test.want)
		}
	}
}

// whole returns all descriptions, without the counts that may lag, and all items.
func (s *Store) whole(t *testing.T) string {
	t.Helper()
	all := []string{s.mustSend(t, "ListTables", `{}`), s.mustSend(t, "ListStreams", `{}`)}
	for _, name := range s.Tables() {
		all = append(all, s.mustSend(t, "DescribeTable", `{"TableName":"`+name+`"}`), s.mustSend(t, "Scan", `{"TableName":"`+name+`"}`))
	}
	return strings.Join(all, "\n")
}

// TestRestoreDuringRequests restores a snapshot again and again while transactions add to two
// items: each reader finds both items with the same number, and no request fails otherwise than
// by a missing table.
func TestRestoreDuringRequests(t *testing.T) { diskAndMemory(t, checkRestores) }

func checkRestores(t *testing.T, s *Store) {
	s.mustSend(t, "CreateTable", plainTable)
	if err := s.Save("empty"); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	update := func(p string) string {
		return `{"Update":{"TableName":"plain","Key":{"p":{"S":"` + p + `"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}`
	}
	for range 3 {
		group.Go(func() {
			for !stop.Load() {
				status, reply := s.send(t, "TransactWriteItems", `{"TransactItems":[`+update("a")+`,`+update("b")+`]}`)
				if status != 200 && !strings.Contains(reply, "TransactionConflict") {
					t.Errorf("%d %s", status, reply)
				}
			}
		})
		group.Go(func() {
			for !stop.Load() {
				reply := s.mustSend(t, "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"plain","Key":{"p":{"S":"a"}},"ProjectionExpression":"n"}},{"Get":{"TableName":"plain","Key":{"p":{"S":"b"}},"ProjectionExpression":"n"}}]}`)
				var n, m int
				if _, err := fmt.Sscanf(reply, `{"Responses":[{"Item":{"n":{"N":"%d"}}},{"Item":{"n":{"N":"%d"}}}]}`, &n, &m); err == nil && n != m || err != nil && reply != `{"Responses":[{},{}]}` {
					t.Errorf("got %s", reply)
				}
			}
		})
	}
	for range 30 {
		if err := s.Restore("empty"); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	group.Wait()
}
