package model

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// ask sends one request and returns the body of the response.
func ask(t *testing.T, db *DB, operation, body string) string {
	t.Helper()
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	w := httptest.NewRecorder()
	db.ServeHTTP(w, r)
	return w.Body.String()
}

const testTable = `{"TableName":"t","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
"GlobalSecondaryIndexes":[{"IndexName":"i","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}]}`

// conversation returns a function that sends a request and checks the response.
func conversation(t *testing.T, db *DB) func(operation, body, want string) {
	return func(operation, body, want string) {
		t.Helper()
		if got := ask(t, db, operation, body); got != want {
			t.Fatalf("%s %s\n  answered %s\n  expected %s", operation, body, got, want)
		}
	}
}

func TestItems(t *testing.T) {
	db := New()
	ask(t, db, "CreateTable", testTable)
	f := conversation(t, db)
	key := `"Key":{"p":{"S":"a"},"s":{"N":"1"}}`
	f("GetItem", `{"TableName":"t",`+key+`}`, `{}`)
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1.0"},"v":{"N":"2e1"}},"ReturnValues":"ALL_OLD"}`, `{}`)
	f("GetItem", `{"TableName":"t",`+key+`}`, `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"20"}}}`)
	f("GetItem", `{"TableName":"t",`+key+`,"ProjectionExpression":"#v","ExpressionAttributeNames":{"#v":"v"}}`, `{"Item":{"v":{"N":"20"}}}`)
	f("UpdateItem", `{"TableName":"t",`+key+`,"UpdateExpression":"SET v = v + :n, w = v ADD x :n REMOVE absent","ExpressionAttributeValues":{":n":{"N":"0.5"}},"ReturnValues":"ALL_NEW"}`,
		`{"Attributes":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"20.5"},"w":{"N":"20"},"x":{"N":"0.5"}}}`)
	f("DeleteItem", `{"TableName":"t",`+key+`,"ConditionExpression":"v < :n OR NOT (attribute_exists(w) AND x BETWEEN :n AND :n)","ExpressionAttributeValues":{":n":{"N":"0.5"}}}`,
		`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`)
	f("DeleteItem", `{"TableName":"t",`+key+`,"ConditionExpression":"begins_with(p, :a)","ExpressionAttributeValues":{":a":{"S":"a"}}}`, `{}`)
	f("GetItem", `{"TableName":"t",`+key+`}`, `{}`)
	f("GetItem", `{"TableName":"none",`+key+`}`, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}`)
}

func TestQueries(t *testing.T) {
	db := New()
	ask(t, db, "CreateTable", testTable)
	f := conversation(t, db)
	f("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"10"},"g":{"S":"x"}}}},{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"9"}}}},{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"1"},"g":{"S":"x"}}}}]}}`,
		`{"UnprocessedItems":{}}`)
	values := `"ExpressionAttributeValues":{":p":{"S":"a"}}`
	f("Query", `{"TableName":"t","KeyConditionExpression":"p = :p",`+values+`}`,
		`{"Count":2,"Items":[{"p":{"S":"a"},"s":{"N":"9"}},{"g":{"S":"x"},"p":{"S":"a"},"s":{"N":"10"}}],"ScannedCount":2}`)
	f("Query", `{"TableName":"t","KeyConditionExpression":"p = :p","Limit":1,`+values+`}`,
		`{"Count":1,"Items":[{"p":{"S":"a"},"s":{"N":"9"}}],"LastEvaluatedKey":{"p":{"S":"a"},"s":{"N":"9"}},"ScannedCount":1}`)
	f("Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExclusiveStartKey":{"p":{"S":"a"},"s":{"N":"9"}},"ProjectionExpression":"s",`+values+`}`,
		`{"Count":1,"Items":[{"s":{"N":"10"}}],"ScannedCount":1}`)
	f("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}},"UpdateExpression":"SET g = :y","ExpressionAttributeValues":{":y":{"S":"y"}}}`, `{}`)
	f("Query", `{"TableName":"t","IndexName":"i","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}},"ProjectionExpression":"s"}`,
		`{"Count":1,"Items":[{"s":{"N":"10"}}],"ScannedCount":1}`)
	f("Scan", `{"TableName":"t","FilterExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"y"}},"Select":"COUNT"}`, `{"Count":1,"ScannedCount":3}`)
	f("TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"9"}}}},{"ConditionCheck":{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}},"ConditionExpression":"attribute_not_exists(g)"}}]}`,
		`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"Transaction cancelled, please refer cancellation reasons for specific reasons","CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"}]}`)
	f("TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"9"}}}},{"Get":{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"8"}}}}]}`,
		`{"Responses":[{"Item":{"p":{"S":"a"},"s":{"N":"9"}}},{}]}`)
}

func TestFreeze(t *testing.T) {
	db := New()
	ask(t, db, "CreateTable", testTable)
	f := conversation(t, db)
	put := func(v string) {
		t.Helper()
		f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"`+v+`"}}}`, `{}`)
	}
	get := func(consistent, v string) {
		t.Helper()
		f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ProjectionExpression":"v","ConsistentRead":`+consistent+`}`, `{"Item":{"v":{"S":"`+v+`"}}}`)
	}
	put("1")
	db.Freeze()
	put("2")
	put("3")
	get("false", "1")
	get("true", "3")
	db.Thaw()
	get("false", "3")
	db.SetLag(Lag{Min: time.Hour, Max: time.Hour}, Lag{})
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`, `{}`)
	get("true", "3")
	if n := db.Requests("PutItem"); n != 3 {
		t.Errorf("the model counted %d puts, want 3", n)
	}
}
