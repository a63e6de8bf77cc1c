package value_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

func ExampleParseItem() {
	item, err := value.ParseItem([]byte(`{"id":{"S":"alice"},"age":{"N":"042.0"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(item.Get("age").Text), item.ItemSize(), "bytes")
	fmt.Println(string(item.AppendItem(nil)))

	_, err = value.ParseItem([]byte(`{"id":{"SS":[]}}`))
	fmt.Println(err)
	// Output:
	// 42 12 bytes
	// {"id":{"S":"alice"},"age":{"N":"42"}}
	// ValidationException: One or more parameter values were invalid: An string set  may not be empty
}
