package shape

import "testing"

const (
	smallGet = `{"TableName":"users","Key":{"id":{"S":"user-000017"}},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`
	smallPut = `{"TableName": "users", "Item": {"id": {"S": "user-000017"}, "age": {"N": "42"}, "tags": {"SS": ["a", "b"]},
		"doc": {"M": {"l": {"L": [{"B": "AAECAw=="}, {"BOOL": true}, {"NULL": true}]}}}},
		"ConditionExpression": "attribute_not_exists(id)", "ReturnValues": "ALL_OLD"}`
)

// TestAllocations checks that checking a valid request allocates nothing.
func TestAllocations(t *testing.T) {
	f := func(operation, body string) {
		t.Helper()
		b := []byte(body)
		var err error
		n := testing.AllocsPerRun(100, func() { err = Check(operation, b) })
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			t.Errorf("%s: got %v allocations, want none", operation, n)
		}
	}
	f("GetItem", smallGet)
	f("PutItem", smallPut)
	f("BatchGetItem", `{"RequestItems":{"users":{"Keys":[{"id":{"S":"a"}},{"id":{"S":"b"}}]}}}`)
	f("Query", `{"TableName":"users","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"a"}},"Limit":10,"Select":"COUNT"}`)
}

func benchmark(b *testing.B, operation, body string) {
	text := []byte(body)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(operation, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetItem(b *testing.B) { benchmark(b, "GetItem", smallGet) }

func BenchmarkPutItem(b *testing.B) { benchmark(b, "PutItem", smallPut) }
