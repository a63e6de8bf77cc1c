package embedded

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// newQueryStore opens a store with the tables of these tests: hash, with the partition key a,
// and range, with a and b, the local indexes local (a, c) of all attributes and sparse (a, d) of
// the keys and c, and the global indexes global (c) of all attributes and pair (c, d) of the keys
// and e. It has no background work, because tests create states that this would end.
func newQueryStore(t testing.TB) *Store {
	t.Helper()
	s := openIdle(t, onDisk{Dir: t.TempDir(), NoSync: true}, time.Now)
	s.mustSend(t, "CreateTable", `{"TableName":"hash","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`)
	key := func(hash, rng string) string {
		text := `"KeySchema":[{"AttributeName":"` + hash + `","KeyType":"HASH"}`
		if rng != "" {
			text += `,{"AttributeName":"` + rng + `","KeyType":"RANGE"}`
		}
		return text + `]`
	}
	all, keys := `"Projection":{"ProjectionType":"ALL"}`, `"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["%s"]}`
	s.mustSend(t, "CreateTable", `{"TableName":"range","BillingMode":"PAY_PER_REQUEST",`+key("a", "b")+`,
		"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"},
			{"AttributeName":"c","AttributeType":"S"},{"AttributeName":"d","AttributeType":"S"}],
		"LocalSecondaryIndexes":[{"IndexName":"local",`+key("a", "c")+`,`+all+`},
			{"IndexName":"sparse",`+key("a", "d")+`,`+fmt.Sprintf(keys, "c")+`}],
		"GlobalSecondaryIndexes":[{"IndexName":"global",`+key("c", "")+`,`+all+`},
			{"IndexName":"pair",`+key("c", "d")+`,`+fmt.Sprintf(keys, "e")+`}]}`)
	return s
}

// put stores items given as attributes, of type S unless the name has another type after a
// colon.
func (s *Store) put(t testing.TB, table string, items ...map[string]string) {
	t.Helper()
	for _, item := range items {
		s.mustSend(t, "PutItem", `{"TableName":"`+table+`","Item":`+itemText(item)+`}`)
	}
}

func itemText(item map[string]string) string {
	attributes := map[string]map[string]string{}
	for name, v := range item {
		name, typ, ok := strings.Cut(name, ":")
		if !ok {
			typ = "S"
		}
		attributes[name] = map[string]string{typ: v}
	}
	text, _ := json.Marshal(attributes)
	return string(text)
}

// expectSameReply sends a request and compares the reply with JSON of the same meaning.
func (s *Store) expectSameReply(t testing.TB, op, body, want string) {
	t.Helper()
	got := s.mustSend(t, op, body)
	var x, y any
	if err := json.Unmarshal([]byte(got), &x); err != nil {
		t.Fatalf("%s %s: %s isn't JSON: %v", op, body, got, err)
	}
	if err := json.Unmarshal([]byte(want), &y); err != nil {
		t.Fatalf("%s isn't JSON: %v", want, err)
	}
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s %s:\ngot  %s\nwant %s", op, body, got, want)
	}
}

// byKey returns the members of a Query for a partition, with either form of condition.
func byKey(name, v string) []string {
	return []string{
		`"KeyConditions":{"` + name + `":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"` + v + `"}]}}`,
		`"KeyConditionExpression":"` + name + ` = :v","ExpressionAttributeValues":{":v":{"S":"` + v + `"}}`,
	}
}

func TestQueryRefusesStartKeys(t *testing.T) {
	s := newQueryStore(t)
	f := func(table, index, condition, start, message string) {
		t.Helper()
		if index != "" {
			index = `"IndexName":"` + index + `",`
		}
		s.expectError(t, "Query", `{"TableName":"`+table+`",`+index+`"ExclusiveStartKey":`+start+`,`+condition+`}`, "ValidationException", message)
	}
	const (
		invalid    = "The provided starting key is invalid"
		mismatch   = "The provided key element does not match the schema"
		prefixed   = invalid + ": " + mismatch
		outside    = "The provided starting key is outside query boundaries based on provided conditions"
		predicate  = "The provided starting key does not match the range key predicate"
		atMostOne  = "The query can return at most one row and cannot be restarted"
		missesA    = "Query condition missed key schema element: a"
		unindexed  = "Attempted conditional constraint is not an indexable operation"
		tooMany    = "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)"
		emptyStart = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: "
	)
	// The number of key attributes is checked before the condition.
	for _, cond := range []string{
		`"KeyConditions":{"z":{"ComparisonOperator":"NULL"}}`,
		`"KeyConditionExpression":"z = :a","ExpressionAttributeValues":{":a":{"N":"1"}}`,
	} {
		for _, start := range []string{`{}`, `{"b":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"a"}}`} {
			f("hash", "", cond, start, invalid)
		}
		for _, start := range []string{`{"a":{"N":"1"}}`, `{"a":{"BOOL":true}}`, `{"a":{"NULL":true}}`, `{"a":{"SS":["a"]}}`, `{"a":{"M":{}}}`, `{"a":{"L":[]}}`} {
			f("hash", "", cond, start, mismatch)
		}
		for _, start := range []string{`{}`, `{"z":{"N":"1"}}`, `{"b":{"S":"a"},"c":{"S":"b"}}`, `{"a":{"S":"a"}}`, `{"a":{"N":"1"},"b":{"S":"a"},"c":{"S":"b"}}`} {
			f("range", "", cond, start, invalid)
		}
		for _, start := range []string{`{"a":{"N":"1"},"z":{"S":"a"}}`, `{"a":{"B":"YQ=="},"b":{"S":"a"}}`} {
			f("range", "", cond, start, mismatch)
		}
		for _, start := range []string{`{}`, `{"a":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"a"}}`, `{"b":{"S":"a"},"c":{"S":"a"}}`} {
			f("range", "local", cond, start, invalid)
		}
		f("range", "local", cond, `{"a":{"N":"1"},"x":{"S":"1"},"y":{"S":"1"}}`, mismatch)
		for _, start := range []string{`{"c":{"S":"1"}}`, `{"a":{"S":"a"},"c":{"S":"a"}}`, `{"a":{"S":"a"},"b":{"S":"a"},"z":{"S":"a"}}`} {
			f("range", "global", cond, start, invalid)
		}
		f("range", "global", cond, `{"x":{"S":"1"},"y":{"S":"1"},"c":{"N":"1"}}`, mismatch)
	}
	// A valid partition key in the starting key: the condition on it is checked next.
	for _, cond := range []string{
		`"KeyConditions":{"z":{"ComparisonOperator":"NULL"}}`,
		`"KeyConditionExpression":"z between :a and :b","ExpressionAttributeValues":{":a":{"N":"1"},":b":{"N":"1"}}`,
	} {
		for _, start := range []string{`{"a":{"S":"a"},"b":{"N":"1"}}`, `{"a":{"S":"a"},"c":{"N":"1"}}`} {
			f("range", "", cond, start, missesA)
		}
		f("range", "local", cond, `{"a":{"S":"a"},"b":{"S":"a"},"z":{"S":"a"}}`, missesA)
		f("range", "global", cond, `{"x":{"N":"1"},"y":{"N":"1"},"c":{"S":"1"}}`, "Query condition missed key schema element: c")
	}
	for _, cond := range byKey("a", "b") {
		for _, start := range []string{`{"a":{"S":"a"}}`, `{"a":{"S":"a"},"c":{"N":"1"}}`, `{"a":{"S":"a"},"b":{"S":"1"},"c":{"S":"1"}}`} {
			f("range", "", cond, start, invalid)
		}
		for _, start := range []string{`{"a":{"S":"a"},"b":{"N":"1"}}`, `{"a":{"S":"a"},"b":{"B":"YQ=="}}`} {
			f("range", "", cond, start, mismatch)
		}
		f("range", "", cond, `{"a":{"S":"a"},"b":{"S":""}}`, emptyStart+"b")
		f("range", "", cond, `{"a":{"S":""},"b":{"S":"a"}}`, emptyStart+"a")
		f("range", "", cond, `{"a":{"S":"`+strings.Repeat("a", 2049)+`"},"b":{"S":"a"}}`,
			"One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
		f("range", "", cond, `{"a":{"S":"a"},"b":{"S":"`+strings.Repeat("a", 1025)+`"}}`,
			"One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
		f("range", "local", cond, `{"a":{"S":"a"},"z":{"S":"1"},"c":{"N":"1"}}`, mismatch)
		f("range", "local", cond, `{"a":{"S":"1"},"b":{"N":"1"},"c":{"S":"a"}}`, prefixed)
		f("range", "local", cond, `{"a":{"S":"1"},"x":{"S":"1"},"c":{"S":"a"}}`, prefixed)
		f("range", "local", cond, `{"a":{"S":"1"},"b":{"S":""},"c":{"S":"a"}}`, invalid+": "+emptyStart+"b")
		f("range", "", cond, `{"a":{"S":"a"},"b":{"S":"a"}}`, outside)
		f("range", "local", cond, `{"a":{"S":"a"},"b":{"S":"a"},"c":{"S":"a"}}`, outside)
		f("hash", "", cond, `{"a":{"S":"a"}}`, outside)
		f("hash", "", cond, `{"a":{"S":"b"}}`, "The provided exclusive start key is invalid: ExclusiveStartKey: {a=AttributeValue: {S:b}}")
	}
	for _, cond := range byKey("c", "b") {
		f("range", "global", cond, `{"x":{"N":"1"},"y":{"N":"1"},"c":{"S":"a"}}`, prefixed)
		f("range", "pair", cond, `{"a":{"N":"1"},"b":{"S":"1"},"c":{"S":"a"},"d":{"S":"a"}}`, prefixed)
		f("range", "global", cond, `{"a":{"S":"a"},"b":{"S":"a"},"c":{"S":"a"}}`, outside)
		f("range", "pair", cond, `{"a":{"S":"a"},"b":{"S":"a"},"c":{"S":"a"},"d":{"S":"a"}}`, outside)
	}
	conditions := func(expression, p, q string) string {
		return `"KeyConditionExpression":"` + expression + `","ExpressionAttributeValues":{":p":{"S":"` + p + `"},":q":{"S":"` + q + `"}}`
	}
	start := `{"a":{"S":"a"},"b":{"S":"m"}}`
	f("range", "", conditions("a = :p and c = :q", "a", "a"), start, "Query condition missed key schema element: b")
	f("range", "", `"KeyConditions":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]},"b":{"ComparisonOperator":"NULL"}}`, start, unindexed)
	f("hash", "", conditions("a = :p and b = :q", "a", "a"), `{"a":{"S":"a"}}`, tooMany)
	f("hash", "", conditions("a = :p and b = :q", "a", "a"), `{"a":{"N":"1"}}`, mismatch)
	for _, expression := range []string{"b > :q", "b < :q", "b = :r", "b >= :r", "b <= :s", "b between :r and :r", "begins_with(b, :r)"} {
		cond := `"KeyConditionExpression":"a = :p and ` + expression + `","ExpressionAttributeValues":{":p":{"S":"%s"}`
		for name, v := range map[string]string{":q": "m", ":r": "n", ":s": "l"} {
			if strings.Contains(expression, name) {
				cond += `,"` + name + `":{"S":"` + v + `"}`
			}
		}
		cond += "}"
		f("range", "", fmt.Sprintf(cond, "a"), start, predicate)
		f("range", "", fmt.Sprintf(cond, "other"), start, predicate)
	}
	f("range", "local", conditions("a = :p and c > :q", "a", "m"), `{"a":{"S":"a"},"b":{"S":"z"},"c":{"S":"m"}}`, predicate)
	f("range", "pair", conditions("c = :p and d > :q", "a", "a"), `{"a":{"S":"a"},"b":{"S":"a"},"c":{"S":"b"},"d":{"S":"a"}}`, predicate)
	f("range", "", conditions("a = :p and b < :q", "b", "n"), start, atMostOne)
	f("range", "pair", conditions("c = :p and d = :q", "a", "a"), `{"a":{"S":"a"},"b":{"S":"a"},"c":{"S":"c"},"d":{"S":"a"}}`, atMostOne)
}

func TestQueryOrderOfChecks(t *testing.T) {
	s := newQueryStore(t)
	f := func(body, typ, message string) {
		t.Helper()
		s.expectError(t, "Query", body, typ, message)
	}
	const bad = `"KeyConditionExpression":"z = :a","ExpressionAttributeValues":{":a":{"N":"1"}},"ExclusiveStartKey":{}`
	f(`{"TableName":"nowhere",`+bad+`}`, "ResourceNotFoundException", "Requested resource not found")
	f(`{"TableName":"nowhere","FilterExpression":"a =",`+bad+`}`, "ValidationException",
		`Invalid FilterExpression: Syntax error; token: "<EOF>", near: "="`)
	f(`{"TableName":"range","IndexName":"whatever",`+bad+`}`, "ValidationException", "The table does not have the specified index: whatever")
	f(`{"TableName":"hash","IndexName":"whatever","ConsistentRead":true,`+bad+`}`, "ValidationException", "The table does not have the specified index: whatever")
	f(`{"TableName":"range","IndexName":"global","ConsistentRead":true,`+bad+`}`, "ValidationException", "Consistent reads are not supported on global secondary indexes")

	start := `"ExclusiveStartKey":{"a":{"S":"a"},"b":{"S":"b"},"c":{"S":"a"},"d":{"S":"b"}}`
	values := func(n string) string { return `"ExpressionAttributeValues":{":a":{"S":"a"},":b":{"N":"` + n + `"}}` }
	f(`{"TableName":"range","IndexName":"pair","Select":"ALL_ATTRIBUTES",`+start+`,"KeyConditionExpression":"c = :a",
		"FilterExpression":"a.b = :a and x = :b",`+values("1")+`}`, "ValidationException",
		"One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index pair because its projection type is not ALL")
	f(`{"TableName":"range","IndexName":"pair","Select":"ALL_ATTRIBUTES",`+start+`,"KeyConditionExpression":"c = :a",
		"FilterExpression":"d[1] = :b",`+values("1")+`}`, "ValidationException",
		"Filter Expression can only contain non-primary key attributes: Primary key attribute: d")
	f(`{"TableName":"range","ProjectionExpression":"b.x","KeyConditionExpression":"a = :a","FilterExpression":"b = :b",`+values("1")+`}`,
		"ValidationException", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: b")
}

func TestQueryRejectsKeysInFilters(t *testing.T) {
	s := newQueryStore(t)
	f := func(table, index, members, message string) {
		t.Helper()
		if index != "" {
			index = `"IndexName":"` + index + `",`
		}
		s.expectError(t, "Query", `{"TableName":"`+table+`",`+index+members+`}`, "ValidationException", message)
	}
	expression := func(key, filter string) string {
		return `"KeyConditionExpression":"` + key + ` = :k","FilterExpression":"` + filter + `","ExpressionAttributeValues":{":k":{"S":"1"},":f":{"N":"1"}}`
	}
	legacy := func(key, filter string) string {
		return byKey(key, "1")[0] + `,"QueryFilter":{"` + filter + `":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]}}`
	}
	only := func(kind, name string) string {
		return kind + " can only contain non-primary key attributes: Primary key attribute: " + name
	}
	for _, filter := range []string{"a = :f", "a[1] = :f", "attribute_exists(a.b) AND b = :f", "x = a or x = :f"} {
		f("hash", "", expression("a", filter), only("Filter Expression", "a"))
	}
	for _, filter := range []string{"b = :f", "b[1] = :f", "attribute_exists(b.c) AND c = :f", "NOT size(b) = :f"} {
		f("range", "", expression("a", filter), only("Filter Expression", "b"))
	}
	f("range", "", expression("a", "b = :f and a = :f"), only("Filter Expression", "a"))
	f("range", "pair", expression("c", "d = :f"), only("Filter Expression", "d"))
	f("hash", "", legacy("a", "a"), only("QueryFilter", "a"))
	f("range", "", legacy("a", "b"), only("QueryFilter", "b"))
	f("range", "pair", legacy("c", "d"), only("QueryFilter", "d"))

	scalars := "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
	f("range", "", expression("a", "d[1] = :f"), scalars+"IndexKey: d")
	f("range", "", expression("a", "attribute_exists(d.c) AND c = :f"), scalars+"IndexKey: d")
	f("range", "pair", expression("c", "a.b = :f"), scalars+"Key: a")
	f("range", "", byKey("a", "1")[1]+`,"ProjectionExpression":"x, a[0]"`, scalars+"Key: a")

	// In a query of an index, the table's key is an attribute like others.
	s.put(t, "range", map[string]string{"a": "x", "b": "y", "c": "1"})
	s.expectSameReply(t, "Query", `{"TableName":"range","IndexName":"global","KeyConditionExpression":"c = :c","FilterExpression":"a = :a and b = :b",
		"ExpressionAttributeValues":{":c":{"S":"1"},":a":{"S":"x"},":b":{"S":"y"}}}`,
		`{"Count":1,"ScannedCount":1,"Items":[{"a":{"S":"x"},"b":{"S":"y"},"c":{"S":"1"}}]}`)
}
