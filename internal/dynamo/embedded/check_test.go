package embedded

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// plainTable has a partition key p only. rangeTable has the sort key s, a number, and two local
// and two global indexes.
const (
	plainTable = `{"TableName":"plain","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}]}`
	rangeTable = `{"TableName":"range","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[
		{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
		{"AttributeName":"l","AttributeType":"S"},{"AttributeName":"b","AttributeType":"B"},{"AttributeName":"g","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
		"LocalSecondaryIndexes":[
			{"IndexName":"zlx","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}},
			{"IndexName":"zbx","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
		"GlobalSecondaryIndexes":[
			{"IndexName":"byg","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
			{"IndexName":"byx","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]}}]}`
)

// withTables opens a store with the two tables.
func withTables(t testing.TB) *Store {
	t.Helper()
	s := newStore(t)
	s.createTables(t)
	return s
}

func (s *Store) createTables(t testing.TB) {
	t.Helper()
	s.mustSend(t, "CreateTable", plainTable)
	s.mustSend(t, "CreateTable", rangeTable)
}

const (
	mismatch  = "The provided key element does not match the schema"
	emptyText = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: p"
	hashSize  = "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
	rangeSize = "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
)

// TestKeyChecks sends invalid keys to every operation with a Key.
func TestKeyChecks(t *testing.T) {
	s := withTables(t)
	long := strings.Repeat("k", 2049)
	f := func(table, key, message string) {
		t.Helper()
		s.expectError(t, "GetItem", fmt.Sprintf(`{"TableName":%q,"Key":%s}`, table, key), "ValidationException", message)
		s.expectError(t, "DeleteItem", fmt.Sprintf(`{"TableName":%q,"Key":%s}`, table, key), "ValidationException", message)
		s.expectError(t, "UpdateItem", fmt.Sprintf(`{"TableName":%q,"Key":%s}`, table, key), "ValidationException", message)
		s.expectError(t, "BatchGetItem", fmt.Sprintf(`{"RequestItems":{%q:{"Keys":[%s]}}}`, table, key), "ValidationException", message)
		s.expectError(t, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{%q:[{"DeleteRequest":{"Key":%s}}]}}`, table, key), "ValidationException", message)
	}
	f("plain", `{}`, mismatch)
	f("plain", `{"q":{"S":"a"}}`, mismatch)
	f("plain", `{"p":{"S":"a"},"q":{"S":"a"}}`, mismatch)
	f("plain", `{"p":{"N":"1"}}`, mismatch)
	f("plain", `{"p":{"L":[]}}`, mismatch)
	f("plain", `{"p":{"SS":["a"]}}`, mismatch)
	f("plain", `{"p":{"S":""}}`, emptyText)
	f("plain", `{"p":{"S":"`+long+`"}}`, hashSize)
	f("range", `{"p":{"S":"a"}}`, mismatch)
	f("range", `{"p":{"S":"a"},"s":{"S":"1"}}`, mismatch)
	f("range", `{"p":{"S":""},"s":{"N":"1"}}`, emptyText)
}

// TestItemChecks puts items that a table does not accept, alone and in a batch.
func TestItemChecks(t *testing.T) {
	s := withTables(t)
	f := func(table, item, alone, inBatch string) {
		t.Helper()
		s.expectError(t, "PutItem", fmt.Sprintf(`{"TableName":%q,"Item":%s}`, table, item), "ValidationException", alone)
		s.expectError(t, "BatchWriteItem", fmt.Sprintf(`{"RequestItems":{%q:[{"PutRequest":{"Item":%s}}]}}`, table, item), "ValidationException", inBatch)
	}
	same := func(table, item, message string) { t.Helper(); f(table, item, message, message) }
	invalid := "One or more parameter values were invalid: "
	notValid := "One or more parameter values are not valid. "
	f("plain", `{}`, invalid+"Missing the key p in the item", mismatch)
	f("plain", `{"q":{"S":"a"}}`, invalid+"Missing the key p in the item", mismatch)
	f("range", `{"p":{"S":"a"}}`, invalid+"Missing the key s in the item", mismatch)
	f("plain", `{"p":{"N":"1"}}`, invalid+"Type mismatch for key p expected: S actual: N", mismatch)
	f("plain", `{"p":{"M":{}}}`, invalid+"Type mismatch for key p expected: S actual: M", mismatch)
	f("range", `{"p":{"S":"a"},"s":{"NULL":true}}`, invalid+"Type mismatch for key s expected: N actual: NULL", mismatch)
	same("plain", `{"p":{"S":""}}`, emptyText)
	same("plain", `{"p":{"S":"`+strings.Repeat("k", 2049)+`"}}`, hashSize)

	// Invalid index keys: the message names the first index by name.
	item := func(more string) string { return `{"p":{"S":"a"},"s":{"N":"1"},` + more + `}` }
	same("range", item(`"l":{"N":"1"}`), invalid+"Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	same("range", item(`"l":{"NULL":true}`), invalid+"Type mismatch for Index Key l Expected: S Actual: NULL IndexName: byg")
	same("range", item(`"b":{"S":"x"}`), invalid+"Type mismatch for Index Key b Expected: B Actual: S IndexName: zbx")
	same("range", item(`"g":{"L":[]}`), invalid+"Type mismatch for Index Key g Expected: S Actual: L IndexName: byg")
	same("range", item(`"g":{"S":""},"b":{"S":"x"}`), invalid+"Type mismatch for Index Key b Expected: B Actual: S IndexName: zbx")
	same("range", item(`"l":{"S":""}`), notValid+"A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: byg, IndexKey: l")
	same("range", item(`"b":{"B":""}`), notValid+"A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty binary value. IndexName: zbx, IndexKey: b")
	same("range", item(`"g":{"S":"`+strings.Repeat("k", 2049)+`"}`), hashSize)
	same("range", item(`"l":{"S":"`+strings.Repeat("k", 1025)+`"}`), rangeSize)
	same("range", item(`"b":{"B":"`+base64.StdEncoding.EncodeToString(make([]byte, 1025))+`"}`), rangeSize)
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":`+item(`"g":{"S":"`+strings.Repeat("k", 2048)+`"},"l":{"S":"`+strings.Repeat("k", 1024)+`"}`)+`}`)
}

// TestBinaryKey checks the message for an empty binary key.
func TestBinaryKey(t *testing.T) {
	s := newStore(t)
	s.mustSend(t, "CreateTable", strings.Replace(plainTable, `"AttributeType":"S"`, `"AttributeType":"B"`, 1))
	const message = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: p"
	s.expectError(t, "GetItem", `{"TableName":"plain","Key":{"p":{"B":""}}}`, "ValidationException", message)
	s.expectError(t, "PutItem", `{"TableName":"plain","Item":{"p":{"B":""}}}`, "ValidationException", message)
}

// TestUpdateChecks sends updates that are invalid for key attributes.
func TestUpdateChecks(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"n":{"N":"1"},"e":{"S":""},"lng":{"S":"`+strings.Repeat("k", 1025)+`"}}}`)
	f := func(update, values, message string) {
		t.Helper()
		if values != "" {
			values = `,"ExpressionAttributeValues":` + values
		}
		s.expectError(t, "UpdateItem", fmt.Sprintf(`{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":%q%s}`, update, values), "ValidationException", message)
	}
	invalid := "One or more parameter values were invalid: "
	notSupported := "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. "
	f("SET p = :v", `{":v":{"S":"x"}}`, invalid+"Cannot update attribute p. This attribute is part of the key")
	f("REMOVE s", "", invalid+"Cannot update attribute s. This attribute is part of the key")
	f("ADD s :v", `{":v":{"N":"1"}}`, invalid+"Cannot update attribute s. This attribute is part of the key")
	f("SET p.x = :v", `{":v":{"S":"x"}}`, invalid+"Cannot update attribute p. This attribute is part of the key")
	f("SET x = p.x", "", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p")
	f("SET l.x = :v", `{":v":{"S":"x"}}`, "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: l")
	f("REMOVE g[1]", "", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g")
	f("SET l = :v", `{":v":{"N":"1"}}`, invalid+"Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	f("SET l = :v", `{":v":{"M":{}}}`, invalid+"Type mismatch for Index Key l Expected: S Actual: M IndexName: byg")
	f("ADD l :v", `{":v":{"N":"1"}}`, invalid+"Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	f("SET l = :v", `{":v":{"S":""}}`, notSupported+"The AttributeValue for a key attribute cannot contain an empty string value.")
	f("SET b = :v", `{":v":{"B":""}}`, notSupported+"The AttributeValue for a key attribute cannot contain an empty binary value.")
	f("SET l = :v", `{":v":{"S":"`+strings.Repeat("k", 1025)+`"}}`, rangeSize)
	f("SET g = :v", `{":v":{"S":"`+strings.Repeat("k", 2049)+`"}}`, hashSize)
	// Errors that depend on the item.
	f("SET l = n", "", "The update expression attempted to update the secondary index key to unsupported type")
	f("SET l = e", "", notSupported+"The AttributeValue for a key attribute cannot contain an empty string value.")
	f("SET l = lng", "", "The update expression attempted to update the secondary index key beyond allowed size limits.")
	s.expectError(t, "UpdateItem", `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"AttributeUpdates":{"l":{"Value":{"N":"3"},"Action":"PUT"}}}`,
		"ValidationException", invalid+"Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	s.expectError(t, "UpdateItem", `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"AttributeUpdates":{"p":{"Value":{"S":"3"}}}}`,
		"ValidationException", invalid+"Cannot update attribute p. This attribute is part of the key")
}

// TestNestedKeyPaths checks that no expression may have a path into a key attribute.
func TestNestedKeyPaths(t *testing.T) {
	s := withTables(t)
	f := func(op, body string) {
		t.Helper()
		for attribute, kind := range map[string]string{"p": "Key", "s": "Key", "l": "IndexKey", "g": "IndexKey"} {
			for _, path := range []string{attribute + ".x", attribute + "[0]"} {
				s.expectError(t, op, strings.ReplaceAll(body, "PATH", path), "ValidationException",
					"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "+kind+": "+attribute)
			}
		}
	}
	key := `"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}`
	f("GetItem", `{`+key+`,"ProjectionExpression":"PATH"}`)
	f("DeleteItem", `{`+key+`,"ConditionExpression":"attribute_exists(PATH)"}`)
	f("UpdateItem", `{`+key+`,"UpdateExpression":"REMOVE x","ConditionExpression":"attribute_exists(PATH)"}`)
	f("PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}},"ConditionExpression":"attribute_exists(PATH)"}`)
	f("BatchGetItem", `{"RequestItems":{"range":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}],"ProjectionExpression":"PATH"}}}`)
}

// TestItemSize puts and updates items of about the maximum size.
func TestItemSize(t *testing.T) {
	s := withTables(t)
	item := func(size int) string { // p=a, v=...
		return `{"p":{"S":"a"},"v":{"S":"` + strings.Repeat("x", size-len("p")-len("a")-len("v")) + `"}}`
	}
	put := func(size int) string { return `{"TableName":"plain","Item":` + item(size) + `}` }
	batch := func(size int) string {
		return `{"RequestItems":{"plain":[{"PutRequest":{"Item":` + item(size) + `}}]}}`
	}
	const limit = 409600
	s.mustSend(t, "PutItem", put(limit))
	s.mustSend(t, "BatchWriteItem", batch(limit))
	const message = "Item size has exceeded the maximum allowed size"
	s.expectError(t, "PutItem", put(limit+1), "ValidationException", message)
	s.expectError(t, "BatchWriteItem", batch(limit+1), "ValidationException", message)

	// The cost of an update is limited too: 3 bytes, and 19 per value written, in addition to the
	// value and its name. Attributes that it does not write have no cost.
	const larger = "Item size to update has exceeded the maximum allowed size"
	change := func(expression string, size int) string {
		return `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"` + expression + `","ExpressionAttributeValues":{":v":{"S":"` +
			strings.Repeat("x", size-len("v")) + `"}}}`
	}
	s.mustSend(t, "UpdateItem", change("SET v = :v", limit-3-19))
	s.expectError(t, "UpdateItem", change("SET v = :v", limit-3-19+1), "ValidationException", larger)
	const rest = len("p") + len("a") + len("u") + 18
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"u":{"S":"xxxxxxxxxxxxxxxxxx"}}}`)
	s.mustSend(t, "UpdateItem", change("SET v = :v", limit-3-19))
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"u":{"S":"xxxxxxxxxxxxxxxxxxxxxxx"}}}`)
	s.expectError(t, "UpdateItem", change("SET v = :v", limit-rest-4), "ValidationException", larger)
	// The cost is checked before the condition. Only an UpdateExpression has a cost.
	costly := strings.TrimSuffix(change("SET u = if_not_exists(u, :v)", limit), "}")
	s.expectError(t, "UpdateItem", costly+`,"ConditionExpression":"attribute_exists(nope)"}`, "ValidationException", larger)
	s.mustSend(t, "TransactWriteItems", `{"TransactItems":[{"Update":`+costly+`}}]}`)
	s.mustSend(t, "PutItem", put(limit-4))
	s.mustSend(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"a"}},"AttributeUpdates":{"w":{"Value":{"S":"xxx"}}}}`)
	s.expectError(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"a"}},"AttributeUpdates":{"w":{"Value":{"S":"xxxx"}}}}`, "ValidationException", larger)
}

// TestItemCollectionItemSize counts an item's entries in local indexes towards the maximum item
// size, but not its entries in global ones.
func TestItemCollectionItemSize(t *testing.T) {
	s := withTables(t)
	// The item has 10 bytes and v; its entry in zlx has 9, and in zbx, if it has b, everything.
	put := func(more string, v int) string {
		return `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"l":{"S":"l"},"g":{"S":"g"}` + more + `,"v":{"S":"` + strings.Repeat("x", v-1) + `"}}}`
	}
	const (
		limit = 409600
		item  = 2 + 3 + 2 + 2 // p, s, l, g
		zlx   = 2 + 3 + 2
		b     = 2
	)
	s.mustSend(t, "PutItem", put("", limit-item-zlx))
	s.expectError(t, "PutItem", put("", limit-item-zlx+1), "ValidationException", "Item size has exceeded the maximum allowed size")
	s.mustSend(t, "PutItem", put(`,"b":{"B":"AA=="}`, (limit-zlx)/2-item-b))
	s.expectError(t, "PutItem", put(`,"b":{"B":"AA=="}`, (limit-zlx)/2-item-b+1), "ValidationException", "Item size has exceeded the maximum allowed size")
	s.expectError(t, "UpdateItem", `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET w = :w","ExpressionAttributeValues":{":w":{"S":"x"}}}`,
		"ValidationException", "Item size to update has exceeded the maximum allowed size")
}
