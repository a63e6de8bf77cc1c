package expr_test

import (
	"fmt"

	"github.com/kasoku/kasoku/internal/dynamo/expr"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// A store parses an update and its condition, and applies the update to an item.
func Example() {
	var names expr.Names
	var values expr.Values
	if err := names.Reset([]byte(`{"#n":"name"}`)); err != nil {
		panic(err)
	}
	if err := values.Load([]byte(`{":one":{"N":"1"},":max":{"N":"9"}}`)); err != nil {
		panic(err)
	}
	condition, err := expr.ParseCondition("Condition", []byte("attribute_exists(#n) AND visits < :max"), &names, &values)
	if err != nil {
		panic(err)
	}
	update, err := expr.ParseUpdate([]byte("SET visits = visits + :one"), &names, &values)
	if err != nil {
		panic(err)
	}
	item, err := value.ParseItem([]byte(`{"name":{"S":"Alice"},"visits":{"N":"7"}}`))
	if err != nil {
		panic(err)
	}
	if condition.Match(&item) {
		after, err := update.Apply(&item, nil)
		fmt.Println(string(after.AppendItem(nil)), err)
	}
	// Output: {"name":{"S":"Alice"},"visits":{"N":"8"}} <nil>
}

// A cache projects the text of an item, without allocating.
func ExampleProjection() {
	var p expr.Projection
	if !p.Parse([]byte("address.city, tags[0]"), nil) {
		return // left to the origin
	}
	item := `{"address":{"M":{"city":{"S":"Oslo"},"zip":{"S":"0150"}}},"tags":{"L":[{"S":"a"},{"S":"b"}]},"id":{"N":"1"}}`
	out, _ := p.Append(nil, []byte(item))
	fmt.Println(string(out))
	// Output: {"address":{"M":{"city":{"S":"Oslo"}}},"tags":{"L":[{"S":"a"}]}}
}
