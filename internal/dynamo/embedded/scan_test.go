package embedded

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestScanRefusesStartKeys(t *testing.T) {
	s := newQueryStore(t)
	f := func(table, members, start, message string) {
		t.Helper()
		s.expectError(t, "Scan", `{"TableName":"`+table+`",`+members+`"ExclusiveStartKey":`+start+`}`, "ValidationException", message)
	}
	const (
		invalid  = "The provided starting key is invalid"
		mismatch = "The provided key element does not match the schema"
		prefixed = invalid + ": " + mismatch
		all      = "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index pair because its projection type is not ALL"
		empty    = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: "
	)
	nested := `"FilterExpression":"attribute_exists(a.b.c)",`
	for _, start := range []string{`{}`, `{"b":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"a"}}`, `{"a":{"N":"1"}}`, `{"a":{"BOOL":true}}`, `{"a":{"NS":["1"]}}`} {
		f("hash", nested, start, prefixed)
	}
	f("hash", nested, `{"a":{"S":""}}`, invalid+": "+empty+"a")
	f("hash", nested, `{"a":{"S":"`+strings.Repeat("x", 2049)+`"}}`,
		invalid+": One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
	for _, start := range []string{`{}`, `{"a":{"S":"a"}}`, `{"a":{"S":"a"},"c":{"N":"1"}}`, `{"a":{"S":"a"},"b":{"S":"1"},"c":{"S":"1"}}`, `{"a":{"S":"a"},"b":{"N":"1"}}`} {
		f("range", "", start, prefixed)
	}
	for _, start := range []string{`{}`, `{"a":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"a"}}`, `{"a":{"S":"a"},"z":{"S":"1"},"y":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"1"},"c":{"S":"1"},"d":{"S":"1"}}`} {
		f("range", `"IndexName":"local",`, start, invalid)
	}
	for _, start := range []string{`{"a":{"N":"1"},"x":{"S":"1"},"y":{"S":"1"}}`, `{"a":{"S":"a"},"b":{"S":"a"},"c":{"N":"1"}}`, `{"a":{"S":"a"},"b":{"N":"1"},"c":{"B":"YQ=="}}`} {
		f("range", `"IndexName":"local",`, start, mismatch)
	}
	f("range", `"IndexName":"local",`, `{"a":{"S":"1"},"b":{"N":"1"},"c":{"S":"a"}}`, prefixed)
	f("range", `"IndexName":"local",`, `{"a":{"S":"1"},"b":{"S":"1"},"c":{"S":""}}`, empty+"c")
	f("range", `"IndexName":"global",`, `{"x":{"S":"1"},"y":{"S":"1"},"c":{"N":"1"}}`, mismatch)
	f("range", `"IndexName":"global",`, `{"x":{"S":"1"},"y":{"S":"1"},"c":{"S":"1"}}`, prefixed)
	f("range", `"IndexName":"pair",`, `{"x":{"N":"1"},"y":{"N":"1"},"c":{"S":"1"},"d":{"N":"1"}}`, mismatch)
	f("range", `"IndexName":"pair",`, `{"x":{"N":"1"},"y":{"N":"1"},"c":{"S":"1"},"d":{"S":"1"}}`, prefixed)
	f("range", `"IndexName":"pair","Select":"ALL_ATTRIBUTES",`+nested, `{"x":{"N":"1"},"y":{"N":"1"},"c":{"S":"a"},"d":{"S":"a"}}`, all)
	f("range", `"IndexName":"whatever",`+nested, `{}`, "The table does not have the specified index: whatever")
	f("hash", nested, `{"a":{"S":"a"}}`, "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: a")

	s.expectError(t, "Scan", `{"TableName":"nowhere","ExclusiveStartKey":{}}`, "ResourceNotFoundException", "Requested resource not found")
}

func TestScanRefusesStartKeysOfOtherSegments(t *testing.T) {
	s := newQueryStore(t)
	for i := range 20 {
		s.put(t, "hash", map[string]string{"a": fmt.Sprint(i)})
	}
	s.put(t, "range", selectItem)
	right, wrong := 0, 0
	for i := range 20 {
		for segment := range 3 {
			body := fmt.Sprintf(`{"TableName":"hash","TotalSegments":3,"Segment":%d,"ExclusiveStartKey":{"a":{"S":"%d"}}}`, segment, i)
			status, reply := s.send(t, "Scan", body)
			message := fmt.Sprintf("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: 3 Segment: %d", segment)
			switch {
			case status == 200:
				right++
			case strings.Contains(reply, message):
				wrong++
			default:
				t.Errorf("Scan %s: %d %s", body, status, reply)
			}
		}
	}
	if right != 20 || wrong != 40 {
		t.Errorf("start keys: %d accepted and %d rejected for 20 keys in 3 segments", right, wrong)
	}
}

// keysOf scans a segment page by page and returns the values of an attribute.
func (s *Store) keysOf(t testing.TB, table, index, members, attribute string) []string {
	t.Helper()
	var keys []string
	start := ""
	for {
		var reply struct {
			Items            []map[string]map[string]string
			LastEvaluatedKey json.RawMessage
		}
		if index != "" {
			members = `,"IndexName":"` + index + `"` + members
			index = ""
		}
		text := s.mustSend(t, "Scan", `{"TableName":"`+table+`"`+members+start+`}`)
		if err := json.Unmarshal([]byte(text), &reply); err != nil {
			t.Fatal(err)
		}
		for _, item := range reply.Items {
			for _, v := range item[attribute] {
				keys = append(keys, v)
			}
		}
		if reply.LastEvaluatedKey == nil {
			return keys
		}
		start = `,"ExclusiveStartKey":` + string(reply.LastEvaluatedKey)
	}
}

func TestSegmentsHaveEachItemOnce(t *testing.T) {
	s := newQueryStore(t)
	const items = 60
	for i := range items {
		s.put(t, "range", map[string]string{"a": fmt.Sprint(i % 20), "b": fmt.Sprint(i), "c": fmt.Sprint(i % 7)})
	}
	for _, index := range []string{"", "local", "global"} {
		whole := s.keysOf(t, "range", index, "", "b")
		if len(whole) != items {
			t.Fatalf("a scan of %q returned %d items", index, len(whole))
		}
		for _, segments := range []int{1, 2, 3, 7, 64} {
			for _, limit := range []string{"", `,"Limit":1`, `,"Limit":3`} {
				var joined []string
				for segment := range segments {
					joined = append(joined, s.keysOf(t, "range", index, fmt.Sprintf(`,"TotalSegments":%d,"Segment":%d%s`, segments, segment, limit), "b")...)
				}
				if !slices.Equal(joined, whole) {
					t.Errorf("%d segments of %q%s: %v; want %v", segments, index, limit, joined, whole)
				}
			}
		}
	}
}

func TestFirstHash(t *testing.T) {
	f := func(segments uint64) {
		t.Helper()
		if first := firstHash(0, segments); first != 0 {
			t.Errorf("the first of %d segments begins at %d", segments, first)
		}
		smallest, largest := uint64(math.MaxUint64), uint64(0)
		step := max(1, segments/1000)
		for i := uint64(0); i+1 < segments; i += step {
			size := firstHash(i+1, segments) - firstHash(i, segments)
			smallest, largest = min(smallest, size), max(largest, size)
		}
		if segments > 1 {
			size := -firstHash(segments-1, segments)
			smallest, largest = min(smallest, size), max(largest, size)
			if largest-smallest > 1 {
				t.Errorf("the sizes of %d segments are from %d to %d", segments, smallest, largest)
			}
		}
	}
	for _, segments := range []uint64{1, 2, 3, 4, 5, 7, 10, 4096, 999_983, 1_000_000} {
		f(segments)
	}
}

func TestScanFilters(t *testing.T) {
	s := newQueryStore(t)
	s.put(t, "hash", map[string]string{"a": "1", "n:N": "5"}, map[string]string{"a": "2", "n:N": "50"}, map[string]string{"a": "3", "n": "5"})
	f := func(members, want string, count int) {
		t.Helper()
		if want != "" {
			want = itemText(map[string]string{"a": want, "n:N": "5"})
		}
		s.expectSameReply(t, "Scan", `{"TableName":"hash",`+members+`}`, fmt.Sprintf(`{"Count":%d,"ScannedCount":3,"Items":[%s]}`, count, want))
	}
	f(`"FilterExpression":"n = :n","ExpressionAttributeValues":{":n":{"N":"5.0"}}`, "1", 1)
	f(`"FilterExpression":"n < :n AND a > :a","ExpressionAttributeValues":{":n":{"N":"10"},":a":{"S":"0"}}`, "1", 1)
	f(`"FilterExpression":"a = :a","ExpressionAttributeValues":{":a":{"S":"1"}}`, "1", 1)
	f(`"FilterExpression":"a = :a","ExpressionAttributeValues":{":a":{"S":"9"}}`, "", 0)
	f(`"ScanFilter":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"5"}]}}`, "1", 1)
	f(`"ScanFilter":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"5"}]},"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"9"}]}}`, "", 0)
}
