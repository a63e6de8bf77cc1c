package shape_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
)

func ExampleCheck() {
	fmt.Println(shape.Check("GetItem", []byte(`{"TableName":"users","Key":{"id":{"S":"alice"}}}`)))
	fmt.Println(shape.Check("GetItem", []byte(`{"TableName":"users","Key":"alice"}`)))
	fmt.Println(shape.Check("GetItem", []byte(`{"TableName":"users"}`)))
	// Output:
	// <nil>
	// SerializationException: Unexpected field type
	// ValidationException: 1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must not be null
}
