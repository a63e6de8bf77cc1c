package embedded_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/kasoku/kasoku/internal/dynamo/embedded"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
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

	do := func(operation, body string) *origin.Response {
		response, err := store.Do(context.Background(), &origin.Request{
			Method: "POST", Path: "/", Header: http1.FieldsOf("X-Amz-Target", "DynamoDB_20120810."+operation), Body: []byte(body),
		})
		if err != nil {
			panic(err) // only after Close
		}
		return response
	}
	do("CreateTable", `{"TableName":"users","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}`)
	do("PutItem", `{"TableName":"users","Item":{"id":{"S":"alice"},"age":{"N":"42"}}}`)
	response := do("GetItem", `{"TableName":"users","Key":{"id":{"S":"alice"}}}`)
	fmt.Println(response.Status, string(response.Body))
	// Output: 200 {"Item":{"id":{"S":"alice"},"age":{"N":"42"}}}
}
