package embedded

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// sized returns an item of the table range with a size of exactly that many bytes.
func sized(size int, b string) map[string]string {
	return map[string]string{"a": "p", "b": b, "v": strings.Repeat("v", size-len("abvp")-len(b))}
}

// pageSummary is a reply without its items.
type pageSummary struct {
	Count, ScannedCount int
	LastEvaluatedKey    map[string]map[string]string
	ConsumedCapacity    struct{ CapacityUnits float64 }
}

func (s *Store) summary(t testing.TB, op, body string) (p pageSummary) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.mustSend(t, op, body)), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

const wholePartition = `"KeyConditionExpression":"a = :a","ExpressionAttributeValues":{":a":{"S":"p"}}`

// TestPageOfOneMegabyte checks that a page ends with the item that makes it a megabyte, and has a
// LastEvaluatedKey whether anything follows or not.
func TestPageOfOneMegabyte(t *testing.T) {
	if race.Enabled {
		return // all of it runs in one goroutine, and would be slow
	}
	const quarter = maxPage / 4
	s := newQueryStore(t)
	f := func(count int, last string, units float64) {
		t.Helper()
		for _, body := range []string{"", `,"Select":"COUNT"`, `,"Limit":10`, `,"ProjectionExpression":"b"`} {
			for op, members := range map[string]string{"Query": "," + wholePartition, "Scan": ""} {
				p := s.summary(t, op, `{"TableName":"range","ReturnConsumedCapacity":"TOTAL"`+members+body+`}`)
				if p.Count != count || p.ScannedCount != count || p.LastEvaluatedKey["b"]["S"] != last || p.ConsumedCapacity.CapacityUnits != units {
					t.Errorf("%s%s: %+v; want %d items up to %q for %g units", op, body, p, count, last, units)
				}
			}
		}
	}
	f(0, "", 0.5)
	s.put(t, "range", sized(quarter, "1"), sized(quarter, "2"), sized(quarter, "3"))
	f(3, "", 96)
	s.put(t, "range", sized(quarter-1, "4"))
	f(4, "", 128)
	s.put(t, "range", sized(quarter, "4"))
	f(4, "4", 128)
	s.put(t, "range", sized(quarter-1, "4"), sized(10, "5"))
	f(5, "5", 128.5)
	s.put(t, "range", sized(quarter+1, "4"))
	f(4, "4", 128.5)
	s.put(t, "range", sized(400<<10, "3"))
	f(4, "4", 146.5)
	s.put(t, "range", sized(400<<10, "2"))
	f(3, "3", 132)
}

func TestPageAfterFilter(t *testing.T) {
	s := newQueryStore(t)
	for i := range 5 {
		s.put(t, "range", map[string]string{"a": "p", "b": fmt.Sprint(i), "c": fmt.Sprint(i % 2)})
	}
	f := func(limit int, want string) {
		t.Helper()
		s.expectSameReply(t, "Query", fmt.Sprintf(`{"TableName":"range","KeyConditionExpression":"a = :a","FilterExpression":"c = :c","ProjectionExpression":"b",
			"Limit":%d,"ExpressionAttributeValues":{":a":{"S":"p"},":c":{"S":"1"}}}`, limit), want)
	}
	f(1, `{"Count":0,"ScannedCount":1,"Items":[],"LastEvaluatedKey":{"a":{"S":"p"},"b":{"S":"0"}}}`)
	f(3, `{"Count":1,"ScannedCount":3,"Items":[{"b":{"S":"1"}}],"LastEvaluatedKey":{"a":{"S":"p"},"b":{"S":"2"}}}`)
	f(5, `{"Count":2,"ScannedCount":5,"Items":[{"b":{"S":"1"}},{"b":{"S":"3"}}],"LastEvaluatedKey":{"a":{"S":"p"},"b":{"S":"4"}}}`)
	f(6, `{"Count":2,"ScannedCount":5,"Items":[{"b":{"S":"1"}},{"b":{"S":"3"}}]}`)
}

// TestNoLastKeyOfSingleItem checks that a Query of a table without a sort key, which finds at
// most one item, returns no LastEvaluatedKey.
func TestNoLastKeyOfSingleItem(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "hash", map[string]string{"a": "x"})
	s.expectSameReply(t, "Query", `{"TableName":"hash","Limit":1,`+byKey("a", "x")[1]+`}`, `{"Count":1,"ScannedCount":1,"Items":[{"a":{"S":"x"}}]}`)
	s.expectSameReply(t, "Scan", `{"TableName":"hash","Limit":1}`, `{"Count":1,"ScannedCount":1,"Items":[{"a":{"S":"x"}}],"LastEvaluatedKey":{"a":{"S":"x"}}}`)
}

// TestStartKeyNeedNotExist checks that an item that is deleted between two pages is only missing,
// even if the first page ended with it.
func TestStartKeyNeedNotExist(t *testing.T) {
	s := newQueryStore(t)
	for i := range 6 {
		s.put(t, "range", map[string]string{"a": "p", "b": fmt.Sprint(i), "c": "g", "d": fmt.Sprint(i)})
	}
	s.mustSend(t, "DeleteItem", `{"TableName":"range","Key":{"a":{"S":"p"},"b":{"S":"2"}}}`)
	f := func(op, members, want string) {
		t.Helper()
		s.expectSameReply(t, op, `{"TableName":"range","Select":"COUNT",`+members+`}`, want)
	}
	three, two := `{"Count":3,"ScannedCount":3}`, `{"Count":2,"ScannedCount":2}`
	start := `"ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"2"}}`
	f("Query", start+`,`+wholePartition, three)
	f("Query", start+`,"ScanIndexForward":false,`+wholePartition, two)
	f("Scan", start, three)
	pair := `"IndexName":"pair","ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"2"},"c":{"S":"g"},"d":{"S":"2"}},` + byKey("c", "g")[1]
	f("Query", pair, three)
	f("Query", pair+`,"ScanIndexForward":false`, two)
	f("Query", `"ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"25"}},"KeyConditionExpression":"a = :a and b between :b and :c",
		"ExpressionAttributeValues":{":a":{"S":"p"},":b":{"S":"1"},":c":{"S":"4"}}`, two)
	f("Query", `"ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"3"}},"KeyConditionExpression":"a = :a and b = :b",
		"ExpressionAttributeValues":{":a":{"S":"p"},":b":{"S":"3"}}`, `{"Count":0,"ScannedCount":0}`)
}

func TestReadCapacity(t *testing.T) {
	s := newQueryStore(t)
	big := func(b string, size int) map[string]string {
		return map[string]string{"a": "p", "b": b, "c": b, "d": b, "e": "e", "f": strings.Repeat("f", size)}
	}
	// Entries in the index sparse have 16 bytes, entries in pair 18.
	s.put(t, "range", big("1", 5000), big("2", 3000))
	f := func(op, members, want string) {
		t.Helper()
		if op == "Query" {
			key, v := "a", "p"
			if strings.Contains(members, `"global"`) || strings.Contains(members, `"pair"`) {
				key, v = "c", "1"
			}
			members += `,` + byKey(key, v)[1]
		}
		for _, mode := range []string{"TOTAL", "INDEXES"} {
			var reply struct {
				ConsumedCapacity json.RawMessage
			}
			text := s.mustSend(t, op, `{"TableName":"range","ReturnConsumedCapacity":"`+mode+`"`+members+`}`)
			if err := json.Unmarshal([]byte(text), &reply); err != nil {
				t.Fatal(err)
			}
			expected := want
			if mode == "TOTAL" {
				expected = want[:strings.IndexByte(want, ';')]
			}
			expected = `{"TableName":"range","CapacityUnits":` + strings.Replace(expected, ";", ",", 1) + `}`
			if got := compact(t, string(reply.ConsumedCapacity)); got != compact(t, expected) {
				t.Errorf("%s %s %s:\ngot  %s\nwant %s", op, members, mode, got, expected)
			}
		}
	}
	table, local, global := `;"Table":{"CapacityUnits":%s}`, `;"Table":{"CapacityUnits":%s},"LocalSecondaryIndexes":{"%s":{"CapacityUnits":%s}}`,
		`;"Table":{"CapacityUnits":%s},"GlobalSecondaryIndexes":{"%s":{"CapacityUnits":%s}}`
	f("Query", "", "1.0"+fmt.Sprintf(table, "1.0"))
	f("Query", `,"ConsistentRead":true`, "2.0"+fmt.Sprintf(table, "2.0"))
	f("Query", `,"Select":"COUNT"`, "1.0"+fmt.Sprintf(table, "1.0"))
	f("Query", `,"Limit":1`, "1.0"+fmt.Sprintf(table, "1.0"))
	f("Query", `,"Limit":1,"ScanIndexForward":false`, "0.5"+fmt.Sprintf(table, "0.5"))
	f("Scan", "", "1.0"+fmt.Sprintf(table, "1.0"))
	f("Scan", `,"FilterExpression":"attribute_exists(zz)"`, "1.0"+fmt.Sprintf(table, "1.0"))
	f("Scan", `,"ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"9"}}`, "0.5"+fmt.Sprintf(table, "0.5"))
	f("Scan", `,"ConsistentRead":true,"ExclusiveStartKey":{"a":{"S":"p"},"b":{"S":"9"}}`, "1.0"+fmt.Sprintf(table, "1.0"))
	f("Query", `,"IndexName":"local"`, "1.0"+fmt.Sprintf(local, "0.0", "local", "1.0"))
	f("Query", `,"IndexName":"sparse"`, "0.5"+fmt.Sprintf(local, "0.0", "sparse", "0.5"))
	f("Query", `,"IndexName":"sparse","Select":"COUNT"`, "0.5"+fmt.Sprintf(local, "0.0", "sparse", "0.5"))
	f("Query", `,"IndexName":"sparse","Select":"ALL_ATTRIBUTES"`, "2.0"+fmt.Sprintf(local, "1.5", "sparse", "0.5"))
	f("Query", `,"IndexName":"sparse","ProjectionExpression":"e"`, "2.0"+fmt.Sprintf(local, "1.5", "sparse", "0.5"))
	f("Query", `,"IndexName":"sparse","ConsistentRead":true,"ProjectionExpression":"e"`, "4.0"+fmt.Sprintf(local, "3.0", "sparse", "1.0"))
	f("Query", `,"IndexName":"global"`, "1.0"+fmt.Sprintf(global, "0.0", "global", "1.0"))
	f("Query", `,"IndexName":"pair"`, "0.5"+fmt.Sprintf(global, "0.0", "pair", "0.5"))
	f("Scan", `,"IndexName":"pair"`, "0.5"+fmt.Sprintf(global, "0.0", "pair", "0.5"))
}

// compact returns JSON in a comparable form.
func compact(t testing.TB, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestPageOfFetchedItems checks that fetched items count towards the page: the index entries
// alone would allow thousands of them.
func TestPageOfFetchedItems(t *testing.T) {
	s := newQueryStore(t)
	for i := range 6 {
		item := sized(300<<10, fmt.Sprint(i))
		item["d"] = fmt.Sprint(i)
		s.put(t, "range", item)
	}
	p := s.summary(t, "Query", `{"TableName":"range","IndexName":"sparse","Select":"ALL_ATTRIBUTES",`+wholePartition+`}`)
	if p.Count != 4 || len(p.LastEvaluatedKey) != 3 || p.LastEvaluatedKey["d"]["S"] != "3" {
		t.Errorf("got %d items up to %v", p.Count, p.LastEvaluatedKey)
	}
	if p := s.summary(t, "Query", `{"TableName":"range","IndexName":"sparse",`+wholePartition+`}`); p.Count != 6 || p.LastEvaluatedKey != nil {
		t.Errorf("without fetching: got %d items up to %v", p.Count, p.LastEvaluatedKey)
	}
}

func TestLastKeyOfIndexes(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "range", selectItem)
	f := func(members, want string) {
		t.Helper()
		s.expectSameReply(t, "Query", `{"TableName":"range","Limit":1,"Select":"COUNT",`+members+`}`, `{"Count":1,"ScannedCount":1,"LastEvaluatedKey":`+want+`}`)
	}
	abc := itemText(without(selectItem, "d", "e", "f"))
	f(byKey("a", "1")[0], itemText(without(selectItem, "c", "d", "e", "f")))
	f(`"IndexName":"local",`+byKey("a", "1")[0], abc)
	f(`"IndexName":"sparse",`+byKey("a", "1")[0], itemText(without(selectItem, "c", "e", "f")))
	f(`"IndexName":"global",`+byKey("c", "3")[0], abc)
	f(`"IndexName":"pair",`+byKey("c", "3")[0], itemText(without(selectItem, "e", "f")))
}
