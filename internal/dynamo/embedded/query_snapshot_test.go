package embedded

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestPagesAreSnapshots moves items in the indexes while pages are read. Each page is a snapshot:
// it has each item once, in order, and items fetched from the table match their index entries.
func TestPagesAreSnapshots(t *testing.T) {
	const items, moves, writers = 12, 150, 3
	s := newQueryStore(t)
	write := func(i, at int, global string) string {
		return fmt.Sprintf(`{"Put":{"TableName":"range","Item":{"a":{"S":"p"},"b":{"S":"%02d"},"c":{"S":"%s"},"d":{"S":"%06d"},"v":{"S":"%06d"}}}}`, i, global, at, at)
	}
	// Writer w swaps two items of its own: one has c = "x", the other "y".
	for w := range writers {
		for _, i := range []int{2 * w, 2*w + 1} {
			s.mustSend(t, "TransactWriteItems", `{"TransactItems":[`+write(i, i, []string{"x", "y"}[i%2])+`]}`)
		}
	}
	for i := 2 * writers; i < items; i++ {
		s.mustSend(t, "TransactWriteItems", `{"TransactItems":[`+write(i, i, "x")+`]}`)
	}
	var busy sync.WaitGroup
	var done atomic.Bool
	for w := range writers {
		busy.Go(func() {
			for n := range moves {
				one, other := 2*w+n%2, 2*w+1-n%2
				body := fmt.Sprintf(`{"TransactItems":[%s,%s]}`, write(one, 100+n*items+w, "y"), write(other, 100+n*items+w+writers, "x"))
				if status, reply := s.send(t, "TransactWriteItems", body); status != 200 {
					t.Errorf("TransactWriteItems %s: %s", body, reply)
				}
			}
		})
	}
	var readers sync.WaitGroup
	read := func(op, members string, count int, order func(item map[string]map[string]string) int) {
		readers.Go(func() {
			for !done.Load() {
				var reply struct {
					Items []map[string]map[string]string
				}
				_, text := s.send(t, op, `{"TableName":"range",`+members+`}`)
				if err := json.Unmarshal([]byte(text), &reply); err != nil {
					t.Error(err)
					return
				}
				seen := map[string]bool{}
				for _, item := range reply.Items {
					seen[item["b"]["S"]] = true
					if item["v"]["S"] != item["d"]["S"] {
						t.Errorf("%s %s: an item in part: %v", op, members, item)
					}
				}
				if len(seen) != count || len(reply.Items) != count {
					t.Errorf("%s %s: %d items of %d in %s", op, members, len(reply.Items), count, text)
				}
				if order != nil && !slices.IsSortedFunc(reply.Items, func(a, b map[string]map[string]string) int { return cmp.Compare(order(a), order(b)) }) {
					t.Errorf("%s %s: out of order: %s", op, members, text)
				}
			}
		})
	}
	second := func(item map[string]map[string]string) int {
		n, _ := strconv.Atoi(item["d"]["S"])
		return n
	}
	read("Query", byKey("a", "p")[1], items, nil)
	read("Query", `"IndexName":"sparse","Select":"ALL_ATTRIBUTES",`+byKey("a", "p")[1], items, second)
	read("Query", `"IndexName":"global",`+byKey("c", "x")[1], items-writers, nil)
	read("Query", `"IndexName":"global",`+byKey("c", "y")[1], writers, nil)
	read("Scan", `"IndexName":"global"`, items, nil)
	busy.Wait()
	done.Store(true)
	readers.Wait()
}
