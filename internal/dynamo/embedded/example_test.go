package embedded_test

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
)

func ExampleStore_Do() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.DiscardHandler)
	db, err := disk.Open(dir, disk.Options{Log: log})
	if err != nil {
		panic(err)
	}
	store, err := embedded.Open(db, embedded.Config{}, log)
	if err != nil {
		panic(err)
	}
	defer store.Close()

	do := func(operation, body string) embedded.Answer {
		answer, err := store.Do(&embedded.Request{
			Method: "POST", Path: "/", Target: []byte("DynamoDB_20120810." + operation), Body: []byte(body),
		})
		if err != nil {
			panic(err) // only after Close
		}
		return answer
	}
	do("CreateTable", `{"TableName":"users","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`)
	do("PutItem", `{"TableName":"users","Item":{"id":{"S":"alice"},"age":{"N":"42"}}}`)
	response := do("GetItem", `{"TableName":"users","Key":{"id":{"S":"alice"}}}`)
	fmt.Println(response.Status, string(response.Body))
	// Output: 200 {"Item":{"id":{"S":"alice"},"age":{"N":"42"}}}
}
